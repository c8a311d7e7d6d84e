"""A score with its standard error and its 95 % interval.

Means get analytic errors that are valid for clustered documents; other scores are resampled by
cluster. The kinds of interval were chosen by simulated coverage, see docs/statistics.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.bootstrap import LEVEL, Bootstrap, Resampling, bootstrap
from tenbin.statistics.corpus import corpus_score
from tenbin.statistics.measured import Measured, number_clusters
from tenbin.statistics.score_interval import (
    ScoreInterval,
    effective_sizes,
    expected_variances,
)
from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its standard error and interval."""

    value: float | None
    """None when nothing was scored, or where the score is out of the range of a float."""
    stderr: float | None
    """None when there are fewer than two clusters."""
    low: float | None
    """The ends of the 95 % interval; None where they cannot be determined."""
    high: float | None
    n: int
    """Documents."""
    clusters: int
    """Independent units among them."""
    method: str
    """Of the interval: `wilson`, `t`, `bca`, `percentile`, or `none` where a function of all
    documents does not show it."""

    @property
    def stderr_method(self) -> str:
        """`analytic`, `bootstrap` or `none`."""
        if self.method in ("bca", "percentile"):
            return "bootstrap"
        return "none" if self.method == "none" else "analytic"


@dataclass(frozen=True, slots=True)
class FunctionEstimate(Estimate):
    """A number that a function of all documents gives."""

    notice: str = ""
    """Why there is no value or no interval."""


def estimate(found: Measured, seed: int = 0, top: float | None = 1.0) -> Estimate:
    """The score of measured documents with its error.

    Args:
        found: The documents.
        seed: Makes the bootstrap repeatable.
        top: The highest value a document can have where values run from 0 to it; None where they
            have no such bounds.
    """
    if found.aggregate is not None:
        return _of_function(found, seed)
    rows = found.cluster_sums()
    n, clusters = len(found.documents), len(rows)
    if found.parts:
        return _of_shares(found, rows, top)
    if not found.linear:
        if n == 0:
            return Estimate(None, None, None, None, 0, 0, "bca")
        if found.aggregation == "balanced_acc" and clusters == n:
            return _balanced(found)
        drawn = bootstrap(Resampling(rows, found.score), seed)
        return bootstrap_estimate(found.value, drawn, n, clusters)
    if n == 0:
        return Estimate(None, None, None, None, 0, 0, "t" if top is None else "wilson")
    value = found.value
    influence = (rows[:, 0] - value * rows[:, 1]) / n
    bounded = within(found.values, top)
    return mean_estimate(value, [influence], n, top if bounded else None)


def _balanced(found: Measured) -> Estimate:
    """A balanced accuracy of independent documents: the plain mean of its classes' recalls.

    Where a small class is nearly all right, resamples of it vary too little.
    """
    import numpy as np

    matrix = found.features.sum(axis=0)
    size = round(len(matrix) ** 0.5)
    counts = matrix.reshape(size, size).sum(axis=1)
    present = counts > 0
    counts, recalls = counts[present], matrix[:: size + 1][present] / counts[present]
    n, value = len(found.documents), found.value
    if n < 2:
        return Estimate(value, None, None, None, n, n, "wilson")
    # One document says nothing about its class: the interval is then nearly all of it.
    degrees = np.maximum(counts - 1, 1)
    variances = recalls * (1 - recalls) / degrees
    weights = np.full(len(counts), 1 / len(counts))
    sizes = effective_sizes(recalls, variances, counts)
    expected = weights**2 * expected_variances(recalls, sizes)
    freedom = float(expected.sum() ** 2 / (expected**2 / degrees).sum())
    interval = ScoreInterval(weights, sizes, np.eye(len(counts)), t_quantile(freedom))
    low, high = interval.ends(recalls)
    stderr = float(np.sqrt(variances.sum())) / len(counts)
    return Estimate(value, stderr, low, high, n, n, "wilson")


