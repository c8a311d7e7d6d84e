"""The distinct requests of a plan: a request is open until it is settled, which happens once.

On disk, in the plan's own database. Knows requests; knows neither prompts nor answers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tenbin.planning.packing import pack_request, pack_text, unpack_request, unpack_text
from tenbin.planning.requests import work_of
from tenbin.records import Request
from tenbin.shelf import CHUNK, chunks, marks

QUEUE_TABLES = (
    "CREATE TABLE requests (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, "
    "kind INTEGER NOT NULL, text BLOB NOT NULL, rest BLOB NOT NULL)",
    # Apart from the texts: whoever settles a request must not write its text again.
    "CREATE TABLE open (key TEXT PRIMARY KEY, work REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE walk (id INTEGER PRIMARY KEY, key TEXT NOT NULL)",
)


class Queue:
    """Requests by key, in order of first use."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """A queue in a database that has its tables."""
        self._database = database

    def put(self, requests: Iterable[Request]) -> None:
        """Ask these too; what was asked already is not asked again."""
        for chunk in chunks(requests):
            self._database.executemany(
                "INSERT OR IGNORE INTO requests (key, kind, text, rest) VALUES (?, ?, ?, ?)",
                ((r.key, r.place[0], pack_text(r.place[1]), pack_request(r)) for r in chunk),
            )
            self._database.executemany(
                "INSERT OR IGNORE INTO open VALUES (?, ?)", ((r.key, work_of(r)) for r in chunk)
            )

    def __len__(self) -> int:
        """How many there are, open or not."""
        return self._count("requests")

    def __contains__(self, key: str) -> bool:
        """Whether such a request was ever put here."""
        found = self._database.execute("SELECT 1 FROM requests WHERE key = ?", (key,))
        return found.fetchone() is not None

    def left(self) -> tuple[int, float]:
        """How many are open, and what they cost together, roughly."""
        count, work = self._database.execute("SELECT count(*), total(work) FROM open").fetchone()
        return count, work

    def _count(self, table: str) -> int:
        count: int = self._database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return count

    def all_keys(self) -> Iterator[list[str]]:
        """The keys of all requests, many at a time."""
        last = 0
        while rows := self._database.execute(
            "SELECT id, key FROM requests WHERE id > ? ORDER BY id LIMIT ?", (last, CHUNK)
        ).fetchall():
            last = rows[-1][0]
            yield [key for _, key in rows]

    def open(self) -> Iterator[Request]:
        """Those that are open, in order of first use."""
        for keys in self.all_keys():
            known = f"SELECT key FROM open WHERE key IN ({marks(keys)})"
            yield from self._read(f"WHERE key IN ({known}) ORDER BY id", keys)

    def walk(self) -> Iterator[Request]:
        """Those that are open, in the order of their places.

        That is a walk through the tree of their beginnings. What is settled on the way changes
        nothing: all are given that were open when it began.
        """
        self._database.execute("DELETE FROM walk")
        self._database.execute(
            "INSERT INTO walk (key) SELECT requests.key FROM requests JOIN open USING (key) "
            "ORDER BY kind, text, requests.key"
        )
        for start in range(0, self._count("walk"), CHUNK):
            yield from self._read(
                "JOIN walk ON walk.key = requests.key WHERE walk.id > ? AND walk.id <= ? "
                "ORDER BY walk.id",
                (start, start + CHUNK),
            )

    def _read(self, condition: str, values: Sequence[Any]) -> list[Request]:
        rows = self._database.execute(
            f"SELECT kind, requests.key, text, rest FROM requests {condition}", values
        )
        return [
            unpack_request(kind, key, unpack_text(text), rest) for kind, key, text, rest in rows
        ]

    def settle(self, keys: Sequence[str]) -> dict[str, float]:
        """Note that requests are answered.

        Returns:
            The work of each; a key that is not among them was not open.
        """
        settled: dict[str, float] = {}
        for chunk in chunks(keys):
            condition = f"FROM open WHERE key IN ({marks(chunk)})"
            settled |= dict(self._database.execute(f"SELECT key, work {condition}", chunk))
            self._database.execute(f"DELETE {condition}", chunk)
        return settled
