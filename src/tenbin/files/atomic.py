"""Files and folders that appear whole or not at all, and leave nothing behind when a process dies.

What is being written lies beside its place under a hidden name and is locked as long as its writer
lives. A process that is killed cannot remove it: the next one that writes the same file finds it
unlocked, which distinguishes it from one that is still written, and removes it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks here: nothing that others left is removed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give the partial file to write; it is renamed to `path` when the block ends without error.

    Two processes that write one file do not disturb each other: the later one's stays.

    Raises:
        OSError: The folder cannot be written, or the disk is full; no partial file stays.
    """
    remove_abandoned(path.parent, f".{escape(path.name)}.*.partial")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    handle = _create_locked(partial)
    try:
        yield partial
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    finally:
        os.close(handle)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with atomic_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


@contextmanager
def work_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Give a new folder to work in; it is removed at the end unless it was renamed.

    Args:
        parent: Where it lies; those of processes that died are removed there first.
        prefix: Begins its name, and the names of those others.
    """
    remove_abandoned(parent, f"{escape(prefix)}*")
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        handle = _lock(folder)
        if handle is None or _is_still(folder, handle):
            break
        os.close(handle)  # another process took it for abandoned before it was locked
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def remove_abandoned(folder: Path, pattern: str) -> None:
    """Remove what dead processes left half written; what somebody still writes stays."""
    if fcntl is None:
        return
    for place in folder.glob(pattern):
        with suppress(OSError):
            # Neither through a link nor into a pipe that nobody writes to.
            handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Its writer may have ended just now, and another may write under the same name.
                if not _is_still(place, handle):
                    continue
                if place.is_dir():
                    shutil.rmtree(place)
                else:
                    place.unlink()
            finally:
                os.close(handle)


def _create_locked(partial: Path) -> int:
    """Create a file and lock it; another process may remove it in between, and it is made again."""
    while True:
        handle = os.open(partial, os.O_CREAT | os.O_RDWR, 0o666)
        with suppress(OSError):  # a file system without locks: nobody can take it for abandoned
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_still(partial, handle):
            return handle
        os.close(handle)


def _lock(folder: Path) -> int | None:
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def _is_still(place: Path, handle: int) -> bool:
    """Whether a name still stands for what was opened under it."""
    try:
        return os.path.samestat(place.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
