"""Checks answers for log-probabilities that are not finite, which become failures.

NaN and infinities come from damaged weights and from overflow in float16. Compared with other
numbers they still give an order, so an answer that holds one would be scored like any other.
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
    """The model gives no finite log-probabilities for the probe's sequences."""


def broken_model(seen: str) -> NotFiniteError:
    """Return the error of a model that cannot be evaluated.

    Args:
        seen: What it gave.
    """
    return NotFiniteError(
        f"the model gives log-probabilities that are not finite: {seen}; no document was asked",
        REMEDY,
    )


def not_finite(value: Any, source: str = "the model") -> Failure:
    """Return the failure of one request.

    Args:
        value: What came instead of a log-probability.
        source: Who gave it.
    """
    # Few different messages: results count failures by them.
    return Failure(NOT_FINITE, f"{source} gives {_named(value)} as a log-probability; {REMEDY}")


def is_finite(value: Any) -> bool:
    """Whether something is a finite number; anything that is not a number is not."""
    try:
        return math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def summed(values: Iterable[float]) -> float:
    """Return the sum of log-probabilities in double precision; NaN if infinities cancel."""
    try:
        return math.fsum(values)
    except (ValueError, OverflowError):
        return math.nan


def finite_only(response: Response) -> Response:
    """Return the same answer, or a Failure if it holds a log-probability that is not finite."""
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
