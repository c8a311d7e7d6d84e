"""Every answer, written down when it arrives, so that a run goes on where it stopped.

One SQLite file a model fingerprint, in WAL mode. Failures are not kept: a rerun tries again.
Knows requests by key only.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from pathlib import Path

from tenbin.errors import ConfigError
from tenbin.records import Failure, Picked, Response, Rolled, Scores, Text, Usage
from tenbin.shelf import chunks, marks

_KINDS: dict[str, Callable[..., Response]] = {
    "scores": Scores,
    "picked": Picked,
    "text": Text,
    "rolled": Rolled,
}
_NAMES: dict[type, str] = {Scores: "scores", Picked: "picked", Text: "text", Rolled: "rolled"}
_FIELDS = {kind: [field.name for field in fields(kind)] for kind in _NAMES}


class Journal:
    """The answers of one model."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Open or create the journal of this fingerprint."""
        name = hashlib.sha256(fingerprint.encode()).hexdigest()[:32]
        self.path = folder / f"{name}.sqlite"
        self._fingerprint = fingerprint
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open()
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"the journal {self.path} cannot be used: {error}",
                "name another place with --cache_dir, delete the file if it is damaged, "
                "or do without with --no_cache",
            ) from error

    def _open(self) -> None:
        self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        # A crash of the program loses nothing; a power cut may lose the last answers only.
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS answers ("
            "fingerprint TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, "
            "payload TEXT NOT NULL, PRIMARY KEY (fingerprint, key)) WITHOUT ROWID"
        )

    def read(self, keys: Iterable[str]) -> dict[str, Response]:
        """The answers known for these keys."""
        found: dict[str, Response] = {}
        for chunk in chunks(keys):
            rows = self._connection.execute(
                "SELECT key, kind, payload FROM answers "
                f"WHERE fingerprint = ? AND key IN ({marks(chunk)})",
                (self._fingerprint, *chunk),
            )
            for key, kind, payload in rows:
                found[key] = _decode(kind, payload)
        return found

    def write(self, answers: Iterable[tuple[str, Response]]) -> None:
        """Keep answers, all of them or none; the first one for a key stays."""
        rows = [
            (self._fingerprint, key, _NAMES[type(response)], _encode(response))
            for key, response in answers
            if not isinstance(response, Failure)
        ]
        if not rows:
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", rows)
            self._connection.execute("COMMIT")
        except BaseException:
            # A full disk ends a transaction by itself.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _encode(response: Response) -> str:
    values = {name: getattr(response, name) for name in _FIELDS[type(response)]}
    if values.get("usage") is not None:
        values["usage"] = asdict(values["usage"])
    return json.dumps(values, ensure_ascii=False)


def _decode(kind: str, payload: str) -> Response:
    values = json.loads(payload)
    if values.get("usage") is not None:
        values["usage"] = Usage(**values["usage"])
    return _KINDS[kind](**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
