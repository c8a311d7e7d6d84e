"""Journals of answers that are damaged: an answer is what was written, or it is asked again."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from functools import lru_cache
from pathlib import Path
from random import Random

from tenbin.errors import JournalError
from tenbin.journal.check import check_journal
from tenbin.journal.repair import repair_journal
from tenbin.journal.show import describe_journal
from tenbin.journal.store import Journal
from tenbin.records import Picked, Response, Rolled, Scores, Text, Usage
from tests.fuzz.mutation import damage_bytes, leaf
from tests.fuzz.target import PropertyError, Target

_FINGERPRINT = "fuzzed"
_ANSWERS: dict[str, Response] = {
    "a" * 32: Scores((-1.5, -2.25), (1, 2), (True, False), 3, Usage(1, 2, 3)),
    "b" * 32: Text("天秤\n", "stop", 3, 0, "thought", 4, "closed"),
    "c" * 32: Rolled(-12.5, 4),
    "d" * 32: Picked(1, "letter_logprobs", "B", (-1.0, None), None, ("A", "B"), "Which?"),
    "e" * 32: Text("", "length", 0),
}
_USER_VERSION = slice(60, 64)
"""Where a file of SQLite keeps the version of its tables."""
_COLUMNS = ("fingerprint", "key", "kind", "payload", "source", "digest")


@lru_cache(maxsize=1)
def _files() -> tuple[bytes, bytes, str]:
    """A journal of today, one of the first version, and what the file is called."""
    folder = Path(tempfile.mkdtemp(prefix="tenbin-fuzz-journal-"))
    journal = Journal(folder, _FINGERPRINT)
    source = journal.add_source({"engine": {"name": "scripted"}, "model": "m"})
    journal.write(_ANSWERS.items(), source)
    journal.close()
    connection = sqlite3.connect(journal.path)
    connection.execute("PRAGMA journal_mode=DELETE")
    today = _dump(connection, journal.path)
    connection.execute("DROP TABLE sources")
    connection.execute("ALTER TABLE answers RENAME TO later")
    connection.execute(
        "CREATE TABLE answers (fingerprint TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, "
        "payload TEXT NOT NULL, PRIMARY KEY (fingerprint, key)) WITHOUT ROWID"
    )
    connection.execute("INSERT INTO answers SELECT fingerprint, key, kind, payload FROM later")
    connection.execute("DROP TABLE later")
    connection.execute("PRAGMA user_version=0")
    before = _dump(connection, journal.path)
    connection.close()
    shutil.rmtree(folder)
    return today, before, journal.path.name


def _dump(connection: sqlite3.Connection, path: Path) -> bytes:
    connection.commit()
    connection.execute("VACUUM")
    return path.read_bytes()


def _make(rng: Random) -> bytes:
    today, before, _ = _files()
    data = today if rng.randrange(4) else before
    if rng.randrange(4) and data is today:
        return damage_bytes(rng, data)
    return _edited(rng, data) if data is today else damage_bytes(rng, data)


def _edited(rng: Random, data: bytes) -> bytes:
    """A journal whose rows somebody changed."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(data)
    value = leaf(rng)
    if not isinstance(value, str | int | float | None) or isinstance(value, bool):
        value = str(value)
    if isinstance(value, int):
        value %= 2**62
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode()
    if rng.randrange(2) and isinstance(value, str):
        value = value.encode()
    try:
        connection.execute(
            f"UPDATE OR REPLACE answers SET {rng.choice(_COLUMNS)} = ? WHERE key = ?",
            (value, rng.choice(tuple(_ANSWERS))),
        )
        if rng.randrange(8) == 0:
            connection.execute(f"PRAGMA user_version={rng.choice((0, 2, 99, -1))}")
        connection.commit()
    except sqlite3.Error:
        connection.rollback()
    return bytes(connection.serialize())


def _check(data: bytes, folder: Path) -> None:
    path = folder / _files()[2]
    path.write_bytes(data)
    # Answers of the first version had no digests: which of them are whole, nobody can tell.
    has_digests = data[_USER_VERSION] != bytes(4)
    check_journal(path)
    describe_journal(path)
    try:
        _read(folder, has_digests)
    except JournalError:
        _repair(path, data, has_digests)
        raise


def _repair(path: Path, data: bytes, has_digests: bool) -> None:
    """What cannot be read is repaired, and what was saved can be read."""
    path.write_bytes(data)
    for side in ("-wal", "-shm"):
        path.with_name(f"{path.name}{side}").unlink(missing_ok=True)
    repair_journal(path)
    try:
        _read(path.parent, has_digests)
    except JournalError as error:
        raise PropertyError(f"a repaired journal cannot be read: {error}") from error


def _read(folder: Path, has_digests: bool) -> None:
    journal = Journal(folder, _FINGERPRINT)
    try:
        found = journal.read(_ANSWERS)
        journal.write([("f" * 32, _ANSWERS["a" * 32])])
    finally:
        journal.close()
    for key, answer in found.items():
        if has_digests and answer != _ANSWERS[key]:
            raise PropertyError(f"{key}: {answer} was never written")


TARGETS = (Target("journal", _make, _check, lambda: list(_files()[:2])),)
