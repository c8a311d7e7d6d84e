"""Compare two sides on the same documents: difference, interval, test, correction for many tests.

Pairing removes the difficulty of the documents, which both sides share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tenbin.statistics.bootstrap import Resampling, bootstrap
from tenbin.statistics.intervals import t_quantile
from tenbin.statistics.measured import Measured
from tenbin.statistics.paired_means import PairedMeans
from tenbin.statistics.paired_sides import PairedMember, PairedSides
from tenbin.statistics.permutation import swap_sides
from tenbin.statistics.power import LEVEL, detectable_difference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_ALIKE = 2.0
"""Documents of a group that weigh at most so many times what others do are one sample with them."""


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
    """`bonett-price`, `gaffke`, `t` or `bca`."""
    wins: int
    """Documents on which the other is better."""
    losses: int
    ties: int
    p_value: float
    """Two-sided, of no difference."""
    test: str
    """`mcnemar`, `sign-flip`, `gaffke`, `mover` or `swap`; with `, exact` where nothing was drawn
    and nothing approximated."""
    detectable: float | None
    """The smallest difference that such a comparison finds with 80 % power; None where it finds
    nothing so often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(PairedDifference):
    """The difference, with the two scores that it is between."""

    baseline: float
    """The baseline's score on these documents."""
    other: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyComparison(Comparison):
    """One of several comparisons, or the only one."""

    correlation: float | None
    """Between the two sides over documents; None where one side's do not vary."""
    wide_low: float | None
    """The interval that holds for all comparisons at once (Bonferroni)."""
    wide_high: float | None


def compare(
    baseline: Measured,
    other: Measured,
    seed: int = 0,
    higher_is_better: bool = True,
    top: float | None = 1.0,
    tests: int | None = 1,
) -> Comparison:
    """Compare two sides of one metric on the documents that both scored.

    Args:
        baseline: What is compared against.
        other: What is compared.
        seed: Makes resamples and draws repeatable.
        higher_is_better: Which way a document is won.
        top: The value of a right document where wrong ones have 0; None where there is none.
        tests: That share the level of 5 %, for `detectable`; None leaves that out.

    Raises:
        ResultError: The sides share no scored document, or are no scores of the same kind.
    """
    members = [PairedMember("", baseline, other)]
    found = compare_members(members, seed, higher_is_better, top, tests)
    return Comparison(**{one.name: getattr(found, one.name) for one in fields(Comparison)})


