"""An answer as the text that the journal keeps, and back: every field is checked when it is read.

A text that is not exactly what `encode` writes is an
error, never an answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any, NoReturn, TypeAlias, get_args

from tenbin.errors import BackendError
from tenbin.records import Finish, Picked, Response, Rolled, Scores, Text, ThinkingEnd, Usage

Check: TypeAlias = Callable[[Any], bool]

_LARGEST = 1 << 62


class PayloadError(ValueError):
    """A stored answer is not one that was written by `encode`."""


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_number(value: Any) -> bool:
    return type(value) in (float, int) and math.isfinite(value)


def _is_number_or_none(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_usage(value: Any) -> bool:
    return value is None or type(value) is Usage


def _list_of(check: Check) -> Check:
    return lambda value: type(value) is tuple and all(map(check, value))


def _one_of(*known: str) -> Check:
    return lambda value: type(value) is str and value in known


_CHECKS: dict[type, dict[str, Check]] = {
    Scores: {
        "logprobs": _list_of(_is_number),
        "token_counts": _list_of(_is_count),
        "greedy": _list_of(_is_flag),
        "truncated": _is_count,
        "usage": _is_usage,
    },
    Picked: {
        "choice": lambda value: value is None or _is_count(value),
        "way": _one_of("letter_logprobs", "generated"),
        "text": _is_text,
        "logprobs": _list_of(_is_number_or_none),
        "usage": _is_usage,
        "labels": _list_of(_is_text),
        "added": _is_text,
    },
    Text: {
        "text": _is_text,
        "finish": _one_of(*get_args(Finish)),
        "token_count": _is_count,
        "truncated": _is_count,
        "thinking": _is_text,
        "thinking_tokens": _is_count,
        "thinking_end": _one_of(*get_args(ThinkingEnd)),
        "usage": _is_usage,
    },
    Rolled: {"logprob": _is_number, "token_count": _is_count, "usage": _is_usage},
    Usage: {
        "prompt_tokens": _is_count,
        "completion_tokens": _is_count,
        "cached_tokens": _is_count,
        "calls": _is_count,
    },
}
_KINDS: dict[str, type] = {"scores": Scores, "picked": Picked, "text": Text, "rolled": Rolled}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_REQUIRED = {
    kind: {field.name for field in fields(kind) if field.default is MISSING} for kind in _CHECKS
}


def _refuse_constant(name: str) -> NoReturn:
    raise PayloadError(f"{name} is not a finite number")


# Made once: `json.dumps` and `json.loads` make them anew for every call that is not plain.
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)
_READER = json.JSONDecoder(parse_constant=_refuse_constant)


def encode(response: Response) -> tuple[str, str]:
    """The kind and the payload of an answer.

    Raises:
        BackendError: It holds a number that is not finite.
    """
    kind = type(response)
    values = {name: getattr(response, name) for name in _CHECKS[kind]}
    if values["usage"] is not None:
        values["usage"] = asdict(values["usage"])
    try:
        payload = _WRITER.encode(values)
    except ValueError as error:
        raise BackendError(
            f"an answer holds a number that is not finite: {response!r:.200}",
            "the model computes NaN or infinity: check its weights and dtype",
        ) from error
    if not _is_encodable(payload):
        payload = json.dumps(values, allow_nan=False)  # \ud83d as six characters
    return _NAMES[kind], payload


def decode(kind: str, payload: str) -> Response:
    """The answer that was encoded.

    Raises:
        PayloadError: It is not one, or a field has another type than the record says.
    """
    try:
        values = _READER.decode(payload)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"no JSON: {error}") from error
    if kind not in _KINDS or type(values) is not dict:
        raise PayloadError(f"no answer of kind {kind!r:.40}")
    usage = values.get("usage")
    if type(usage) is dict:
        values["usage"] = _build(Usage, usage)
    answer: Response = _build(_KINDS[kind], values)
    if isinstance(answer, Scores) and not (
        len(answer.logprobs) == len(answer.token_counts) == len(answer.greedy)
    ):
        raise PayloadError("its lists have different lengths")
    return answer


def _build(kind: type, values: Mapping[str, Any]) -> Any:
    checks = _CHECKS[kind]
    given: dict[str, Any] = {}
    for name, value in values.items():
        kept = tuple(value) if type(value) is list else value
        if name not in checks or not checks[name](kept):
            raise PayloadError(f"{name!r:.40} of {kind.__name__} is {kept!r:.60}")
        given[name] = kept
    if not given.keys() >= _REQUIRED[kind]:
        raise PayloadError(f"{kind.__name__} lacks {sorted(_REQUIRED[kind] - given.keys())}")
    return kind(**given)


def _is_encodable(text: str) -> bool:
    """Whether SQLite can take it: half of a surrogate pair is text in Python and not in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
