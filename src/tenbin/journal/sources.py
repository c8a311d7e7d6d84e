"""What gave the answers of a journal: one row a run that wrote answers, with its description."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Mapping
from typing import Any

from tenbin.journal.digests import digest_of_source


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
