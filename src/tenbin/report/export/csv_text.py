"""Score records as CSV, one line each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import fields

from tenbin.report.export.records import ScoreRecord
from tenbin.sandbox.printable import visible

_FORMULA = ("=", "+", "-", "@", "\t")


def to_csv(records: Iterable[ScoreRecord]) -> str:
    """Records as CSV with a heading (RFC 4180, with line feeds); an unknown value is empty."""
    names = [field.name for field in fields(ScoreRecord)]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        writer.writerow([_field(getattr(record, name)) for name in names])
    return written.getvalue()


def _field(value: str | float | bool | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    # A spreadsheet would compute a name that looks like a formula.
    return f"'{visible(value)}" if value.startswith(_FORMULA) else visible(value)
