"""A disk that refuses one write: the n-th of everything that a command writes.

Counts opening for writing, writing, bringing to disk, renaming, linking, making folders, and every
statement that changes a database. SQLite's and the system's own errors are raised, as they say
them: an error of `write` names no file.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_READING = ("SELECT", "PRAGMA")


@dataclass
class Faulty:
    """Counts writes below some folders, and refuses one of them."""

    below: tuple[Path, ...]
    refused: int = 0
    """Which one; 0: none."""
    number: int = errno.ENOSPC
    seen: list[tuple[str, Path]] = field(default_factory=list)
    """Every write so far: what, and where."""

    def meet(self, what: str, path: Any, names_file: bool = True) -> None:
        """One more write."""
        place = Path(os.fsdecode(path)) if isinstance(path, str | bytes | os.PathLike) else None
        if place is None or not any(place.is_relative_to(one) for one in self.below):
            return
        self.seen.append((what, place))
        if len(self.seen) != self.refused:
            return
        if what.startswith("sqlite"):
            full = self.number == errno.ENOSPC
            words = "database or disk is full" if full else "attempt to write a readonly database"
            raise sqlite3.OperationalError(words)
        named = (str(place),) if names_file else ()
        raise OSError(self.number, os.strerror(self.number), *named)


class _File:
    """An open file whose writes are counted."""

    def __init__(self, file: Any, path: Any, faulty: Faulty) -> None:
        self._file, self._path, self._faulty = file, path, faulty

    def write(self, data: Any) -> Any:
        self._faulty.meet("write", self._path, names_file=False)
        return self._file.write(data)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


@contextmanager
def faulty_writes(
    below: tuple[Path, ...], scratch: Path, refused: int = 0, number: int = errno.ENOSPC
) -> Iterator[Faulty]:
    """Refuse the n-th write below these folders; databases without a name are in `scratch`."""
    faulty = Faulty((*below, scratch), refused, number)
    with pytest.MonkeyPatch.context() as patch:
        _patch_files(patch, faulty)
        _patch_system(patch, faulty)
        _patch_sqlite(patch, faulty, scratch)
        yield faulty


def _patch_files(patch: pytest.MonkeyPatch, faulty: Faulty) -> None:
    whole = io.open

    def open_file(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if not set(mode) & set("wax+"):
            return whole(file, mode, *arguments, **named)
        faulty.meet("open", file)
        return _File(whole(file, mode, *arguments, **named), file, faulty)

    patch.setattr(io, "open", open_file)
    patch.setattr(builtins, "open", open_file)
    spooled = tempfile.SpooledTemporaryFile

    class Spooled(spooled):  # type: ignore[type-arg, misc, valid-type]
        def write(self, data: Any) -> Any:
            faulty.meet("write", faulty.below[-1] / "shelf", names_file=False)
            return super().write(data)

    patch.setattr(tempfile, "SpooledTemporaryFile", Spooled)


def _patch_system(patch: pytest.MonkeyPatch, faulty: Faulty) -> None:
    def counted(name: str, which: int, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            faulty.meet(name, arguments[which])
            return function(*arguments, **named)

        return call

    for name, which in (("replace", 1), ("rename", 1), ("link", 1), ("mkdir", 0)):
        patch.setattr(os, name, counted(name, which, getattr(os, name)))
    plain_open, plain_fsync = os.open, os.fsync

    def open_handle(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            faulty.meet("os.open", path)
        return plain_open(path, flags, *arguments, **named)

    def fsync(handle: int) -> None:
        faulty.meet("fsync", Path(f"/proc/self/fd/{handle}").resolve(), names_file=False)
        plain_fsync(handle)

    patch.setattr(os, "open", open_handle)
    patch.setattr(os, "fsync", fsync)


def _patch_sqlite(patch: pytest.MonkeyPatch, faulty: Faulty, scratch: Path) -> None:
    plain = sqlite3.connect

    def connect(database: Any, *arguments: Any, **named: Any) -> sqlite3.Connection:
        place = Path(database) if database else scratch / "database"
        base = named.pop("factory", sqlite3.Connection)

        def meet(statement: str) -> None:
            if not statement.lstrip().startswith(_READING):
                faulty.meet(f"sqlite {statement.split()[0]}", place)

        class Inner(sqlite3.Connection):
            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                meet(statement)
                return super().execute(statement, *values)

            def executemany(self, statement: str, *values: Any) -> sqlite3.Cursor:
                meet(statement)
                return super().executemany(statement, *values)

        # Below the class that the program asks for: whatever that does with errors is done.
        factory = Inner if base is sqlite3.Connection else type(base.__name__, (base, Inner), {})
        if not str(database).startswith("file:"):
            faulty.meet("sqlite open", place)
        return plain(database, *arguments, factory=factory, **named)

    patch.setattr(sqlite3, "connect", connect)
