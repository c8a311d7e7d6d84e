"""Records on disk, in the order in which they were put there.

A run may have millions of documents, prompts and answers: none of them needs to be in memory except
while it is worked on. Files have no name and are gone with the
process, however it ends.
"""

from __future__ import annotations

import errno
import os
import pickle
import sqlite3
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from tenbin.errors import StorageError
from tenbin.files.disk_errors import unwritten

T = TypeVar("T")

_IN_MEMORY = 1 << 20
"""Bytes up to which a list needs no file: most data sets are small, and files are few."""
CHUNK = 500
"""Rows that are written, or held in memory, at a time."""
_REMEDY = (
    "name another folder with TMPDIR: rows, prompts and answers are there while a command works, "
    "some kB a document; answers are kept under --cache_dir, and the same command goes on"
)
_CACHE_KIB = 8 << 10
"""Of a database: what it may hold in memory."""


class DiskList(Sequence[T], Generic[T]):
    """A sequence that only grows. For one thread."""

    def __init__(self, records: Iterable[T] = ()) -> None:
        """A new list of these records."""
        # Closed with the list: whoever reads records holds the list.
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115
            max_size=_IN_MEMORY, dir=scratch_folder()
        )
        self._ends = array("Q", [0])
        self._at_end = True
        for record in records:
            self.append(record)

    def append(self, record: T) -> None:
        """Put one more record behind the others."""
        written = pickle.dumps(record, pickle.HIGHEST_PROTOCOL)
        try:
            if not self._at_end:  # each seek empties the buffer, which is a system call
                self._file.seek(self._ends[-1])
            # Until the record is counted, so that one that a signal cut short is written over.
            self._at_end = False
            self._file.write(written)
        except OSError as error:
            raise unwritten(Path(scratch_folder()), error, _REMEDY) from error
        self._ends.append(self._ends[-1] + len(written))
        self._at_end = True

    def __del__(self) -> None:
        # On a full disk the last records cannot be written even now: that was said before. As the
        # interpreter ends, what is called here may be gone, `suppress` too.
        try:  # noqa: SIM105
            self._file.close()
        except (OSError, AttributeError, TypeError):
            pass

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, at: int) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> list[T]: ...

    def __getitem__(self, at: int | slice) -> T | list[T]:
        """One record, made anew each time, or a list of them."""
        if isinstance(at, slice):
            return [self._read(one) for one in range(*at.indices(len(self)))]
        count = len(self)
        if not -count <= at < count:
            raise IndexError(at)
        return self._read(at % count)

    def __iter__(self) -> Iterator[T]:
        return self.between(0, len(self))

    def between(self, start: int, stop: int) -> Iterator[T]:
        """The records from one position up to another, one at a time."""
        return (self._read(at) for at in range(start, stop))

    def _read(self, at: int) -> T:
        self._at_end = False
        try:
            self._file.seek(self._ends[at])  # which writes what is still in the buffer
        except OSError as error:
            raise unwritten(Path(scratch_folder()), error, _REMEDY) from error
        record: T = pickle.loads(self._file.read(self._ends[at + 1] - self._ends[at]))
        return record


class _ScratchDatabase(sqlite3.Connection):
    """Names the folder where its file does not get the room that it needs."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """As the connection does."""
        with _naming_scratch():
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """As the connection does."""
        with _naming_scratch():
            return super().executemany(*arguments)


class _naming_scratch:
    """As a class: entered for every statement, which a generator would make much slower."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, sqlite3.Error) and is_storage_fault(error):
            raise scratch_fault(error) from error


def is_storage_fault(error: sqlite3.Error) -> bool:
    """Whether SQLite could not write: only its words say so."""
    said = str(error)
    return any(one in said for one in ("full", "I/O", "readonly", "unable to open"))


def scratch_fault(error: sqlite3.Error) -> StorageError:
    """The error that a user sees where a scratch database could not be written."""
    number = errno.ENOSPC if "full" in str(error) or "I/O" in str(error) else errno.EROFS
    folder = scratch_folder()
    return unwritten(Path(folder), OSError(number, os.strerror(number), folder), _REMEDY)


def scratch_database(*statements: str) -> sqlite3.Connection:
    """A database of this process alone, for records that are looked up or sorted.

    SQLite keeps it in memory up to the size of its cache, and beyond that in a file without a name,
    in the same folder as lists: nothing of it outlives the connection.

    Args:
        statements: What makes its tables.
    """
    connection = sqlite3.connect(
        "", isolation_level=None, check_same_thread=False, factory=_ScratchDatabase
    )
    # Nothing is ever taken back, so there is no need to write down how.
    for statement in (f"PRAGMA cache_size=-{_CACHE_KIB}", "PRAGMA journal_mode=OFF", *statements):
        connection.execute(statement)
    connection.execute("BEGIN")
    return connection


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """Values, as many at a time as a statement takes or memory should hold."""
    rest = iter(values)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def marks(values: Sequence[object]) -> str:
    """Places for values in a statement."""
    return ",".join("?" * len(values))


def scratch_folder() -> str:
    """Where large files that nobody keeps belong: `/tmp` is often memory, `/var/tmp` is not."""
    # Not asked of `tempfile` first: it writes a file to try a folder, which a kill leaves there.
    folder = Path(os.environ.get("TMPDIR") or "/var/tmp")
    if folder.is_dir() and os.access(folder, os.W_OK):
        return str(folder)
    return tempfile.gettempdir()
