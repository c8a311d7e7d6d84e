"""Runs that stop early: widths of intervals, group-sequential tests, confidence sequences.

An ordinary 95 % interval holds for a number of documents that was fixed beforehand. Three things
hold for runs that look at their scores on the way:

- a run that stops on the *width* of its interval, at few fixed moments, keeps its coverage;
- a comparison that stops on its *value* needs the higher boundaries of a group-sequential test;
- an interval that may be read at any moment must be a confidence sequence.

docs/statistics.md has the simulations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tenbin.statistics.intervals import mean_estimate, wilson_interval
from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LOOKS = 5
"""Looks of a group-sequential comparison."""
LEVEL = 0.05
FEWEST_CLUSTERS = 30
"""With fewer clusters a width is no reason to stop: it varies too much itself."""
FEWEST_PER_LOOK = 10
"""Clusters that each look of a comparison must add at least."""

_SMALLEST_BLOCK = 50
_BLOCKS = 10
"""Blocks up to the documents that a target takes at a score of 50 %."""
_GRID = 401


def documents_for_width(half: float, share: float = 0.5) -> int:
    """Independent documents after which Wilson's interval is no wider than a target.

    Args:
        half: Half of the interval's width, above 0, on the scale from 0 to 1.
        share: The score, on the same scale; at 0.5 most documents are needed.
    """
    low, high = 1, 2
    while _half_width(share, high) > half:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _half_width(share, middle) > half else (low, middle)
    return high


def _half_width(share: float, documents: int) -> float:
    if documents < 2:
        return 1.0
    stderr = math.sqrt(share * (1 - share) / (documents - 1))
    low, high = wilson_interval(share, stderr, documents, documents - 1)
    return (high - low) / 2


def width_of(documents: int, share: float = 0.5) -> float:
    """Half of the width that Wilson's interval has with so many independent documents."""
    return _half_width(share, documents)


def block_size(half: float) -> int:
    """Documents asked between two looks at an interval's width.

    A tenth of what the target takes at a score of 50 %: few looks, and large blocks, in which
    prompts share their prefixes.
    """
    return max(_SMALLEST_BLOCK, math.ceil(documents_for_width(half) / _BLOCKS))


@lru_cache(maxsize=64)
def boundaries(looks: int = LOOKS, level: float = LEVEL) -> tuple[float, ...]:
    """O'Brien and Fleming's boundaries: |z| that decides at each of equally spaced looks.

    Args:
        looks: How many there are.
        level: Probability that z crosses any of them where there is no difference.
    """
    low, high = 1.0, 6.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if _crossing(middle, looks) > level else (low, middle)
    return tuple(high * math.sqrt(looks / look) for look in range(1, looks + 1))


def _crossing(limit: float, looks: int) -> float:
    """Probability that a random walk of `looks` normal steps leaves ±limit·√looks at any step.

    The density of walks that are still inside is carried from step to step on a grid.
    """
    import numpy as np

    edge = limit * math.sqrt(looks)
    places = np.linspace(-edge, edge, _GRID)
    weights = np.full(_GRID, places[1] - places[0])
    weights[[0, -1]] /= 2
    step = np.exp(-((places[:, None] - places[None, :]) ** 2) / 2) / math.sqrt(2 * math.pi)
    inside = np.exp(-(places**2) / 2) / math.sqrt(2 * math.pi)
    for _ in range(looks - 1):
        inside = step @ (weights * inside)
    return float(1 - (weights * inside).sum())


@dataclass(frozen=True, slots=True)
class Look:
    """What a comparison shows at one of its looks."""

    n: int
    """Documents that both sides scored."""
    clusters: int
    difference: float
    """This side minus the other."""
    stderr: float
    z: float
    boundary: float
    """|z| that decides at this look."""
    low: float
    """The repeated confidence interval: it holds at all looks together, so also at the stop."""
    high: float

    @property
    def decides(self) -> bool:
        """Whether the difference is decided."""
        return abs(self.z) >= self.boundary


def look_at(steps: Array, sizes: Array, boundary: float, top: float = 1.0) -> Look:
    """One look at a paired difference of means.

    Args:
        steps: Summed differences of each cluster's documents; two clusters at least.
        sizes: Documents of each cluster.
        boundary: |z| that decides at this look.
        top: The largest difference of a document.
    """
    n = int(sizes.sum())
    mean = float(steps.sum() / n)
    found = mean_estimate(mean, [(steps - mean * sizes) / n], n)
    stderr = found.stderr or 0.0
    z = _normal_score(mean / stderr, len(steps) - 1) if stderr else math.copysign(1e3, mean)
    # Where all differences are alike, as if one more document were won and one lost.
    reach = boundary * (stderr or math.sqrt(2) * top / n)
    return Look(
        n=n,
        clusters=len(steps),
        difference=mean,
        stderr=stderr,
        z=z if mean else 0.0,
        boundary=boundary,
        low=mean - reach,
        high=mean + reach,
    )


def _normal_score(t: float, degrees: int) -> float:
    """The z that is as extreme as a t with so many degrees of freedom."""
    tail = float(special().stdtr(degrees, -abs(t)))
    z = -float(special().ndtri(tail)) if tail > 0 else abs(t)
    return math.copysign(z, t)


def confidence_sequence(
    total: float, n: int, largest_cluster: int = 1, level: float = LEVEL
) -> tuple[float, float]:
    """An interval of a mean that holds at all times: whoever reads it whenever they like is wrong
    at any time in at most 5 % of runs.

    Documents must come in random order, whole clusters together. For values from 0 to 1,
    ∏ (q/p)^x ((1−q)/(1−p))^(1−x) is a martingale at most where p is the mean. It is averaged over q
    with a Beta(½, ½) density; by Ville's inequality it exceeds 1/level at any time with at most
    that probability. With clusters the power 1/(largest cluster) of it is taken, which holds
    however documents of one cluster depend on each other.

    Args:
        total: Sum of the values.
        n: Documents.
        largest_cluster: Documents of the largest cluster.
        level: One minus the level of the sequence.
    """
    if not n:
        return 0.0, 1.0
    right, wrong = total / largest_cluster, (n - total) / largest_cluster
    averaged = _log_beta(right + 0.5, wrong + 0.5) - _log_beta(0.5, 0.5)
    share = min(max(total / n, 0.0), 1.0)

    def inside(p: float) -> bool:
        said = (right * math.log(p) if right else 0.0) + (wrong * math.log1p(-p) if wrong else 0.0)
        return averaged - said < math.log(1 / level)

    def end(outer: float) -> float:
        inner = share
        for _ in range(50):
            middle = (inner + outer) / 2
            if 0 < middle < 1 and inside(middle):
                inner = middle
            else:
                outer = middle
        return outer

    return end(0.0), end(1.0)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
