"""Whether a journal is whole: its file, and every answer in it. Changes nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenbin.errors import JournalError
from tenbin.files.disk_list import CHUNK
from tenbin.journal.payloads import PayloadError, decode
from tenbin.journal.rows import RowDigest, checked_source
from tenbin.journal.schema import VERSION, check_schema
from tenbin.journal.show import reading
from tenbin.journal.sqlite_errors import damaged, journal_faults
from tenbin.journal.store import read_row

_WRITE_VERSION = 18
"""Where a file of SQLite says which version may write it."""
Progress = Callable[[int, int], None]
"""Called with how many rows are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check has found."""

    path: Path
    good: int = 0
    """Answers that are what was written."""
    bad: int = 0
    reasons: tuple[str, ...] = ()
    """What is wrong with the bad ones, the most frequent first."""
    lost_sources: int = 0
    """Descriptions of engines that are not what was written."""
    has_digests: bool = True
    """False for a journal of an older tenbin: its answers could only be checked for their form."""
    fault: str = ""
    """What is wrong with the file itself; rows behind that could not be counted."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.bad or self.fault or self.lost_sources)


def check_journal(
    path: Path, progress: Progress = lambda done, total: None, is_held: bool = False
) -> Checked:
    """Read every row of a journal, and let SQLite look at the structure of the file.

    Args:
        path: The journal.
        progress: Called with how many rows are done, and of how many.
        is_held: Whether the caller has the journal for itself.
    """
    try:
        with journal_faults(path), reading(path, is_held) as connection:
            version = check_schema(connection, path)
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                # Empty, or so damaged that it seems to be.
                return Checked(path, fault=_structure_fault(path, connection))
            return _checked(path, connection, version == VERSION, progress)
    except JournalError as error:
        return Checked(path, fault=error.message)


def _checked(
    path: Path, connection: sqlite3.Connection, has_digests: bool, progress: Progress
) -> Checked:
    fault = _structure_fault(path, connection)
    good, reasons = 0, Counter[str]()
    try:
        total = connection.execute("SELECT count(*) FROM answers").fetchone()[0]
        columns = "source, digest" if has_digests else "NULL, NULL"
        rows = connection.execute(f"SELECT fingerprint, key, kind, payload, {columns} FROM answers")
        for done, row in enumerate(rows, start=1):
            try:
                check_row(row, has_digests)
                good += 1
            except PayloadError as error:
                reasons[str(error)] += 1
            if done % CHUNK == 0 or done == total:
                progress(done, total)
        lost = _lost_sources(connection) if has_digests else 0
    except sqlite3.Error as error:
        fault, lost = fault or damaged(path, str(error)).message, 0
    named = tuple(f"{count:,}: {reason}" for reason, count in reasons.most_common(3))
    return Checked(path, good, reasons.total(), named, lost, has_digests, fault)


def _structure_fault(path: Path, connection: sqlite3.Connection) -> str:
    """What is wrong with the structure of the file; empty: nothing."""
    with path.open("rb") as file:
        header = file.read(_WRITE_VERSION + 1)
    if len(header) > _WRITE_VERSION and header[_WRITE_VERSION] not in (1, 2):
        # SQLite reads such a file, and refuses every write as if the disk were read-only.
        return damaged(path, "its header asks for a newer SQLite").message
    said = connection.execute("PRAGMA integrity_check(1)").fetchone()[0].decode(errors="replace")
    return "" if said == "ok" else damaged(path, said).message


def check_row(row: tuple[Any, ...], has_digest: bool = True) -> None:
    """See that a row is an answer.

    Raises:
        PayloadError: It is not what was written.
    """
    try:
        fingerprint, key = row[0].decode(), row[1].decode()
        if not has_digest:
            decode(row[2].decode(), row[3].decode())
            return
    except (AttributeError, UnicodeDecodeError) as error:
        raise PayloadError("a column has another type") from error
    read_row(RowDigest(fingerprint), key, *row[2:])


def _lost_sources(connection: sqlite3.Connection) -> int:
    rows = connection.execute("SELECT id, description, digest FROM sources")
    return sum(checked_source(*row) is None for row in rows)
