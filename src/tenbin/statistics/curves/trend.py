"""Order, noise and agreement of learning curves, from their values alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import median

_FEWEST_STEPS = 3
_MEDIAN_OF_SQUARE = 0.4549364231195724
"""The median of the square of a standard normal number."""


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b of two sequences: 1 if they order all steps alike, -1 if the other way round.

    None for fewer than three steps, or where one sequence does not vary.
    """
    if len(first) < _FEWEST_STEPS:
        return None
    agreed = ties_first = ties_second = pairs = 0
    for one, two in combinations(range(len(first)), 2):
        left = (first[two] > first[one]) - (first[two] < first[one])
        right = (second[two] > second[one]) - (second[two] < second[one])
        agreed += left * right
        ties_first += left == 0
        ties_second += right == 0
        pairs += 1
    scale = math.sqrt((pairs - ties_first) * (pairs - ties_second))
    return agreed / scale if scale else None


def step_noise(steps: Sequence[float], values: Sequence[float]) -> float | None:
    """How far a checkpoint's score lies from a smooth curve, as a standard deviation.

    Each step is compared with the line between its neighbours, over the logarithm of the step, on
    which learning curves bend less. The median of the squared residuals is taken, so that the
    sharp bend of the first steps does not count as noise. It holds both the noise of the training
    and that of the documents. None for fewer than three steps.
    """
    if len(steps) < _FEWEST_STEPS:
        return None
    places = [math.log1p(max(0.0, step)) for step in steps]
    squares = []
    for at in range(1, len(steps) - 1):
        width = places[at + 1] - places[at - 1]
        after = (places[at] - places[at - 1]) / width if width > 0 else 0.5
        residual = values[at] - (1 - after) * values[at - 1] - after * values[at + 1]
        squares.append(residual**2 / (1 + after**2 + (1 - after) ** 2))
    return math.sqrt(median(squares) / _MEDIAN_OF_SQUARE)


def mean_agreement(curves: Sequence[Sequence[float]]) -> float | None:
    """The mean rank correlation of all pairs of curves over the same steps; None without any."""
    found = [rank_correlation(one, two) for one, two in combinations(curves, 2)]
    known = [one for one in found if one is not None]
    return math.fsum(known) / len(known) if known else None
