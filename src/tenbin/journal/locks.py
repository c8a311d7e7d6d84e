"""Who uses a journal: any number of runs together, or one process that replaces or removes it.

The lock is on a file beside the database, `NAME.lock`, whose time of change says when the journal
was used last. SQLite's own locks cannot serve here: they do not outlast the file that they are on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tenbin.errors import JournalError

fcntl: Any
try:
    import fcntl
except ImportError:  # where files cannot be locked
    fcntl = None


def lock_path(path: Path) -> Path:
    """The file whose lock is that of a journal."""
    return path.with_suffix(".lock")


class UseLock:
    """Held by a run while it uses a journal."""

    def __init__(self, path: Path) -> None:
        """Wait until nobody replaces the journal, and note that it is used now."""
        self._handle = _take(lock_path(path), fcntl.LOCK_SH if fcntl else 0)
        with suppress(OSError):
            os.utime(lock_path(path))

    def release(self) -> None:
        """Let others replace it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def is_used(path: Path) -> bool:
    """Whether a run uses a journal now."""
    if fcntl is None or not lock_path(path).exists():
        return False
    try:
        handle = _take(lock_path(path), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # where nothing may be written, nobody writes
    if handle is not None:
        os.close(handle)
    return False


@contextmanager
def in_use(path: Path) -> Iterator[None]:
    """Keep others from replacing a journal that is looked at, where it has a lock already."""
    handle = None
    if fcntl is not None and lock_path(path).exists():
        with suppress(OSError):  # where nothing may be written, nobody replaces anything
            handle = _take(lock_path(path), fcntl.LOCK_SH | fcntl.LOCK_NB)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def sole_use(path: Path) -> Iterator[None]:
    """Hold a journal that no run uses; whoever wants to use it waits.

    Raises:
        JournalError: A run is using it.
    """
    lock = lock_path(path)
    existed = lock.exists()
    try:
        handle = _take(lock, (fcntl.LOCK_EX | fcntl.LOCK_NB) if fcntl else 0)
    except BlockingIOError as error:
        raise JournalError(
            f"the journal {path} is used by a run that is going on",
            "wait until the run has ended, or stop it: the same command goes on from its answers",
        ) from error
    try:
        yield
    finally:
        if not existed or not path.exists():
            # Removed while it is held: whoever waits for it sees that it is another file now.
            lock.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def _take(lock: Path, how: int) -> int | None:
    """Lock the file that has this name when the lock is there."""
    if fcntl is None:
        lock.touch()
        return None
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, how)
            if _is_same(handle, lock):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_same(handle: int, lock: Path) -> bool:
    try:
        named = lock.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), named)
