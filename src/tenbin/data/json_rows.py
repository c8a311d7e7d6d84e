"""JSON of data files: parsed, or refused with its place.

It knows neither files nor data sets.
"""

from __future__ import annotations

from typing import Any

from tenbin.errors import DataError
from tenbin.files import json_text


def parse_json(text: str, origin: str) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The text.
        origin: Where it stands, for messages.

    Raises:
        DataError: It is no JSON, is nested too deeply, or holds half of a surrogate pair.
    """
    try:
        return json_text.parse_json(text)
    except json_text.JsonError as error:
        where = f"{origin}, line {error.line}" if error.line and "\n" in text else origin
        raise DataError(f"{where}: broken JSON: {error}") from error
    except ValueError as error:
        raise DataError(f"{origin}: broken JSON: {error}") from error


def check_characters(value: Any, origin: str) -> None:
    """Refuse halves of surrogate pairs: they are no characters and can be neither sent nor stored.

    Raises:
        DataError: There is one.
    """
    try:
        json_text.check_characters(value)
    except json_text.JsonError as error:
        raise DataError(f"{origin}: {error}", "write the whole character") from error
