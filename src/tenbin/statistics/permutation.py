"""Permutation tests: if neither side is better, the two sides of each cluster are exchangeable.

A cluster is swapped as a whole, so its documents may depend on each other in any way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Whole = NDArray[np.int64]

DRAWS = 9_999
ENUMERATED = 13
"""With at most this many differing clusters, all 2^G permutations are enumerated."""
_AT_ONCE = 10_000_000


def mcnemar(wins: int, losses: int) -> float:
    """The p-value of McNemar's exact two-sided test."""
    from scipy import stats  # type: ignore[import-untyped]

    if wins + losses == 0:
        return 1.0
    return float(stats.binomtest(wins, wins + losses, 0.5).pvalue)


def sign_flip_counts(sums: Whole) -> float:
    """The exact two-sided sign-flip test of clusters whose differences are whole numbers.

    The sum of all differences under random signs is a sum of binomials, one for each size of
    difference; their distributions are convolved.

    Args:
        sums: For each cluster, wins less losses.
    """
    import numpy as np
    from scipy import stats

    sizes, counts = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    spread = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        # Of `count` differences of ±size, k positive ones add up to (2k - count)·size.
        steps = np.zeros(2 * count * size + 1)
        steps[:: 2 * size] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
        spread = np.convolve(spread, steps)
    middle = (len(spread) - 1) // 2
    reached = np.abs(np.arange(len(spread)) - middle) >= abs(int(sums.sum()))
    return min(1.0, float(spread[reached].sum()))


def sign_flip(sums: Array, seed: int, draws: int = DRAWS) -> tuple[float, bool]:
    """The two-sided test of clusters with any differences.

    Args:
        sums: For each cluster, its summed difference.
        seed: Makes the draws repeatable.
        draws: Random ways to flip, where there are too many to go through.

    Returns:
        The p-value, and whether it is exact. A drawn one counts the observed way among the draws,
        so it is never 0 and never too small.
    """

    def distance(flipped: Array) -> Array:
        result: Array = abs(sums.sum() - 2 * (flipped @ sums))
        return result

    return _exchange(sums != 0, distance, seed, draws)


def swap_sides(
    first: Array,
    second: Array,
    scores: tuple[Callable[[Array], Array], Callable[[Array], Array]],
    seed: int,
    draws: int = DRAWS,
) -> tuple[float, bool]:
    """The two-sided test of two scores that are functions of sums over clusters.

    Args:
        first: Clusters × features of one side.
        second: The same clusters and features of the other.
        scores: Of each side, from sums to scores.
        seed: Makes the draws repeatable.
        draws: As for `sign_flip`.
    """
    steps = second - first
    start, end = first.sum(axis=0), second.sum(axis=0)

    def distance(flipped: Array) -> Array:
        moved = flipped @ steps
        result: Array = abs(scores[1](end - moved) - scores[0](start + moved))
        return result

    return _exchange((steps != 0).any(axis=1), distance, seed, draws)


def _exchange(
    differing: NDArray[np.bool_], distance: Callable[[Array], Array], seed: int, draws: int
) -> tuple[float, bool]:
    """The share of permutations at least as far from zero as the observed difference."""
    import numpy as np

    places = np.flatnonzero(differing)
    observed = float(distance(np.zeros((1, len(differing))))[0])
    reached = observed - 1e-9 * max(1.0, observed)
    if len(places) <= ENUMERATED:
        ways = (np.arange(2 ** len(places))[:, None] >> np.arange(len(places))) & 1
        flipped = np.zeros((len(ways), len(differing)))
        flipped[:, places] = ways
        return float((distance(flipped) >= reached).mean()), True
    generator = np.random.default_rng(abs(seed))
    step = max(1, _AT_ONCE // len(differing))
    hits = 0
    for start in range(0, draws, step):
        size = min(step, draws - start)
        flipped = np.zeros((size, len(differing)))
        flipped[:, places] = generator.integers(0, 2, size=(size, len(places)))
        hits += int((distance(flipped) >= reached).sum())
    return (hits + 1) / (draws + 1), False
