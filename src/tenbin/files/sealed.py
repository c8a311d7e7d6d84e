"""Cached texts under a seal: a damaged file, or one made of something else, counts as none."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from tenbin.files.atomic import write_atomically


def read_sealed(path: Path, seal: str) -> bytes | None:
    """What was stored; None where nothing was, or not under this seal.

    Args:
        path: The file.
        seal: All that the text was made of; it changes when the text has to be made anew.
    """
    try:
        head, _, text = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return text if head == _head(seal, text) else None


def write_sealed(path: Path, seal: str, text: str) -> None:
    """Store a text, as far as the folder can be written: a cache is never needed."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, f"{_head(seal, text.encode()).decode()}\n{text}")


def _head(seal: str, text: bytes) -> bytes:
    """The first line of the file: only what this program wrote begins with it."""
    digest = hashlib.blake2b(seal.encode(errors="surrogateescape") + b"\n", digest_size=16)
    digest.update(text)
    return digest.hexdigest().encode()
