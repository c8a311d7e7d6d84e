"""JSON of data files: parsed, or refused in one sentence.

It knows what later stages cannot hold: halves of surrogate pairs, and values nested so deeply that
they can be read and not written again. It knows no file and no data set.
"""

from __future__ import annotations

import json
from typing import Any

from tenbin.errors import DataError

DEEPEST = 64
"""Lists and objects within each other; rows of benchmarks have fewer than ten."""


def parse_json(text: str, origin: str) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The text.
        origin: Where it stands, for messages.

    Raises:
        DataError: It is no JSON, is nested too deeply, or holds half of a surrogate pair.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise _too_deep(origin) from error
    except json.JSONDecodeError as error:
        if "\n" in text:
            raise DataError(f"{origin}, line {error.lineno}: broken JSON: {error.msg}") from error
        raise DataError(f"{origin}: broken JSON: {error}") from error
    except ValueError as error:
        raise DataError(f"{origin}: broken JSON: {error}") from error
    if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
        raise _too_deep(origin)
    if "\\ud" in text or "\\uD" in text:
        check_characters(value, origin)
    return value


def check_characters(value: Any, origin: str) -> None:
    """Refuse halves of surrogate pairs: they are no characters and can be neither sent nor stored.

    Raises:
        DataError: There is one.
    """
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{origin}: half of a surrogate pair: {error.reason}", "write the whole character"
        ) from error


def _too_deep(origin: str) -> DataError:
    return DataError(f"{origin}: broken JSON: lists and objects nested over {DEEPEST} levels")


def _depth(value: Any) -> int:
    """Levels of a value, counted without recursion and no further than is of interest."""
    depth, level = 0, [value]
    while depth <= DEEPEST and (holders := [one for one in level if isinstance(one, dict | list)]):
        depth += 1
        level = [
            inner for one in holders for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return depth
