"""A data file while it is read: opened once, its checksums taken of the very bytes that were read.

A file may be replaced or written to at any time. Whoever reads it here reads one file from its
first byte to its last, and learns afterwards what these bytes were. It knows bytes and gzip, and no
format.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from tenbin.data.checksums import Identity
from tenbin.errors import DataError
from tenbin.files.regular import open_regular

_PIECE = 1 << 16


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
        """Open the file from its beginning, unpacked where its name ends in `.gz`.

        Raises:
            DataError: It cannot be read, or has other bytes than the last time.
        """
        hashing = _Hashing(self._raw)
        try:
            with _buffered(self.path, hashing) as file:
                yield file
            # What no reader asked for, such as padding behind gzip's last block.
            while hashing.read(_PIECE):
                pass
        except OSError as error:
            raise unreadable(self.path, error) from error
        self._learn(hashing.identity(self.path))

    @contextmanager
    def in_any_order(self) -> Iterator[Any]:
        """Open the file for a reader that jumps about; its bytes are read once before.

        Raises:
            DataError: It cannot be read, or changed meanwhile.
        """
        with self.content() as file:
            while file.read(_PIECE):
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
        DataError: It cannot be opened, or is no regular file.
    """
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
        f"{path} changed while it was read", "run again once nothing writes to it any more"
    )


@contextmanager
def _buffered(path: Path, raw: io.RawIOBase) -> Iterator[BinaryIO]:
    buffered = io.BufferedReader(raw, _PIECE)
    if not path.name.lower().endswith(".gz"):
        yield buffered
        return
    try:
        # Unbuffered, each line of a GzipFile takes several calls in Python.
        with gzip.GzipFile(fileobj=buffered) as packed:
            yield io.BufferedReader(cast(io.RawIOBase, packed))
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(
            f"{path} is no complete gzip file: {error}", "it may be cut off: copy it again"
        ) from error


class _Hashing(io.RawIOBase):
    """A file read from its beginning, with the checksums of what was read."""

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
        piece = memoryview(buffer)[:count]
        self._plain.update(piece)
        self._blob.update(piece)
        self._read += count
        return count

    def identity(self, path: Path) -> Identity:
        if self._read != self._size:
            raise changed(path)
        return Identity(self._plain.hexdigest(), self._blob.hexdigest())
