"""The journals of a cache folder: what they hold, how large they are and when they were used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tenbin.errors import JournalError
from tenbin.journal.locks import in_use, is_used, lock_path, sole_use
from tenbin.journal.rows import checked_source
from tenbin.journal.schema import VERSION, check_schema, harden
from tenbin.journal.sqlite_errors import journal_faults

SIDES = ("-wal", "-shm")
"""What SQLite puts beside a file."""


@dataclass(frozen=True, slots=True)
class JournalFile:
    """What can be said of a journal without reading its answers."""

    path: Path
    size: int
    """Bytes, with what SQLite keeps beside the file."""
    last_used: float
    """Seconds since 1970."""
    is_used: bool
    """Whether a run uses it now."""
    version: int | None = None
    """Of its tables; None where they cannot be read."""
    fingerprints: tuple[str, ...] = ()
    answers: Mapping[str, int] = field(default_factory=dict)
    """How many there are of each kind."""
    sources: tuple[tuple[int, Mapping[str, Any] | None], ...] = ()
    """Answers from each source, and what is known of it; the most first."""
    fault: str = ""
    """Why it cannot be used; empty where it can."""

    @property
    def total(self) -> int:
        """Answers of all kinds."""
        return sum(self.answers.values())

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that answered; empty where nobody wrote them down."""
        said = (str((one or {}).get("model", "")) for _, one in self.sources)
        return tuple(dict.fromkeys(name for name in said if name))


def find_journals(folder: Path) -> list[Path]:
    """All journals of a folder, by name."""
    return sorted(folder.glob("*.sqlite"))


def choose_journal(given: str, folder: Path) -> Path:
    """The journal that a user means: a file, or the beginning of a name in the folder.

    Raises:
        JournalError: There is none, or more than one.
    """
    if Path(given).is_file():
        return Path(given)
    found = [path for path in find_journals(folder) if path.name.startswith(given)]
    if len(found) == 1 and given:
        return found[0]
    raise JournalError(
        f"{given}: " + ("several journals have such a name" if found else "no such journal"),
        f"name a file, or the beginning of one in {folder}: `tenbin journal show` lists them",
    )


@contextmanager
def reading(path: Path, is_held: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing, and leaves no file behind that was not there.

    Args:
        path: The journal.
        is_held: Whether the caller has it for itself.
    """
    log, shared = (path.with_name(path.name + side) for side in SIDES)
    had_log = log.exists()
    with nullcontext() if is_held else in_use(path):
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=10)
        with closing(connection):
            yield harden(connection)
    if not had_log:
        # SQLite makes both to read, and only who may write takes them away again.
        with suppress(JournalError, OSError), nullcontext() if is_held else sole_use(path):
            if log.exists() and log.stat().st_size == 0:
                shared.unlink(missing_ok=True)
                log.unlink()


def describe_journal(path: Path) -> JournalFile:
    """Look into a journal; one that is damaged is described as far as it goes."""
    files = [path, *(path.with_name(path.name + side) for side in SIDES)]
    facts = [file.stat() for file in files if file.exists()]
    lock = lock_path(path)
    used = lock.stat().st_mtime if lock.exists() else max(fact.st_mtime for fact in facts)
    seen = JournalFile(path, sum(fact.st_size for fact in facts), used, is_used(path))
    try:
        with journal_faults(path), reading(path) as connection:
            return _looked_into(seen, connection)
    except JournalError as error:
        return JournalFile(path, seen.size, used, seen.is_used, fault=error.message)


def _looked_into(seen: JournalFile, connection: sqlite3.Connection) -> JournalFile:
    version = check_schema(connection, seen.path)
    source = "source" if version == VERSION else "0"
    kinds: dict[str, int] = {}
    by_source: dict[int, int] = {}
    fingerprints: dict[str, None] = {}
    groups = connection.execute(
        f"SELECT fingerprint, kind, {source}, count(*) FROM answers GROUP BY 1, 2, 3"
        if version or _has_answers(connection)
        else "SELECT 1, 1, 1, 1 WHERE 0"
    )
    for fingerprint, kind, number, count in groups:
        name = _text(kind)
        kinds[name] = kinds.get(name, 0) + count
        by_source[number] = by_source.get(number, 0) + count
        fingerprints[_text(fingerprint)] = None
    described = _descriptions(connection) if version == VERSION else {}
    sources = sorted(by_source.items(), key=lambda pair: -pair[1])
    return JournalFile(
        seen.path,
        seen.size,
        seen.last_used,
        seen.is_used,
        version,
        tuple(fingerprints),
        kinds,
        tuple((count, described.get(number)) for number, count in sources),
    )


def _has_answers(connection: sqlite3.Connection) -> bool:
    """Whether a file of version 0 has its table; one that was only just created has not."""
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None


def _descriptions(connection: sqlite3.Connection) -> dict[int, Mapping[str, Any] | None]:
    rows = connection.execute("SELECT id, description, digest FROM sources")
    return {number: checked_source(number, *row) for number, *row in rows}


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
