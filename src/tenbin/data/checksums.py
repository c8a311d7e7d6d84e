"""What identifies a file's bytes: its SHA-256, and the id that git gives it.

It reads a file piece by piece and knows nothing of what it holds.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Identity:
    """The checksums of one file."""

    sha256: str
    blob: str
    """The git blob id: SHA-1 over a short header and the content."""


def identify(path: Path) -> Identity:
    """Return the checksums of a file as it is now.

    Raises:
        OSError: It cannot be read, or grew or shrank meanwhile.
    """
    plain = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        blob = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
        read = 0
        while piece := file.read(_PIECE):
            plain.update(piece)
            blob.update(piece)
            read += len(piece)
    if read != size:
        raise OSError(f"{path} changed while it was read")
    return Identity(plain.hexdigest(), blob.hexdigest())
