"""Means of several columns of the same documents: each with its interval, and how far they differ.

Columns are positions of an answer or orders of options; documents vary by cluster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tenbin.statistics.intervals import Estimate, mean_estimate, t_interval, wilson_interval
from tenbin.statistics.measured import number_clusters
from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_TAIL = 0.025
_STEPS = 26
"""Of a bisection: to seven digits."""
_MOST_TERMS = 100.0
"""Noncentrality up to which an F distribution is summed; above it, an approximation is as good."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the means of columns lie apart: their standard deviation."""

    deviation: float
    """Without what chance adds; 0 where they lie no farther apart than by chance."""
    low: float | None
    """The ends of its 95 % interval; None with fewer than two clusters."""
    high: float | None
    p_value: float | None
    """Of columns whose means are all alike."""


def share_estimate(values: Array, clusters: Sequence[str | None]) -> Estimate:
    """The mean of values from 0 to 1, of which many may lie between.

    Near 0 and 1 few documents vary, and a sample of them often varies too little. So the effective
    number of documents is taken with two more, one right and one wrong in all orders; it is the
    usual one where all values are 0 or 1.
    """
    found = _mean(values, clusters, top=1.0)
    if found.stderr is None or found.value is None or not ((values > 0) & (values < 1)).any():
        return found
    more = _with_two(values, clusters, (1.0, 0.0))
    assert more.value is not None and more.stderr is not None
    size = more.value * (1 - more.value) / more.stderr**2
    stderr = math.sqrt(found.value * (1 - found.value) / size)
    low, high = wilson_interval(found.value, stderr, found.clusters, found.clusters - 1)
    return replace(found, low=low, high=high)


def difference_estimate(steps: Array, clusters: Sequence[str | None]) -> Estimate:
    """The mean of paired differences from -1 to 1, as `paired` has it for right and wrong."""
    found = _mean(steps, clusters)
    if found.stderr is None or found.value is None:
        return found
    more = _with_two(steps, clusters, (1.0, -1.0))
    assert more.value is not None and more.stderr is not None
    low, high = t_interval(more.value, more.stderr, found.clusters - 1)
    return replace(found, low=min(low, found.value), high=max(high, found.value))


def _mean(values: Array, clusters: Sequence[str | None], top: float | None = None) -> Estimate:
    value, influence = column_means(values[:, None], None, clusters)
    return mean_estimate(float(value[0]), [influence[:, 0]], len(values), top)


def _with_two(values: Array, clusters: Sequence[str | None], two: tuple[float, float]) -> Estimate:
    """The mean with two more documents, each a cluster of its own."""
    import numpy as np

    return _mean(np.concatenate([values, two]), [*clusters, None, None])


def column_means(
    values: Array, counted: Array | None, clusters: Sequence[str | None]
) -> tuple[Array, Array]:
    """Means of columns, and how much each cluster moves them: clusters × columns.

    Args:
        values: Documents × columns.
        counted: 1 where a value counts, else 0; None: all do.
        clusters: The cluster of each document.
    """
    import numpy as np

    weights = np.ones_like(values) if counted is None else counted
    sums = weights.sum(axis=0)
    means: Array = (weights * values).sum(axis=0) / sums
    numbers = np.array(number_clusters(clusters), dtype=np.intp)
    moved = np.zeros((int(numbers.max()) + 1, values.shape[1]))
    np.add.at(moved, numbers, weights * (values - means) / sums)
    return means, moved


def column_spread(means: Array, moved: Array) -> Spread:
    """How far means lie apart, beyond chance.

    The sum of squared deviations, over what chance alone gives, is nearly F distributed, with
    degrees of freedom for columns that do not vary alike (Box); the interval holds the true
    deviations for which the observed one would not be surprising.
    """
    import numpy as np

    count, clusters = len(means), len(moved)
    squares = float(((means - means.mean()) ** 2).sum())
    if clusters < 2 or count < 2:
        return Spread(math.sqrt(squares / count), None, None, None)
    own = moved - moved.mean(axis=1, keepdims=True)
    covariance = clusters / (clusters - 1) * own.T @ own
    by_chance, square = float(np.trace(covariance)), float((covariance**2).sum())
    if by_chance < 1e-24:
        deviation = math.sqrt(squares / count)
        return Spread(deviation, deviation, deviation, 1.0 if squares < 1e-24 else 0.0)
    scale, freedom = square / by_chance, by_chance**2 / square
    f, below = squares / by_chance, freedom * (clusters - 1)

    def deviation_of(value: float) -> float:
        return math.sqrt(max(value, 0.0) / count)

    return Spread(
        deviation_of(squares - by_chance),
        deviation_of(scale * _noncentrality(f, freedom, below, 1 - _TAIL)),
        deviation_of(scale * _noncentrality(f, freedom, below, _TAIL)),
        float(special().fdtrc(freedom, below, f)),
    )


def _noncentrality(f: float, freedom: float, below: float, share: float) -> float:
    """The noncentrality at which this share of an F distribution lies below f; 0 if there is none.

    Args:
        f: What was observed.
        freedom: Degrees of freedom of the numerator.
        below: Degrees of freedom of the denominator.
        share: Between 0 and 1.
    """
    if noncentral_f(f, freedom, below, 0.0) <= share:
        return 0.0
    low, high = 0.0, freedom * f + 1.0
    while noncentral_f(f, freedom, below, high) > share:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if noncentral_f(f, freedom, below, middle) > share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def noncentral_f(f: float, freedom: float, below: float, noncentrality: float) -> float:
    """The share of a noncentral F distribution that lies below f.

    scipy's own gives no number for some large values.
    """
    import numpy as np

    functions = special()
    if noncentrality > _MOST_TERMS:
        # Patnaik (1949): the numerator as a multiple of a chi-square with more degrees of freedom.
        mean = freedom + noncentrality
        more = mean**2 / (freedom + 2 * noncentrality)
        return float(functions.fdtr(more, below, f * freedom / mean))
    half = noncentrality / 2
    terms = np.arange(0.0, half + 9 * math.sqrt(half) + 15)
    weights = functions.pdtr(terms, half) - np.append(0.0, functions.pdtr(terms[:-1], half))
    at = freedom * f / (freedom * f + below)
    return float(weights @ functions.betainc(freedom / 2 + terms, below / 2, at))
