"""Checks that the schemas share: one field of a row, or the error that names it and its row."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from tenbin.data.rows import Row, check_characters, describe_value
from tenbin.errors import DataError

LETTERS = {"A": 0, "B": 1, "C": 2, "D": 3}


@dataclass(frozen=True, slots=True)
class Dropped:
    """A row that must not be scored; the run counts such rows and says why."""

    reason: str
    """Completes "N rows left out: ...", the same text for all rows of one kind."""


def refuse(row: Row, field: str, found: Any, accepted: str) -> NoReturn:
    """Raise the error for a field that holds something else than `accepted`."""
    raise DataError(
        f"{row.origin}: field `{field}` is {describe_value(found)}; accepted: {accepted}"
    )


def take(row: Row, field: str, accepted: str) -> Any:
    """Return a field's value; a missing field is an error."""
    if field not in row.values:
        have = ", ".join(row.values) or "none"
        raise DataError(
            f"{row.origin}: field `{field}` is missing; accepted: {accepted}",
            f"the row's fields: {have}",
        )
    return row.values[field]


def take_text(row: Row, field: str) -> str:
    """Return a field that must hold text other than white space."""
    value = take(row, field, "text")
    if not isinstance(value, str) or not value.strip():
        refuse(row, field, value, "text that is not empty")
    return value


def take_label(
    row: Row, field: str, count: int, words: Mapping[str, int] | None = None, first: int = 0
) -> int:
    """Return an index below `count`, written as a number, as digits or as one of `words`.

    Args:
        row: The row.
        field: The field of the label.
        count: How many labels there are.
        words: Label words and the index that each stands for.
        first: The number that the row writes for index 0.
    """
    accepted = f"an integer from {first} to {first + count - 1}, as number or string"
    if words:
        accepted += f", or one of {', '.join(words)}"
    value = take(row, field, accepted)
    index: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        index = value - first
    elif isinstance(value, str):
        written = value.strip()
        # Python refuses to read numbers of thousands of digits.
        if written.isascii() and written.isdigit() and len(written) < 20:
            index = int(written) - first
        elif words:
            index = words.get(written, words.get(written.lower()))
    if index is None or not 0 <= index < count:
        refuse(row, field, value, accepted)
    return index


def take_identifier(row: Row, field: str, number: int) -> str:
    """Return a row's own id as text, or `row-N` with its number in the split when it has none."""
    value = row.values.get(field)
    if value is None or value == "":
        return f"row-{number}"
    if isinstance(value, bool) or not isinstance(value, str | int):
        refuse(row, field, value, "text, an integer or null")
    return str(value)


def check_texts(row: Row, field: str, values: Any, count: int) -> list[str]:
    """Return `values` when they are exactly `count` texts, none of them empty."""
    accepted = f"a list of {count} texts that are not empty"
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != count:
        refuse(row, field, values, accepted)
    if not all(isinstance(value, str) and value.strip() for value in values):
        refuse(row, field, values, accepted)
    return list(values)


def parse_written_list(row: Row, field: str, text: str) -> Any:
    """Read a list that a copy of the data has written out as text, in JSON or as Python would."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _parse_python(row, field, text)
    check_characters(value, row.origin)
    return value


def _parse_python(row: Row, field: str, text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        refuse(row, field, text, "a list, or a list written as a string")
