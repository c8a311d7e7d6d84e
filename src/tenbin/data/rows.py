"""A row as it was read, and JSON values in rows: parsed, checked, and shown in messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from tenbin.errors import DataError
from tenbin.files import json_text


class Row(NamedTuple):
    """One row and where it was read."""

    values: Mapping[str, Any]
    origin: str


def describe_value(value: Any) -> str:
    """Write a value for a message, cut to a readable length."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def parse_json(text: str, origin: str) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The text.
        origin: Where it was read, for messages.

    Raises:
        DataError: It is not JSON, is nested too deeply, or contains half of a surrogate pair.
    """
    try:
        return json_text.parse_json(text)
    except json_text.JsonError as error:
        where = f"{origin}, line {error.line}" if error.line and "\n" in text else origin
        raise DataError(f"{where}: broken JSON: {error}") from error
    except ValueError as error:
        raise DataError(f"{origin}: broken JSON: {error}") from error


def check_characters(value: Any, origin: str) -> None:
    """Refuse halves of surrogate pairs: they are not characters and cannot be sent or stored.

    Raises:
        DataError: There is one.
    """
    try:
        json_text.check_characters(value)
    except json_text.JsonError as error:
        raise DataError(f"{origin}: {error}", "write the whole character") from error
