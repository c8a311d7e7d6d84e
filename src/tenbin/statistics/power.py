"""Power: the smallest difference that a score of this precision could detect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.intervals import Estimate, t_point, t_quantile

if TYPE_CHECKING:
    from tenbin.statistics.paired import Comparison

POWER = 0.8
LEVEL = 0.05
CORRELATION = 0.5
"""Taken between two models on one document where only one of them is known; see
docs/statistics.md."""
FEWEST = 5
"""Clusters: with fewer, the interval spans the whole scale, and its width says nothing."""
TOO_FEW = "too few documents"
"""The reason that stands where there is no interval because of that."""


@dataclass(frozen=True, slots=True)
class Detectable:
    """Differences that a test at 5 % finds with 80 % power."""

    half_width: float
    """Of the score's own 95 % interval."""
    unpaired: float
    """Between two runs of this precision on other documents."""
    paired: float
    """Between two runs on the same documents, taken as correlated by 0.5."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval as documents show it."""

    low: float | None
    high: float | None
    reason: str | None = None
    """Why it is not shown; None if it is."""


def interval_of(found: Estimate | Comparison) -> Interval:
    """The interval of an estimate; with too few clusters it is withheld, with the reason."""
    if 0 < found.clusters < FEWEST:
        return Interval(None, None, TOO_FEW)
    return Interval(found.low, found.high)


def detectable(found: Estimate) -> Detectable | None:
    """Differences that a run of this precision can detect; None where that is unknown.

    It is based on the interval's width rather than on the standard error, which is 0 where all
    documents are right.
    """
    if found.low is None or found.high is None or found.clusters < FEWEST:
        return None
    half = (found.high - found.low) / 2
    degrees = found.clusters - 1
    stderr = half / t_quantile(degrees)
    return Detectable(
        half,
        detectable_difference(2**0.5 * stderr, 2 * degrees),
        detectable_difference((2 * (1 - CORRELATION)) ** 0.5 * stderr, degrees),
    )


def detectable_difference(stderr: float, degrees: int) -> float:
    """The difference that a two-sided t test at 5 % finds with 80 % power.

    Args:
        stderr: Of the difference.
        degrees: Clusters less one (paired), or of both sides together (unpaired).
    """
    return (t_quantile(degrees) + t_point(POWER, degrees)) * stderr


def documents_needed(
    difference: float, stderr: float | None, documents: int, tests: int = 1
) -> int | None:
    """Documents on which a difference would be found with 80 % power, if it is the true one.

    Args:
        difference: As observed.
        stderr: Its error on `documents` documents; None where it is not known.
        documents: How many there were.
        tests: That share the level of 5 %.

    Returns:
        Two digits of the number, rounded up; None without a difference, or without an error.
    """
    from scipy.special import ndtri  # type: ignore[import-untyped]

    if not difference or not stderr:
        return None
    wanted = float(ndtri(1 - LEVEL / 2 / tests) + ndtri(POWER))
    number = documents * (wanted * stderr / difference) ** 2
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return math.ceil(number / unit) * unit
