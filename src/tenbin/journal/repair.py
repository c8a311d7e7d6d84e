"""Save what is whole in a damaged journal: into a fresh file that takes its place.

The damaged file is kept beside it. No run may use the journal meanwhile.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tenbin.files.atomic import atomic_file
from tenbin.journal.check import Checked, Progress, check_journal, check_row
from tenbin.journal.locks import sole_use
from tenbin.journal.payloads import PayloadError
from tenbin.journal.rows import checked_source
from tenbin.journal.salvage import Pages, Row, carve, page_sizes
from tenbin.journal.schema import TABLES, VERSION, connect, transaction
from tenbin.journal.show import SIDES
from tenbin.journal.sqlite_errors import journal_faults

_ANSWER_COLUMNS, _SOURCE_COLUMNS = 6, 4


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of a journal."""

    found: Checked
    """What was wrong with it."""
    saved: int
    """Answers in the journal now."""
    kept: Path | None
    """The damaged file; None where nothing was wrong, and nothing was changed."""


def repair_journal(path: Path, progress: Progress = lambda done, total: None) -> Repaired:
    """Replace a damaged journal by one with the answers that are whole.

    Raises:
        JournalError: A run uses it, or the disk does not take the new file.
    """
    with journal_faults(path), sole_use(path):
        found = check_journal(path, progress, is_held=True)
        if found.is_whole:
            return Repaired(found, found.good, None)
        kept = _free_name(path)
        try:
            with atomic_file(path) as fresh:
                saved = _salvage(path, fresh, progress)
                _keep_aside(path, kept)
        except BaseException:
            _take_back(path, kept)
            raise
        return Repaired(found, saved, kept)


def find_kept(folder: Path) -> list[Path]:
    """The damaged files that repairs have kept."""
    return sorted(path for path in folder.glob("*.sqlite.damaged*") if path.name[-4:] != "-wal")


def remove_kept(path: Path) -> None:
    """Remove a damaged file."""
    with journal_faults(path):
        path.with_name(f"{path.name}-wal").unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def _salvage(path: Path, fresh: Path, progress: Progress) -> int:
    """Write a journal of all rows that can be proved whole.

    Returns:
        How many answers it has.
    """
    with closing(connect(fresh, timeout=10)) as target:
        # The file is nobody's yet: it needs no way back, and is brought to disk at the end.
        target.execute("PRAGMA journal_mode=OFF")
        target.execute("PRAGMA synchronous=OFF")
        with transaction(target):
            for statement in TABLES.values():
                target.execute(statement)
            target.execute(f"PRAGMA user_version={VERSION}")
            for answers, sources in _whole_rows(path, progress):
                target.executemany("INSERT OR IGNORE INTO answers VALUES (?,?,?,?,?,?)", answers)
                target.executemany("INSERT OR IGNORE INTO sources VALUES (?,?,?)", sources)
        saved: int = target.execute("SELECT count(*) FROM answers").fetchone()[0]
    with fresh.open("rb+") as file:
        os.fsync(file.fileno())
    return saved


def _whole_rows(path: Path, progress: Progress) -> Iterator[tuple[list[Row], list[Row]]]:
    """Answers and sources whose digests fit, page by page."""
    with _mapped(path) as database, _mapped(path.with_name(f"{path.name}-wal")) as log:
        for size in page_sizes(database):
            pages = Pages(database, log, size)
            total = pages.count + len(pages.frames)
            for done, rows in enumerate(carve(pages), start=1):
                if done % 500 == 0 or done == total:
                    progress(done, total)
                yield (
                    [_as_stored(row) for row in rows if _is_answer(row)],
                    # The id of a table is its rowid, and empty among the columns.
                    [(row[0], row[2].decode(), row[3]) for row in rows if _is_source(row)],
                )


def _is_answer(row: Row) -> bool:
    if len(row) != _ANSWER_COLUMNS:
        return False
    try:
        check_row(row)
    except PayloadError:
        return False
    return True


def _is_source(row: Row) -> bool:
    return (
        len(row) == _SOURCE_COLUMNS
        and row[1] is None
        and checked_source(row[0], row[2], row[3]) is not None
    )


def _as_stored(row: Row) -> Row:
    fingerprint, key, kind, payload, source, digest = row
    return fingerprint.decode(), key.decode(), kind.decode(), payload.decode(), source, digest


@contextmanager
def _mapped(path: Path) -> Iterator[bytes]:
    """The bytes of a file, of which memory holds only what is looked at; none where it is empty."""
    if not path.exists() or not path.stat().st_size:
        yield b""
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        yield view  # type: ignore[misc]  # it is indexed, cut and measured as bytes are


def _free_name(path: Path) -> Path:
    """What the damaged file will be called."""
    kept, number = path.with_name(f"{path.name}.damaged"), 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.damaged-{number}")
    return kept


def _keep_aside(path: Path, kept: Path) -> None:
    """Give the damaged file a further name, and its log another one.

    The log must be gone before the fresh file is there: SQLite would play it into that.
    """
    try:
        os.link(path, kept)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        shutil.copy2(path, kept)  # a file system without links
    log, shared = (path.with_name(path.name + side) for side in SIDES)
    if log.exists() and log.stat().st_size:
        log.rename(kept.with_name(f"{kept.name}-wal"))
    log.unlink(missing_ok=True)
    shared.unlink(missing_ok=True)


def _take_back(path: Path, kept: Path) -> None:
    """Leave everything as it was before a repair that could not be ended."""
    log = kept.with_name(f"{kept.name}-wal")
    with suppress(OSError):
        if log.exists():
            log.rename(path.with_name(f"{path.name}-wal"))
        kept.unlink(missing_ok=True)
