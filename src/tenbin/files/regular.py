"""Regular files alone: a pipe would block, and a device never ends."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading, without a buffer.

    Raises:
        OSError: It cannot be opened, or is a folder, a pipe or a device.
    """
    # Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except ValueError as error:  # a null byte in the name
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: str | Path, longest: int) -> bytes:
    """Return what a file holds.

    Args:
        path: The file.
        longest: Its largest size in bytes.

    Raises:
        OSError: It cannot be read, is no regular file, or is larger.
    """
    with open_regular(path) as file:
        pieces = []
        left = longest + 1
        while left and (piece := file.read(left)):
            pieces.append(piece)
            left -= len(piece)
    if not left:
        raise OSError(errno.EFBIG, f"larger than {longest:,} bytes", str(path))
    return b"".join(pieces)
