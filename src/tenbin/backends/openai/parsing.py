"""The bytes of an answer → JSON that can be worked with: text without the key, nothing broken.

Checks what JSON itself leaves open (depth, lone surrogates, how large a number is) and the parts
that all answers share. Knows no transport and no request.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from tenbin.backends.openai.secret import Secret

_DEEPEST = 100
"""Levels of an answer whose strings are looked through; the protocol has about eight."""
_MOST_TOKENS = 10**9
"""A higher number is no count of one call's tokens."""
_SHOWN = 40
"""Characters of a wrong value that a message repeats."""


class BadAnswerError(Exception):
    """An answer breaks the protocol; the message says what it is instead."""

    kind = "malformed"


def parse_answer(content: bytes, secret: Secret) -> Any:
    """The JSON of a good answer, without the key.

    Raises:
        BadAnswerError: It is no JSON, or none that can be kept.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadAnswerError("no text in UTF-8") from None
    body = _loaded(text)
    # A string holds half a pair only where an escape wrote it: UTF-8 has none.
    if "\\ud" in text or "\\uD" in text or secret.may_be_in(text):
        return cleaned(body, secret.scrubbed_answer)
    return body


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise BadAnswerError("nested too deeply") from None
    except ValueError:
        begins = text[:200].lstrip()
        if begins.startswith("<"):
            raise BadAnswerError("a web page: does base_url end in /v1?") from None
        if begins.startswith(("data:", "event:")):
            raise BadAnswerError("a stream of events, which was not asked for") from None
        raise BadAnswerError("no whole JSON") from None


def cleaned(value: Any, scrub: Callable[[str], str], depth: int = 0) -> Any:
    """JSON whose strings, names included, went through a function.

    Raises:
        BadAnswerError: A string cannot be written as UTF-8, or it is nested too deeply.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadAnswerError("text with half of a character (a lone surrogate)") from None
        return scrub(value)
    if not isinstance(value, dict | list):
        return value
    if depth == _DEEPEST:
        raise BadAnswerError("nested too deeply")
    if isinstance(value, list):
        return [cleaned(one, scrub, depth + 1) for one in value]
    return {cleaned(name, scrub): cleaned(one, scrub, depth + 1) for name, one in value.items()}


def only_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one choice that was asked for.

    Raises:
        BadAnswerError: There is none, there are several, or it is called another one.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise BadAnswerError("the answer holds no choices")
    if len(choices) > 1:
        raise BadAnswerError(f"the answer holds {len(choices):,} choices where one was asked for")
    index = choices[0].get("index")
    if index is not None and (index != 0 or isinstance(index, bool)):
        raise BadAnswerError(f"the answer's only choice is called number {shown(index)}, not 0")
    return choices[0]


def number_of(value: Any) -> float | None:
    """A number out of JSON, infinite where it is too large; None: it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def read_count(value: Any) -> int | None:
    """A number of tokens; None for what can be none."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and 0 <= value <= _MOST_TOKENS else None


def shown(value: Any) -> str:
    """A wrong value in a message: its kind where it has parts, else the beginning of it."""
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and not -(10**_SHOWN) < value < 10**_SHOWN:
        return "a number of many digits"
    written = repr(value)
    return written if len(written) <= _SHOWN else written[: _SHOWN - 1] + "…"
