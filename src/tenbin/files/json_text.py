"""JSON of strangers: parsed, or refused in one sentence.

Refuses what the parser of Python takes and nothing behind it can hold: values nested so deeply
that they can be read and not written again, and halves of surrogate pairs, which can be neither
printed nor stored.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

DEEPEST = 64
"""Lists and objects within each other; what programs write has fewer than twenty."""


class JsonError(ValueError):
    """A text is no JSON that is taken; the message says why."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        """Where, if that is known."""


def parse_json(text: str, *, strict: bool = False) -> Any:
    """The value of a JSON text.

    Args:
        text: The text.
        strict: Refuse NaN and infinities, which JSON does not have and Python writes, and
            numbers that become infinite.

    Raises:
        JsonError: It is no JSON, is nested too deeply, or holds half of a surrogate pair.
    """
    try:
        value = json.loads(text, **(_STRICT if strict else {}))
    except RecursionError as error:
        raise _too_deep() from error
    except json.JSONDecodeError as error:
        raise JsonError(str(error), error.lineno) from error
    if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
        raise _too_deep()
    if "\\ud" in text or "\\uD" in text:
        check_characters(value)
    return value


def check_characters(value: Any) -> None:
    """Refuse halves of surrogate pairs.

    Raises:
        JsonError: There is one.
    """
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise JsonError(f"half of a surrogate pair: {error.reason}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise JsonError(f"{digits[:40]} is too large a number")
    return number


_STRICT: dict[str, Any] = {"parse_constant": _refuse_constant, "parse_float": _finite}


def _too_deep() -> JsonError:
    return JsonError(f"lists and objects nested over {DEEPEST} levels")


def _depth(value: Any) -> int:
    """Levels of a value, counted without recursion and no further than is of interest."""
    depth, level = 0, [value]
    while depth <= DEEPEST and (holders := [one for one in level if isinstance(one, dict | list)]):
        depth += 1
        level = [
            inner for one in holders for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return depth
