"""Log-probabilities that are not finite: how an answer is checked for them, and what is said.

NaN and infinities come from damaged weights and from overflow in short number formats. Compared
with other numbers they still give an order, so an answer that holds one would be judged like any
other; it becomes a Failure instead. Knows answers; knows no model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenbin.errors import BackendError
from tenbin.records import Failure, Picked, Response, Rolled, Scores

NOT_FINITE = "not_finite"
"""The kind of these failures."""

REMEDY = (
    "the checkpoint is damaged, or its numbers overflow in this precision: check the weight files,"
    " and where it runs in float16 try dtype=bfloat16 or dtype=float32"
)


class NotFiniteError(BackendError):
    """The model gives no finite log-probabilities for the texts that it is tried with."""


def broken_model(seen: str) -> NotFiniteError:
    """The error of a model that is not worth asking.

    Args:
        seen: What it gave.
    """
    return NotFiniteError(
        f"the model gives log-probabilities that are not finite: {seen}; no document was asked",
        REMEDY,
    )


def not_finite(value: Any, source: str = "the model") -> Failure:
    """The failure of one request.

    Args:
        value: What came instead of a log-probability.
        source: Who gave it.
    """
    # Few different messages: results count failures by them.
    return Failure(NOT_FINITE, f"{source} gives {_named(value)} as a log-probability; {REMEDY}")


def is_finite(value: Any) -> bool:
    """Whether something is a finite number; what is no number at all is not."""
    try:
        return math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def summed(values: Iterable[float]) -> float:
    """The sum of log-probabilities in double precision; NaN where infinities cancel."""
    try:
        return math.fsum(values)
    except (ValueError, OverflowError):
        return math.nan


def finite_only(response: Response) -> Response:
    """The same answer, or a Failure where it holds a log-probability that is not finite."""
    for value in _logprobs(response):
        if not is_finite(value):
            return not_finite(value, "the backend")
    return response


def _logprobs(response: Response) -> Iterable[Any]:
    if isinstance(response, Scores):
        return response.logprobs
    if isinstance(response, Rolled):
        return (response.logprob,)
    if isinstance(response, Picked):
        # None: a label that is not among those that the server shows.
        return [value for value in response.logprobs if value is not None]
    return ()


def _named(value: Any) -> str:
    try:
        return str(float(value))
    except (TypeError, ValueError, OverflowError):
        return "null" if value is None else f"a {type(value).__name__}"
