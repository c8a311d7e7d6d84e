"""Writes that fail: which file it was, on which disk, and what helps."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenbin.errors import StorageError
from tenbin.files.atomic import write_atomically

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def writing(path: Path, remedy: str = "") -> Iterator[None]:
    """Say which file could not be written, and where.

    Args:
        path: The file or folder that is written inside.
        remedy: What helps, beside room on the disk.

    Raises:
        StorageError: Whatever the system refuses inside.
    """
    try:
        yield
    except OSError as error:
        raise unwritten(path, error, remedy) from error


def write_output(path: Path, text: str, remedy: str = "") -> None:
    """Write a file that a user has named, whole or not at all; a pipe or device is written to.

    Raises:
        StorageError: It cannot be written.
    """
    with writing(path, remedy):
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(path.resolve(), text)  # through a link, not over it


def unwritten(path: Path, error: OSError, remedy: str = "") -> StorageError:
    """The error that a user sees where the system refuses to write."""
    if error.errno in _FULL:
        free = f"free some space on {disk_of(path)}"
        return StorageError(
            f"no space is left on the disk {disk_of(path)}: {path} cannot be written",
            f"{free}, or {remedy}" if remedy else free,
        )
    # The partial file beside the one that was asked for is nothing to a user.
    reason = error.strerror or str(error)
    named = error.filename if isinstance(error.filename, str) else ""
    shown = named if named and not named.endswith(".partial") else path
    return StorageError(f"{shown} cannot be written: {reason}", remedy)


def disk_of(path: Path) -> Path:
    """Where the disk that holds a path is mounted; the path need not be there yet."""
    place = Path(os.path.realpath(path))
    while not place.exists() or not place.is_mount():
        if place.parent == place:
            break
        place = place.parent
    return place
