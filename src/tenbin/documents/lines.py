"""The bytes and lines of a data file, plain or gzipped, each line as it is asked for.

It knows gzip and UTF-8, and how to say where either is broken. It knows no format.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tenbin.errors import DataError

_MARK = b"\xef\xbb\xbf"
"""The byte order mark that some editors put before UTF-8."""


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers from 1, line feeds taken off.

    Only line feeds end a line: a JSON string may hold U+2028 and its like.

    Raises:
        DataError: The file cannot be read, or a line is not UTF-8.
    """
    with open_data(path) as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = line.removeprefix(_MARK)
            yield number, _decoded(path, line.removesuffix(b"\n"), number)


def whole_text(path: Path) -> str:
    """Return all that a file holds as text.

    Raises:
        DataError: The file cannot be read, or is not UTF-8.
    """
    with open_data(path) as file:
        return _decoded(path, file.read().removeprefix(_MARK), 1)


@contextmanager
def open_data(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked where its name ends in `.gz`.

    Raises:
        DataError: The file cannot be read, now or while it is open.
    """
    if not path.name.lower().endswith(".gz"):
        try:
            with path.open("rb") as file:
                yield file
        except OSError as error:
            raise unreadable(path, error) from error
        return
    try:
        # Unbuffered, each line of a GzipFile takes several calls in Python.
        with gzip.open(path) as packed, io.BufferedReader(packed) as file:
            yield file
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(
            f"{path} is no complete gzip file: {error}", "it may be cut off: copy it again"
        ) from error


def unreadable(path: Path, error: OSError) -> DataError:
    """Say that a file cannot be read."""
    return DataError(f"{path} cannot be read: {error.strerror or error}")


def _decoded(path: Path, content: bytes, first_line: int) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        raise DataError(
            f"{path}, line {line}: not UTF-8 (byte 0x{content[error.start]:02x})",
            "save the file as UTF-8",
        ) from error
