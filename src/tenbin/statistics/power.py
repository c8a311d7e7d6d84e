"""Power: differences that a score or a comparison of given precision detects, and the documents
that a difference needs.

For right or wrong answers it is the power of the exact test of McNemar, which depends on how many
documents only one of two runs answers right: the discordance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tenbin.statistics.intervals import Estimate, t_point, t_quantile
from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tenbin.statistics.paired import Comparison

    Array = NDArray[np.float64]

POWER = 0.8
LEVEL = 0.05
CORRELATIONS = (0.2, 0.5, 0.8)
"""Between two runs on one document, where only one of them is known: unlike models, usual ones, and
two versions of one model."""
CORRELATION = 0.5
"""The one of them that stands for all where a single number is given."""
FEWEST = 5
"""Clusters: with fewer, the interval spans the whole scale, and its width says nothing."""
TOO_FEW = "too few documents"
"""The reason that stands where there is no interval because of that."""
_COUNTED = 100
"""Expected discordant documents up to which the power of the exact test is summed up; above, the
normal approximation with a continuity correction differs by less than half a point."""


@dataclass(frozen=True, slots=True)
class Detectable:
    """Differences that a test at 5 % finds with 80 % power."""

    half_width: float
    """Of the score's own 95 % interval."""
    unpaired: float
    """Between two runs of this precision on other documents."""
    paired: Mapping[float, float | None]
    """Between two runs on the same documents, for each of `CORRELATIONS`; None where a test of so
    few documents finds nothing."""


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


def detectable(found: Estimate, top: float | None = 1.0) -> Detectable | None:
    """Differences that a run of this precision can detect; None where that is unknown.

    Between other documents it is based on the interval's width rather than on the standard error,
    which is 0 where all documents are right. On the same documents it is the power of the exact
    test for right or wrong answers, with as many independent documents as the score's error says.

    Args:
        found: The score.
        top: The highest value of a document where values run from 0 to it; None without bounds.
    """
    if found.low is None or found.high is None or found.value is None or found.clusters < FEWEST:
        return None
    half = (found.high - found.low) / 2
    degrees = found.clusters - 1
    stderr = half / t_quantile(degrees)
    unpaired = detectable_difference(2**0.5 * stderr, 2 * degrees)
    if top is None or found.method != "wilson":
        return Detectable(
            half,
            unpaired,
            {
                correlation: detectable_difference((2 * (1 - correlation)) ** 0.5 * stderr, degrees)
                for correlation in CORRELATIONS
            },
        )
    share = found.value / top
    documents = effective_documents(share, (found.stderr or 0.0) / top, found.clusters)
    paired = {
        correlation: paired_difference(documents, share, correlation)
        for correlation in CORRELATIONS
    }
    return Detectable(
        half, unpaired, {of: None if step is None else step * top for of, step in paired.items()}
    )


def effective_documents(share: float, stderr: float, clusters: int) -> int:
    """Independent right or wrong documents with the same error; where it is 0, the clusters."""
    if stderr <= 0 or not 0 < share < 1:
        return clusters
    return max(1, round(share * (1 - share) / stderr**2))


def paired_difference(
    documents: int, share: float, correlation: float, level: float = LEVEL, power: float = POWER
) -> float | None:
    """The smallest difference that is found between a run with this score and another one.

    Args:
        documents: Independent ones that both runs answer.
        share: The known run's score, from 0 to 1.
        correlation: Between the two runs, over documents.
        level: Of the two-sided test.
        power: How often a difference of this size is found.
    """
    # Where few are wrong, a better run hardly differs: shares near 0 and 1 are taken one document
    # further inside.
    share = (share * documents + 1) / (documents + 2)
    return smallest_difference(
        documents, lambda step: expected_discordance(share, step, correlation), level, power
    )


def expected_discordance(share: float, step: float, correlation: float) -> float:
    """The share of documents that one of two runs answers right and the other does not.

    Args:
        share: The score of one run.
        step: How far the other's is from it; the direction with more discordance is taken.
        correlation: Between the two runs, over documents; at most what the scores allow.
    """
    found = [step]
    for other in (share - step, share + step):
        if 0 <= other <= 1:
            spread = math.sqrt(share * (1 - share) * other * (1 - other))
            apart = share * (1 - other) + other * (1 - share)
            found.append(apart - 2 * correlation * spread)
    return min(1.0, max(found))


def smallest_difference(
    documents: int,
    discordance: Callable[[float], float],
    level: float = LEVEL,
    power: float = POWER,
) -> float | None:
    """The smallest difference of two scores that the exact test finds with this power.

    Args:
        documents: Independent ones.
        discordance: From a difference to the share of discordant documents; never below it.
        level: Of the two-sided test.
        power: How often a difference of this size is found.

    Returns:
        Between 0 and 1; None where a test of so few documents never finds anything.
    """
    if not _is_found(documents, 1.0, 1.0, level, power):
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        if _is_found(documents, discordance(middle), middle, level, power):
            high = middle
        else:
            low = middle
    return high


