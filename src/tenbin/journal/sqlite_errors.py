"""What SQLite and the system say of a journal's file, as one sentence with a remedy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenbin.errors import JournalError
from tenbin.files.disk_errors import disk_of

_ELSEWHERE = "keep journals elsewhere with --cache_dir, or do without with --no_cache"


@contextmanager
def journal_faults(path: Path) -> Iterator[None]:
    """Turn errors of the file and of SQLite into a JournalError that names the file.

    Raises:
        JournalError: Whatever goes wrong inside.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise explained(path, error) from error
    except UnicodeDecodeError as error:
        # SQLite's own message repeats what stands in the file, and that is no text.
        raise damaged(path, "its tables cannot be read") from error


def explained(path: Path, error: Exception) -> JournalError:
    """The error that a user sees."""
    said = str(error)
    if "full" in said or "No space left" in said or _is_full(path.parent, said):
        return JournalError(
            f"no space is left on the disk {disk_of(path)}: the journal {path} cannot be written",
            f"free some and run the same command again, it goes on from there; or {_ELSEWHERE}",
        )
    if "locked" in said or "busy" in said:
        return JournalError(
            f"the journal {path} is held by another process",
            f"wait until that process is done; or {_ELSEWHERE}",
        )
    if isinstance(error, OSError) or "readonly" in said or "unable to open" in said:
        reason = (error.strerror or said) if isinstance(error, OSError) else said
        return JournalError(
            f"the journal {path} cannot be used: {reason}",
            f"let {path.parent} be written to, `{repairing(path)}` if the file is damaged; "
            f"or {_ELSEWHERE}",
        )
    return damaged(path, said)


def damaged(path: Path, reason: str) -> JournalError:
    """The error for a file that is not what a journal should be."""
    said = " ".join(reason.replace("*** in database main ***", "").split())
    return JournalError(
        f"the journal {path} is damaged: {said}",
        f"`{repairing(path)}` saves the answers that are whole; or delete the file, nothing but "
        "time is lost",
    )


def repairing(path: Path) -> str:
    """The command that mends a journal."""
    return f"tenbin journal repair {path}"


def _is_full(folder: Path, said: str) -> bool:
    """Whether an error of the disk only means that nothing fits onto it any more."""
    if "I/O error" not in said:
        return False
    try:
        disk = os.statvfs(folder)
    except (OSError, AttributeError):
        return False
    return disk.f_bavail * disk.f_frsize < 1 << 16
