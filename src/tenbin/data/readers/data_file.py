"""A data file while it is read: opened once, with the checksums of the very bytes that were read.

A file may be replaced or written to at any time. A reader here reads one file from its first byte
to its last, and gets the checksums of these bytes at the end.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from tenbin.errors import DataError
from tenbin.files.regular import open_regular

LONGEST_LINE = 1 << 28
"""In bytes: one row is held in memory, and a small gzip file may unpack to anything."""
LARGEST_WHOLE = 1 << 31
"""In bytes, of a file that can only be read whole."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Some editors put it before UTF-8."""
_CHUNK = 1 << 16


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
        while chunk := file.read(_CHUNK):
            plain.update(chunk)
            blob.update(chunk)
            read += len(chunk)
    if read != size:
        raise OSError(f"{path} changed while it was read")
    return Identity(plain.hexdigest(), blob.hexdigest())


class Source:
    """An open data file."""

    def __init__(self, path: Path, raw: BinaryIO) -> None:
        """Take an unbuffered file; `open_source` opens one."""
        self.path = path
        self._raw = raw
        self._identity: Identity | None = None

    @property
    def identity(self) -> Identity:
        """The checksums of the bytes that were read."""
        if self._identity is None:
            raise RuntimeError(f"{self.path} was not read to its end")
        return self._identity

    @contextmanager
    def content(self) -> Iterator[BinaryIO]:
        """Open the file at its start, decompressed if its name ends in `.gz`.

        Raises:
            DataError: It cannot be read, or has other bytes than the last time.
        """
        hashing = _Hashing(self._raw)
        try:
            with _buffered(self.path, hashing) as file:
                yield file
            # Read the rest too, such as padding after gzip's last block, for the checksums.
            while hashing.read(_CHUNK):
                pass
        except OSError as error:
            raise unreadable(self.path, error) from error
        self._learn(hashing.identity(self.path))

    @contextmanager
    def in_any_order(self) -> Iterator[Any]:
        """Open the file for random access; its bytes are read once before, for the checksums.

        Raises:
            DataError: It cannot be read, or changed meanwhile.
        """
        with self.content() as file:
            while file.read(_CHUNK):
                pass
        before = os.fstat(self._raw.fileno())
        try:
            self._raw.seek(0)
            yield self._raw
        except OSError as error:
            raise unreadable(self.path, error) from error
        after = os.fstat(self._raw.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise changed(self.path)

    def _learn(self, found: Identity) -> None:
        if self._identity is not None and self._identity != found:
            raise changed(self.path)
        self._identity = found


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a data file.

    Raises:
        DataError: It cannot be opened, is no regular file, or has a name that cannot be stored.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{path}: the name of the file is not UTF-8", "rename it") from error
    try:
        raw = open_regular(path)
    except OSError as error:
        raise unreadable(path, error) from error
    with raw:
        yield Source(path, raw)


def unreadable(path: Path, error: OSError) -> DataError:
    """Say that a file cannot be read."""
    return DataError(f"{path} cannot be read: {error.strerror or error}")


def changed(path: Path) -> DataError:
    """Say that a file is not what it was when it was opened."""
    return DataError(
        f"{path} changed while it was read", "run again when no other program writes to it"
    )


@contextmanager
def _buffered(path: Path, raw: io.RawIOBase) -> Iterator[BinaryIO]:
    buffered = io.BufferedReader(raw, _CHUNK)
    if not path.name.lower().endswith(".gz"):
        yield buffered
        return
    try:
        # Unbuffered, each line of a GzipFile takes several calls in Python.
        with gzip.GzipFile(fileobj=buffered) as packed:
            yield io.BufferedReader(cast(io.RawIOBase, packed))
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(
            f"{path} is not a complete gzip file: {error}", "it may be truncated: copy it again"
        ) from error


class _Hashing(io.RawIOBase):
    """A file read from its start, with the checksums of what was read."""

    def __init__(self, raw: BinaryIO) -> None:
        raw.seek(0)
        self._file = raw
        self._size = os.fstat(raw.fileno()).st_size
        self._read = 0
        self._plain = hashlib.sha256()
        self._blob = hashlib.sha1(f"blob {self._size}\0".encode(), usedforsecurity=False)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = cast(int, self._file.readinto(buffer))  # type: ignore[attr-defined]
        chunk = memoryview(buffer)[:count]
        self._plain.update(chunk)
        self._blob.update(chunk)
        self._read += count
        return count

    def identity(self, path: Path) -> Identity:
        if self._read != self._size:
            raise changed(path)
        return Identity(self._plain.hexdigest(), self._blob.hexdigest())


def numbered_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers from 1, line feeds taken off.

    Only line feeds end a line: a JSON string may hold U+2028 and its like.

    Raises:
        DataError: The file cannot be read, or a line is too long or not UTF-8.
    """
    with source.content() as file:
        yield from lines_of(source.path, file)


def lines_of(path: Path, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file that is open at its start."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise DataError(
                f"{path}, line {number}: longer than {LONGEST_LINE:,} bytes",
                "each row must be one line: the file may not be JSON lines",
            )
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
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
            f"{path}: larger than {LARGEST_WHOLE:,} bytes, and this format must be read at once",
            "write its rows as JSON lines",
        )
    return decoded(path, content.removeprefix(_BYTE_ORDER_MARK), 1)


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
