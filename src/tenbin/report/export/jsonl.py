"""Score records as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from tenbin.report.export.records import ScoreRecord
from tenbin.sandbox.printable import visible


def to_jsonl(records: Iterable[ScoreRecord]) -> str:
    """Records as JSON, one object a line; an unknown value is null."""
    return "".join(
        f"{json.dumps(_plain(record), ensure_ascii=False, allow_nan=False)}\n" for record in records
    )


def _plain(record: ScoreRecord) -> dict[str, str | float | bool | None]:
    values = asdict(record).items()
    return {name: visible(value) if isinstance(value, str) else value for name, value in values}
