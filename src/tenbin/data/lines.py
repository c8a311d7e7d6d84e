"""The lines and texts of a data file, each line as it is asked for.

It knows UTF-8, and how to say where it is broken. It knows no format.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tenbin.data.data_file import Source
from tenbin.errors import DataError

LONGEST_LINE = 1 << 28
"""In bytes: one row is held in memory, and a small gzip file may unpack to anything."""
LARGEST_WHOLE = 1 << 31
"""In bytes, of a file that can only be read whole."""
_MARK = b"\xef\xbb\xbf"
"""The byte order mark that some editors put before UTF-8."""


def numbered_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers from 1, line feeds taken off.

    Only line feeds end a line: a JSON string may hold U+2028 and its like.

    Raises:
        DataError: The file cannot be read, or a line is too long or not UTF-8.
    """
    with source.content() as file:
        yield from lines_of(source.path, file)


def lines_of(path: Path, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file that is open at its beginning."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise DataError(
                f"{path}, line {number}: longer than {LONGEST_LINE:,} bytes",
                "rows are one line each: the file may be no JSON lines at all",
            )
        if number == 1:
            line = line.removeprefix(_MARK)
        yield number, decoded(path, line.removesuffix(b"\n"), number)


def whole_text(source: Source) -> str:
    """Return all that a file holds as text.

    Raises:
        DataError: The file cannot be read, is too large, or not UTF-8.
    """
    with source.content() as file:
        return rest_of(source.path, file, b"")


def rest_of(path: Path, file: BinaryIO, before: bytes) -> str:
    """Return the text of a file whose first bytes were read already."""
    content = before + file.read(LARGEST_WHOLE - len(before))
    if len(content) == LARGEST_WHOLE:
        raise DataError(
            f"{path}: larger than {LARGEST_WHOLE:,} bytes, and can only be read whole",
            "write its rows as JSON lines",
        )
    return decoded(path, content.removeprefix(_MARK), 1)


def decoded(path: Path, content: bytes, first_line: int) -> str:
    """Return bytes as text; `first_line` is the number of their first line."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        raise DataError(
            f"{path}, line {line}: not UTF-8 (byte 0x{content[error.start]:02x})",
            "save the file as UTF-8",
        ) from error