def documents_for(
    difference: float, discordance: float, level: float = LEVEL, power: float = POWER
) -> int:
    """Independent documents on which the exact test finds a difference with this power.

    Args:
        difference: Of the two scores, from 0 to 1, above 0.
        discordance: The share of documents that only one of the runs answers right.
        level: Of the two-sided test.
        power: How often the difference is found.
    """
    discordance = max(discordance, difference)
    reach, short = _normal_points(level, power)
    # nx = 1 + z·√(nd) + z'·√(n(d - x²)), a quadratic equation in √n.
    slope = reach * math.sqrt(discordance) + short * math.sqrt(discordance - difference**2)
    root = (slope + math.sqrt(slope**2 + 4 * difference)) / (2 * difference)
    high = math.ceil(root**2)
    if high * discordance > _COUNTED:
        return high
    while not _is_found(high, discordance, difference, level, power):
        high += 1
    while high > 1 and _is_found(high - 1, discordance, difference, level, power):
        high -= 1
    return high


def _is_found(
    documents: int, discordance: float, difference: float, level: float, power: float
) -> bool:
    discordance = max(discordance, difference)
    if documents * discordance <= _COUNTED:
        return mcnemar_power(documents, discordance, difference, level) >= power
    reach, short = _normal_points(level, power)
    needed = reach * math.sqrt(documents * discordance)
    needed += short * math.sqrt(documents * max(0.0, discordance - difference**2))
    return documents * difference - 1 >= needed


def _normal_points(level: float, power: float) -> tuple[float, float]:
    ndtri = special().ndtri
    return float(ndtri(1 - level / 2)), float(ndtri(power))


def mcnemar_power(
    documents: int, discordance: float, difference: float, level: float = LEVEL
) -> float:
    """How often McNemar's exact two-sided test rejects.

    Args:
        documents: Independent ones.
        discordance: The share of documents that only one side answers right.
        difference: The true difference of the two scores, at most the discordance.
        level: Of the test.
    """
    import numpy as np

    bdtr, gammaln = special().bdtr, special().gammaln
    if difference <= 0 or discordance <= 0:
        return 0.0
    mean = documents * min(discordance, 1.0)
    reach = 6 * math.sqrt(mean) + 6
    counts = np.arange(max(1, int(mean - reach)), min(documents, int(mean + reach)) + 1)
    share = min(discordance, 1.0 - 1e-12)
    likely = np.exp(
        gammaln(documents + 1.0) - gammaln(counts + 1.0) - gammaln(documents - counts + 1.0)
        + counts * math.log(share) + (documents - counts) * math.log1p(-share)
    )  # fmt: skip
    few = _critical_counts(level, 1 << max(8, int(counts[-1]).bit_length()))[counts]
    won = min(1.0, (1 + difference / discordance) / 2)
    found = bdtr(few, counts, 1 - won) + bdtr(few, counts, won)
    return float(likely @ np.where(few >= 0, found, 0.0))


@lru_cache(maxsize=64)
def _critical_counts(level: float, size: int) -> Array:
    """By the number of discordant documents, the largest number of the rarer kind at which the test
    rejects; -1 where it never does."""
    import numpy as np

    bdtr, bdtrik = special().bdtr, special().bdtrik
    counts = np.arange(1, size)
    few = np.floor(np.maximum(bdtrik(level / 2, counts, 0.5), 0.0))
    few += bdtr(few + 1, counts, 0.5) * 2 < level
    few -= bdtr(few, counts, 0.5) * 2 >= level
    return np.concatenate([[-1.0], few])


def detectable_difference(stderr: float, degrees: int, level: float = LEVEL) -> float:
    """The difference that a two-sided t test finds with 80 % power.

    Args:
        stderr: Of the difference.
        degrees: Clusters less one (paired), or of both sides together (unpaired).
        level: Of the test.
    """
    return (t_quantile(degrees, 1 - level) + t_point(POWER, degrees)) * stderr


def documents_needed(
    difference: float,
    stderr: float | None,
    documents: int,
    tests: int = 1,
    power: float = POWER,
) -> int | None:
    """Documents on which a difference would be found, if it is the true one.

    Args:
        difference: As observed.
        stderr: Its error on `documents` documents; None where it is not known.
        documents: How many there were.
        tests: That share the level of 5 %.
        power: How often it would be found.

    Returns:
        Two digits of the number, rounded up; None without a difference, or without an error.
    """
    if not difference or not stderr:
        return None
    wanted = float(special().ndtri(1 - LEVEL / 2 / tests) + special().ndtri(power))
    number = documents * (wanted * stderr / difference) ** 2
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return math.ceil(number / unit) * unit
