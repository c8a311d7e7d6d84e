"""Every answer, written down when it arrives, so that a run goes on where it stopped.

One SQLite file a model fingerprint, in WAL mode. Failures are not kept: a rerun tries again. A row
that is not what was written is no answer: it is removed, counted and asked again.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tenbin.files.disk_list import chunks, marks
from tenbin.journal.locks import UseLock
from tenbin.journal.payloads import PayloadError, decode, encode
from tenbin.journal.rows import RowDigest, read_source, write_source
from tenbin.journal.schema import Notify, connect, prepare, transaction
from tenbin.journal.sqlite_errors import journal_faults
from tenbin.records import Failure, Response

Found = TypeVar("Found")
_PATIENCE = 60.0
"""Seconds to wait for a process that writes a portion of answers."""
_PATIENCE_AT_OPENING = 1800.0
"""Seconds to wait for a process that brings the file up to date."""


class Journal:
    """The answers of one model."""

    def __init__(self, folder: Path, fingerprint: str, notify: Notify = lambda text: None) -> None:
        """Open or create the journal of this fingerprint.

        Args:
            folder: Where journals are.
            fingerprint: Of the model.
            notify: Called with what happens to the file.

        Raises:
            JournalError: The file cannot be used; here and in every method.
        """
        name = hashlib.sha256(fingerprint.encode()).hexdigest()[:32]
        self.path = folder / f"{name}.sqlite"
        self.damaged = 0
        """Rows that were found damaged, and removed."""
        self._fingerprint = fingerprint
        self._digest = RowDigest(fingerprint)
        with journal_faults(self.path):
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = UseLock(self.path)
            try:
                self._connection = _opened(self.path, notify)
            except BaseException:
                self._lock.release()
                raise

    def read(self, keys: Iterable[str]) -> dict[str, Response]:
        """The answers known for these keys."""
        return {key: answer for key, (answer, _) in self.look_up(keys).items()}

    def look_up(self, keys: Iterable[str]) -> dict[str, tuple[Response, int]]:
        """The answers known for these keys, each with the number of its source."""
        return self._found(keys, lambda key, row: read_row(self._digest, key, *row))

    def sources_of(self, keys: Iterable[str]) -> dict[str, int]:
        """Which of these keys have an answer, each with the number of its source.

        Digests are checked and answers are not made: a run that goes on looks all of its keys up
        before it asks the first question.
        """
        return self._found(keys, lambda key, row: check_row(self._digest, key, *row)[2])

    def _found(
        self, keys: Iterable[str], read: Callable[[str, tuple[Any, ...]], Found]
    ) -> dict[str, Found]:
        """What is read of the rows of these keys; those that are damaged are removed."""
        found: dict[str, Found] = {}
        with journal_faults(self.path):
            for chunk in chunks(keys):
                rows = self._connection.execute(
                    "SELECT key, kind, payload, source, digest FROM answers "
                    f"WHERE fingerprint = ? AND key IN ({marks(chunk)})",
                    (self._fingerprint, *chunk),
                ).fetchall()
                asked, bad = set(chunk), []
                for row in rows:
                    key = row[0].decode(errors="replace") if type(row[0]) is bytes else ""
                    if key not in asked:
                        continue  # the index is damaged: whatever this is, nobody asked for it
                    try:
                        found[key] = read(key, row[1:])
                    except PayloadError:
                        bad.append(key)
                self._remove(bad)
        return found

    def _remove(self, keys: Sequence[str]) -> None:
        """Make room for an answer that is asked again."""
        if keys:
            self.damaged += len(keys)
            self._connection.execute(
                f"DELETE FROM answers WHERE fingerprint = ? AND key IN ({marks(keys)})",
                (self._fingerprint, *keys),
            )

    def write(self, answers: Iterable[tuple[str, Response]], source: int = 0) -> Counter[int]:
        """Keep answers, all of them or none; the first one for a key stays.

        Args:
            answers: Keys and answers; failures among them are not kept.
            source: What gave them; see `add_source`.

        Returns:
            How many answers to these keys are now there from each source.
        """
        rows = [
            self._row(key, response, source)
            for key, response in answers
            if not isinstance(response, Failure)
        ]
        if not rows:
            return Counter()
        with journal_faults(self.path), transaction(self._connection):
            written = self._connection.executemany(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", rows
            ).rowcount
        if written == len(rows):
            return Counter({source: written})
        # Another run was faster with some of them.
        return Counter(by for _, by in self.look_up([row[1] for row in rows]).values())

    def _row(self, key: str, response: Response, source: int) -> tuple[Any, ...]:
        kind, payload = encode(response)
        digest = self._digest.of(key, kind, payload.encode(), source)
        return self._fingerprint, key, kind, payload, source, digest

    def add_source(self, description: Mapping[str, Any]) -> int:
        """Note what gives the answers that follow.

        Returns:
            Its number.
        """
        with journal_faults(self.path), transaction(self._connection):
            return write_source(self._connection, description)

    def change_source(self, number: int, description: Mapping[str, Any]) -> None:
        """Say more about a source that this run added."""
        with journal_faults(self.path), transaction(self._connection):
            write_source(self._connection, description, number)

    def source(self, number: int) -> dict[str, Any] | None:
        """What is known of a source; None: nothing, or it is damaged."""
        with journal_faults(self.path):
            return read_source(self._connection, number)

    def close(self) -> None:
        """Close the file."""
        try:
            with journal_faults(self.path):
                self._connection.close()
        finally:
            self._lock.release()


def read_row(
    digests: RowDigest, key: str, kind: Any, payload: Any, source: Any, digest: Any
) -> tuple[Response, int]:
    """The answer in a row, and its source.

    Raises:
        PayloadError: The row is not what was written.
    """
    name, text, source = check_row(digests, key, kind, payload, source, digest)
    return decode(name, text), source


def check_row(
    digests: RowDigest, key: str, kind: Any, payload: Any, source: Any, digest: Any
) -> tuple[str, str, int]:
    """Kind, payload and source of a row.

    Raises:
        PayloadError: The row is not what was written.
    """
    if not (type(kind) is type(payload) is type(digest) is bytes and type(source) is int):
        raise PayloadError("a column has another type")
    try:
        name, text = kind.decode(), payload.decode()
    except UnicodeDecodeError as error:
        raise PayloadError("no UTF-8") from error
    if digests.of(key, name, payload, source) != digest:
        raise PayloadError("its digest is another")
    return name, text, source


def _opened(path: Path, notify: Notify) -> sqlite3.Connection:
    """A connection to a file whose tables are there and of today's version."""
    connection = connect(path, _PATIENCE_AT_OPENING)
    try:
        _use_write_ahead_log(connection)
        # A crash of the program loses nothing; a power cut may lose the last answers only.
        connection.execute("PRAGMA synchronous=NORMAL")
        prepare(connection, path, notify)
        connection.execute(f"PRAGMA busy_timeout={round(_PATIENCE * 1000)}")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Needs the file alone for a moment, and SQLite does not wait for that by itself."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