def compare_members(
    members: Sequence[PairedMember],
    seed: int = 0,
    higher_is_better: bool = True,
    top: float | None = 1.0,
    tests: int | None = 1,
) -> FamilyComparison:
    """Compare two sides of a mean over tasks, on the documents that both scored.

    Documents that belong together are one unit, across members too. Without shared documents a
    member has no part in the mean.

    Args:
        members: The tasks, all on the scale from 0 to `top`; one for a task by itself.
        seed: As for `compare`, like the following.
        higher_is_better: Which way a document is won.
        top: The value of a right document where wrong ones have 0; None where there is none.
        tests: That share the level of 5 %.

    Raises:
        ResultError: As `compare` does.
    """
    import numpy as np

    pairs = PairedSides.of(members)
    steps = np.concatenate([two.values - one.values for one, two in pairs.sides])
    better = steps if higher_is_better else -steps
    level = LEVEL / (tests or 1)
    linear = all(one.linear for one, _ in pairs.sides)
    found = _of_means(pairs, seed, top, tests) if linear else _of_scores(pairs, seed, tests)
    narrow, wide = found.interval(1 - LEVEL), found.interval(1 - level)
    baseline, other = pairs.values()
    return FamilyComparison(
        n=len(steps),
        clusters=len(pairs.joined.strata),
        baseline=baseline,
        other=other,
        difference=other - baseline,
        stderr=found.stderr,
        low=narrow and narrow[0],
        high=narrow and narrow[1],
        interval_method=found.interval_method,
        wins=int((better > 0).sum()),
        losses=int((better < 0).sum()),
        ties=int((better == 0).sum()),
        p_value=found.p_value,
        test=found.test,
        detectable=found.detectable,
        correlation=pairs.correlation(),
        wide_low=wide and wide[0],
        wide_high=wide and wide[1],
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
    interval: Callable[[float], tuple[float, float] | None]
    interval_method: str
    p_value: float
    test: str
    detectable: float | None


def _of_means(pairs: PairedSides, seed: int, top: float | None, tests: int | None) -> _Found:
    """Means of documents: their differences, summed by cluster, are sufficient."""
    import numpy as np

    clusters = len(pairs.joined.strata)
    one, two, levelled, sizes, documents = np.zeros((5, clusters))
    total = sum(len(first.documents) for first, _ in pairs.sides)
    values = np.concatenate([side.values for member in pairs.sides for side in member])
    binary = top is not None and bool(np.isin(values, (0.0, top)).all())
    bounded = top is not None and bool(((values >= 0) & (values <= top)).all())
    for (first, second), weight, own in zip(
        pairs.sides, pairs.weights, pairs.joined.clusters, strict=True
    ):
        count = len(first.documents)
        # Of one member, or of members that weigh as many documents as they have, exactly 1.
        each = weight * total / count
        each = 1.0 if math.isclose(each, 1.0, rel_tol=1e-12) else each
        moved = second.features[:, 0] - first.features[:, 0]
        np.add.at(one, own, each * first.features[:, 0])
        np.add.at(two, own, each * second.features[:, 0])
        np.add.at(levelled, own, each * (moved - moved.mean()))
        np.add.at(sizes, own, each)
        np.add.at(documents, own, 1.0)
    steps, strata = two - one, _pooled_strata(pairs.joined.strata, sizes, documents)
    if len(pairs.sides) == 1:
        levelled = steps
    else:
        for stratum in np.unique(strata):
            rows = strata == stratum
            levelled[rows] += steps[rows].sum() / sizes[rows].sum() * sizes[rows]
    means = PairedMeans(
        steps, levelled, sizes, strata, documents, top if bounded else None, binary, abs(seed)
    )
    p_value, test = means.test()
    return _Found(
        means.stderr(),
        means.interval,
        means.interval_method(),
        p_value,
        test,
        None if tests is None else means.detectable(tests),
    )


def _pooled_strata(strata: NDArray[Any], sizes: Array, documents: Array) -> NDArray[Any]:
    """Strata whose documents weigh about the same are one sample, however small each of them is.

    Kept apart, fifty members of three documents would be fifty intervals of three documents.
    """
    import numpy as np

    whole = np.bincount(strata, sizes) / np.maximum(np.bincount(strata, documents), 1.0)
    pooled = np.zeros(len(whole), dtype=np.int64)
    order = np.argsort(whole, kind="stable")
    start, number = whole[order[0]], 0
    for at in order:
        if whole[at] > _ALIKE * start:
            start, number = whole[at], number + 1
        pooled[at] = number
    merged: NDArray[Any] = pooled[strata]
    return merged


def _of_scores(pairs: PairedSides, seed: int, tests: int | None) -> _Found:
    """Other functions of sums: both sides are resampled together, and swapped for the test."""
    import numpy as np

    blocks: list[list[Array]] = [[], []]
    for sides, own in zip(pairs.sides, pairs.joined.clusters, strict=True):
        for at, side in enumerate(sides):
            sums = np.zeros((len(pairs.joined.strata), side.features.shape[1]))
            np.add.at(sums, own, side.features)
            blocks[at].append(sums)
    borders = np.cumsum([block.shape[1] for block in blocks[0]])[:-1]
    one, two = (np.concatenate(own, axis=1) for own in blocks)
    width = one.shape[1]

    def score(at: int, sums: Array) -> Array:
        scores = [
            weight * sides[at].score(part)
            for sides, weight, part in zip(
                pairs.sides, pairs.weights, np.split(sums, borders, axis=-1), strict=True
            )
        ]
        total: Array = np.sum(scores, axis=0)
        return total

    def difference(sums: Array) -> Array:
        return score(1, sums[..., width:]) - score(0, sums[..., :width])

    rows = np.concatenate([one, two], axis=1)
    drawn = bootstrap(Resampling(rows, difference, pairs.joined.strata), seed)
    p_value, exact = swap_sides(
        one, two, (lambda sums: score(0, sums), lambda sums: score(1, sums)), seed
    )
    test = "swap, exact" if exact else "swap"
    if drawn is None:
        return _Found(None, lambda level: None, "bca", p_value, test, None)
    degrees = len(one) - len(np.unique(pairs.joined.strata))
    ends, found = drawn.interval(1 - LEVEL), None
    if ends is not None and tests is not None:
        stderr = (ends[1] - ends[0]) / 2 / t_quantile(degrees)
        found = detectable_difference(stderr, degrees, LEVEL / tests)
    return _Found(drawn.stderr, drawn.interval, "bca", p_value, test, found)
