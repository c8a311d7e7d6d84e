"""Digests of the journal's rows, and the rows that say which engine gave the answers.

Digests find damage and careless edits. They are no signature: whoever rewrites a row together with
its digest is not found out.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

SIZE = 16
"""Bytes of a digest."""


class RowDigest:
    """Digests of the answers of one fingerprint."""

    def __init__(self, fingerprint: str) -> None:
        """Begin with what all rows share."""
        name = fingerprint.encode()
        self._begun = blake2b(b"answer %d " % len(name) + name, digest_size=SIZE)

    def of(self, key: str, kind: str, payload: bytes, source: int) -> bytes:
        """The digest of one row."""
        state = self._begun.copy()
        state.update(f"{len(key)} {key}{kind} {source} ".encode(errors="surrogatepass"))
        state.update(payload)
        return state.digest()


def digest_of_source(number: int, description: bytes) -> bytes:
    """The digest of a row that says what gave answers."""
    return blake2b(b"source %d " % number + description, digest_size=SIZE).digest()


def write_source(
    connection: sqlite3.Connection, description: Mapping[str, Any], number: int | None = None
) -> int:
    """Keep a description, inside a transaction.

    Args:
        connection: To the journal.
        description: Plain values.
        number: Of the source whose description it replaces; None: a new one.

    Returns:
        The source's number.
    """
    if number is None:
        # By chance: counted up, a number could be that of a source whose row was lost.
        number = 1 + secrets.randbits(62)
    text = json.dumps(description)
    connection.execute(
        "INSERT OR REPLACE INTO sources VALUES (?, ?, ?)",
        (number, text, digest_of_source(number, text.encode())),
    )
    return number


def read_source(connection: sqlite3.Connection, number: int) -> dict[str, Any] | None:
    """A description; None where there is none, or it is not what was written."""
    row = connection.execute(
        "SELECT description, digest FROM sources WHERE id = ?", (number,)
    ).fetchone()
    return checked_source(number, *row) if row is not None else None


def checked_source(number: int, description: Any, digest: Any) -> dict[str, Any] | None:
    """The description in a row; None where the row is not what was written."""
    if type(description) is not bytes or digest_of_source(number, description) != digest:
        return None
    try:
        found = json.loads(description)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
