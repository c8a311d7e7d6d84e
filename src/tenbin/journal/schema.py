"""The tables of a journal's file, and how a file of an older tenbin becomes one of today's.

`PRAGMA user_version` holds the version of the tables. 0: answers without digest, and nothing about
who gave them. 1: a digest a row, and the sources of answers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tenbin.errors import JournalError
from tenbin.journal.payloads import PayloadError, decode
from tenbin.journal.rows import RowDigest
from tenbin.journal.sqlite_errors import damaged, repairing

VERSION = 1
UNKNOWN_SOURCE = 0
"""Of answers that were written down before sources were."""
_NAMED = "fingerprint TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL"
_KEYED = "PRIMARY KEY (fingerprint, key)) WITHOUT ROWID"
_BEFORE = {"answers": f"CREATE TABLE answers ({_NAMED}, {_KEYED}"}
TABLES = {
    "answers": f"CREATE TABLE answers ({_NAMED}, source INTEGER NOT NULL, "
    f"digest BLOB NOT NULL, {_KEYED}",
    "sources": "CREATE TABLE sources (id INTEGER PRIMARY KEY, description TEXT NOT NULL, "
    "digest BLOB NOT NULL)",
}
Notify = Callable[[str], None]
"""Takes one line for the user."""


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection to read and write; there is a file afterwards.

    Args:
        path: The file.
        timeout: Seconds to wait for another process that writes.
    """
    # A run that is stopped while a library computes is saved by another thread than it began in.
    return harden(
        sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    )


def harden(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Trust nothing in the file; texts come as bytes, which always can be read."""
    connection.text_factory = bytes
    for setting in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the tables, as the file says."""
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


def prepare(connection: sqlite3.Connection, path: Path, notify: Notify) -> None:
    """Make the tables, or bring those of an older version up to date.

    Raises:
        JournalError: A newer tenbin wrote the file, or it is damaged.
    """
    if check_schema(connection, path) == VERSION:
        return
    with transaction(connection):
        # Another process may have done it while this one waited.
        if check_schema(connection, path) == VERSION:
            return
        if _tables(connection):
            _upgrade(connection, path, notify)
        else:
            _create(connection)
        connection.execute(f"PRAGMA user_version={VERSION}")


def check_schema(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a file whose tables are exactly those of that version.

    Raises:
        JournalError: A newer tenbin wrote it, or something changed its tables.
    """
    version, tables = version_of(connection), _tables(connection)
    if version > VERSION:
        raise JournalError(
            f"the journal {path} has version {version}, and this tenbin knows up to {VERSION}",
            "use the newer tenbin that wrote it, or another --cache_dir; if no newer one was used, "
            f"the file is damaged: `{repairing(path)}`",
        )
    expected = TABLES if version == VERSION else _BEFORE
    if tables != expected and (version or tables):
        raise damaged(path, "its tables are not those of a journal")
    return version


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk ends a transaction by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
    return {_text(name): _text(sql) for name, sql in rows}


def _text(value: bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _create(connection: sqlite3.Connection) -> None:
    for statement in TABLES.values():
        connection.execute(statement)


def _upgrade(connection: sqlite3.Connection, path: Path, notify: Notify) -> None:
    """Give every answer of version 0 a digest; those that cannot be read are left behind.

    In one transaction: a process that ends in the middle leaves the file as it was.
    """
    notify(f"bringing the journal {path} up to date, once")
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != b"ok":
        raise damaged(path, _text(found))
    before = _count(connection)
    connection.execute("ALTER TABLE answers RENAME TO answers_before")
    _create(connection)
    connection.create_function("row_digest", 4, _digest_where_whole, deterministic=True)
    connection.execute(
        "INSERT INTO answers SELECT fingerprint, key, kind, payload, ?, digest FROM (SELECT *, "
        "row_digest(CAST(fingerprint AS BLOB), CAST(key AS BLOB), CAST(kind AS BLOB), "
        "CAST(payload AS BLOB)) AS digest FROM answers_before) "
        "WHERE digest IS NOT NULL",
        (UNKNOWN_SOURCE,),
    )
    connection.execute("DROP TABLE answers_before")
    lost = before - _count(connection)
    if lost:
        notify(f"{lost:,} of {before:,} answers in it are damaged and will be asked again")


def _count(connection: sqlite3.Connection) -> int:
    count: int = connection.execute("SELECT count(*) FROM answers").fetchone()[0]
    return count


def _digest_where_whole(
    fingerprint: bytes, key: bytes, kind: bytes, payload: bytes
) -> bytes | None:
    try:
        decode(kind.decode(), payload.decode())
        digest = RowDigest(fingerprint.decode())
        return digest.of(key.decode(), kind.decode(), payload, UNKNOWN_SOURCE)
    except (PayloadError, UnicodeDecodeError):
        return None
