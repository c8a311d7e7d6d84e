"""Score records as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from tenbin.report.export.records import ScoreRecord
from tenbin.sandbox.printable import visible


def to_jsonl(records: Iterable[ScoreRecord]) -> str:
    """Records as JSON, one object a line; an unknown value is null."""
    return "".join(f"{harmless_json(asdict(record))}\n" for record in records)


def harmless_json(value: Any, indent: int | None = None) -> str:
    """JSON with the exact texts, in which what no terminal should get is escaped."""
    written = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    if visible(written) == written:
        return written
    return "".join(
        character if visible(character) == character else json.dumps(character)[1:-1]
        for character in written
    )