def _of_shares(found: Measured, rows: Array, top: float | None) -> Estimate:
    """The share of pooled parts: a ratio of sums, whose error is linearised over clusters.

    The parts of one document are not independent of each other; documents are.
    """
    value = found.value
    influence = (rows[:, 0] - value * rows[:, 1]) / rows[:, 1].sum()
    bounded = within(found.values, top)
    return mean_estimate(value, [influence], len(found.documents), top if bounded else None)


def _of_function(found: Measured, seed: int) -> FunctionEstimate:
    """What a function of all documents gives, with a percentile interval of resamples."""
    score = corpus_score(found, seed)
    return FunctionEstimate(
        score.value,
        score.stderr,
        score.low,
        score.high,
        len(found.documents),
        len(set(number_clusters(found.clusters))),
        "none" if score.stderr is None else "percentile",
        score.notice,
    )


def bootstrap_estimate(value: float, drawn: Bootstrap | None, n: int, clusters: int) -> Estimate:
    """A score with what resampling says of it."""
    known = value if math.isfinite(value) else None
    if drawn is None or known is None:
        return Estimate(known, None, None, None, n, clusters, "bca")
    return Estimate(known, drawn.stderr, drawn.low, drawn.high, n, clusters, "bca")


def within(values: Array, top: float | None) -> bool:
    """Whether all values lie between 0 and the highest there can be."""
    return top is not None and bool(((values >= 0) & (values <= top)).all())


def mean_estimate(
    value: float, influences: list[Array], n: int, top: float | None = None
) -> Estimate:
    """A mean with its error, from the influence of each cluster.

    Args:
        value: The mean.
        influences: Strata × clusters: each cluster's share of the deviation, summing to 0 in each
            stratum. The variance is Σ over strata of G/(G-1) times the sum of squares.
        n: Documents.
        top: The highest value there can be where values run from 0 to it; else None.
    """
    clusters = sum(len(one) for one in influences)
    method = "t" if top is None else "wilson"
    if any(len(one) < 2 for one in influences):
        return Estimate(value, None, None, None, n, clusters, method)
    stderr = math.sqrt(
        math.fsum(len(one) / (len(one) - 1) * float((one**2).sum()) for one in influences)
    )
    if stderr < 1e-12 * max(1.0, abs(value)):
        stderr = 0.0
    degrees = clusters - len(influences)
    low, high = (
        t_interval(value, stderr, degrees)
        if top is None
        else wilson_interval(value, stderr, clusters, degrees, top)
    )
    return Estimate(value, stderr, low, high, n, clusters, method)


def t_interval(
    value: float, stderr: float, degrees: float, level: float = LEVEL
) -> tuple[float, float]:
    """The t interval around the value."""
    reach = t_quantile(degrees, level) * stderr
    return value - reach, value + reach


def wilson_interval(
    value: float, stderr: float, clusters: int, degrees: int, top: float = 1.0
) -> tuple[float, float]:
    """Wilson's interval with the effective number of independent documents.

    Near 0 and near the top, values vary less than they would a little farther inside, so an
    interval from the observed error is too short on the inner side. Without any variation (all
    right, all wrong) each cluster counts as one document.
    """
    share = value / top
    if stderr > 0 and 0 < share < 1:
        effective = share * (1 - share) / (stderr / top) ** 2
    else:
        effective = float(clusters)
    square = t_quantile(degrees) ** 2 / effective
    centre = (share + square / 2) / (1 + square)
    reach = math.sqrt(square * max(share * (1 - share), 0.0) + square**2 / 4) / (1 + square)
    return max(centre - reach, 0.0) * top, min(centre + reach, 1.0) * top


def t_quantile(degrees: float, level: float = LEVEL) -> float:
    """The factor of the standard error in a two-sided t interval."""
    return t_point((1 + level) / 2, degrees)


def t_point(share: float, degrees: float) -> float:
    """The quantile of a t distribution."""
    return float(special().stdtrit(degrees, share))
