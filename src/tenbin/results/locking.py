"""One run at a time in a folder: a lock that ends with the process that holds it.

The operating system keeps the lock, so that a killed process leaves none behind; the file says who
holds it. Knows nothing of what is written in the folder.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import weakref
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from tenbin.errors import ConfigError

LOCK = ".lock"
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
"""What a file system says that cannot lock files."""


class PlaceLock:
    """The right to write into a folder."""

    def __init__(self, folder: Path) -> None:
        """Take it.

        Raises:
            ConfigError: Another run has it, and lives.
            OSError: The folder cannot be written.
        """
        self._path = folder / LOCK
        self.supported = True
        """Whether the file system locks files; where it does not, nothing keeps others out."""
        self._handle: int | None = self._take()
        _held.add(self)

    def _take(self) -> int:
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _read(handle)
                os.close(handle)
                raise ConfigError(
                    f"{self._path.parent}: another run writes there{holder}",
                    "wait until it is over, stop it, or name another --output_path",
                ) from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    os.close(handle)
                    raise
                self.supported = False
            if self._is_current(handle):
                os.ftruncate(handle, 0)
                os.pwrite(handle, _signature(), 0)
                return handle
            os.close(handle)  # the run before has taken its file away: there is a new one by now

    def _is_current(self, handle: int) -> bool:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(handle)
        return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)

    def release(self) -> None:
        """Let others in; the file is taken away first, while nobody else can have it."""
        if self._handle is not None:
            with suppress(OSError):
                self._path.unlink()
            self.forget()

    def forget(self) -> None:
        """Close the file and leave it where it is."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


_held: weakref.WeakSet[PlaceLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A forked process shares the lock: a child that outlives its parent would keep it.
    for lock in list(_held):
        lock.forget()


os.register_at_fork(after_in_child=_forget_in_child)


def is_locked(folder: Path) -> bool:
    """Whether a living run writes into a folder."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def _signature() -> bytes:
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    told = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    return json.dumps(told).encode()


def _read(handle: int) -> str:
    """Who holds it, as far as the file says."""
    try:
        told = json.loads(os.pread(handle, 1000, 0))
        return f": process {told['pid']} on {told['host']}, since {told['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
