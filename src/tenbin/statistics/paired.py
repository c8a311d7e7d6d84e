"""Compare two sides on the same documents: difference, interval, test, correction for many tests.

Pairing removes the difficulty of the documents, which both sides share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tenbin.errors import ResultError
from tenbin.statistics.bootstrap import Resampling, bootstrap
from tenbin.statistics.groups import Member, join_members
from tenbin.statistics.intervals import mean_estimate, t_interval, t_quantile
from tenbin.statistics.measured import Measured, number_clusters
from tenbin.statistics.permutation import mcnemar, sign_flip, sign_flip_counts, swap_sides
from tenbin.statistics.power import detectable_difference
from tenbin.statistics.selection import on_shared_documents, widened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """How two sides differ on the documents that both scored: the other minus the baseline."""

    n: int
    clusters: int
    difference: float
    stderr: float | None
    """None when there is one cluster only."""
    low: float | None
    """The 95 % interval of the difference."""
    high: float | None
    interval_method: str
    """`bonett-price`, `t` or `bca`."""
    wins: int
    """Documents on which the other is better."""
    losses: int
    ties: int
    p_value: float
    """Two-sided, of no difference."""
    test: str
    """`mcnemar`, `sign-flip` or `swap`; with `, exact` where no random permutations were used."""
    detectable: float | None
    """The smallest difference that such a comparison finds with 80 % power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(PairedDifference):
    """The difference, with the two scores that it is between."""

    baseline: float
    """The baseline's score on these documents."""
    other: float


def compare(
    baseline: Measured,
    other: Measured,
    seed: int = 0,
    higher_is_better: bool = True,
    top: float | None = 1.0,
) -> Comparison:
    """Compare two sides of one metric on the documents that both scored.

    Args:
        baseline: What is compared against.
        other: What is compared.
        seed: Makes resamples and draws repeatable.
        higher_is_better: Which way a document is won.
        top: The value of a right document where wrong ones have 0; None where there is none.

    Raises:
        ResultError: The sides share no scored document, or are no scores of the same kind.
    """
    if baseline.linear != other.linear:
        raise ResultError("the two sides are scores of different kinds")
    first, second = on_shared_documents([baseline, other])
    if not first.documents:
        raise ResultError(
            "the two sides share no scored document",
            "compare runs of the same data, split and language",
        )
    if first.clusters != second.clusters:
        # Data may differ where the user allows it: what either side joins belongs together.
        numbers = join_members([Member("", first), Member("", second)]).clusters[0]
        joined = tuple(str(number) for number in numbers)
        first, second = replace(first, clusters=joined), replace(second, clusters=joined)
    if not (math.isfinite(first.value) and math.isfinite(second.value)):
        raise ResultError(
            "a score is beyond the range of a float",
            "compare another metric: perplexity per byte instead of per word, for one",
        )
    steps = second.values - first.values
    better = steps if higher_is_better else -steps
    found = _of_means(first, second, seed, top) if first.linear else _of_scores(first, second, seed)
    clusters = max(number_clusters(first.clusters)) + 1
    return Comparison(
        n=len(steps),
        clusters=clusters,
        baseline=first.value,
        other=second.value,
        difference=second.value - first.value,
        stderr=found.stderr,
        low=found.low,
        high=found.high,
        interval_method=found.interval_method,
        wins=int((better > 0).sum()),
        losses=int((better < 0).sum()),
        ties=int((better == 0).sum()),
        p_value=found.p_value,
        test=found.test,
        detectable=_detectable(found, clusters),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values with Holm's correction: the family-wise error rate is at most 5 % at a level of 5 %.

    The smallest is multiplied by their number, the next by one less, and so on; none becomes
    smaller than one before it.
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for passed, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - passed) * p_values[at]))
        corrected[at] = largest
    return corrected


@dataclass(frozen=True, slots=True)
class _Found:
    """What is computed differently for means and for other scores."""

    stderr: float | None
    low: float | None
    high: float | None
    interval_method: str
    p_value: float
    test: str


def _of_means(first: Measured, second: Measured, seed: int, top: float | None) -> _Found:
    """Means of documents: their differences, summed by cluster, are sufficient."""
    import numpy as np

    steps = second.cluster_sums()[:, 0] - first.cluster_sums()[:, 0]
    sizes = first.cluster_sums()[:, 1]
    documents = len(first.documents)
    mean = float(steps.sum() / sizes.sum())
    found = mean_estimate(mean, [(steps - mean * sizes) / sizes.sum()], documents)
    values = np.concatenate([first.values, second.values])
    if top is None or not np.isin(values, (0.0, top)).all():
        p_value, exact = sign_flip(steps, seed)
        test = "sign-flip, exact" if exact else "sign-flip"
        return _Found(found.stderr, found.low, found.high, "t", p_value, test)
    low, high = found.low, found.high
    if found.stderr is not None:
        low, high = _bonett_price(steps / top, sizes)
        low, high = min(low * top, mean), max(high * top, mean)
    whole = np.rint(steps / top).astype(np.int64)
    if len(steps) == documents:
        p_value, test = mcnemar(int((whole > 0).sum()), int((whole < 0).sum())), "mcnemar, exact"
    else:
        p_value, test = sign_flip_counts(whole), "sign-flip, exact"
    return _Found(found.stderr, low, high, "bonett-price", p_value, test)


def _of_scores(first: Measured, second: Measured, seed: int) -> _Found:
    """Other functions of sums: both sides are resampled together, and swapped for the test."""
    import numpy as np

    if first.features.shape[1] != second.features.shape[1]:
        first, second = widened([first, second])
    one, two = first.cluster_sums(), second.cluster_sums()
    width = one.shape[1]

    def difference(sums: Array) -> Array:
        return second.score(sums[..., width:]) - first.score(sums[..., :width])

    drawn = bootstrap(Resampling(np.concatenate([one, two], axis=1), difference), seed)
    p_value, exact = swap_sides(one, two, (first.score, second.score), seed)
    test = "swap, exact" if exact else "swap"
    if drawn is None:
        return _Found(None, None, None, "bca", p_value, test)
    return _Found(drawn.stderr, drawn.low, drawn.high, "bca", p_value, test)


def _bonett_price(steps: Array, sizes: Array) -> tuple[float, float]:
    """A t interval after adding one document won and one lost (Bonett and Price, 2012).

    Where few documents differ, the observed differences vary too little, and not at all where none
    does.
    """
    import numpy as np

    more = np.concatenate([steps, [1.0, -1.0]])
    weights = np.concatenate([sizes, [1.0, 1.0]])
    mean = float(more.sum() / weights.sum())
    influence = (more - mean * weights) / weights.sum()
    count = len(more)
    stderr = math.sqrt(count / (count - 1) * float((influence**2).sum()))
    low, high = t_interval(mean, stderr, len(steps) - 1)
    return max(low, -1.0), min(high, 1.0)


def _detectable(found: _Found, clusters: int) -> float | None:
    if found.low is None or found.high is None or clusters < 2:
        return None
    stderr = (found.high - found.low) / 2 / t_quantile(clusters - 1)
    return detectable_difference(stderr, clusters - 1)
