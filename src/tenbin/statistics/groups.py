"""Scores of a group: the mean over the documents of its members, the mean over its members, and
means whose weights a definition gives.

The same item in several languages is one unit, however often it is asked, so documents are joined
across members before any error is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tenbin.statistics.bootstrap import Resampling, bootstrap
from tenbin.statistics.intervals import (
    Estimate,
    bootstrap_estimate,
    estimate,
    t_interval,
    within,
)
from tenbin.statistics.measured import Measured
from tenbin.statistics.weighted_mean import Means

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Member:
    """One cell of a group under one metric."""

    family: str
    """Members of one family may ask the same items; those of different families never do."""
    measured: Measured


def group_estimates(
    members: Sequence[Member], seed: int = 0, top: float | None = 1.0
) -> tuple[Estimate, Estimate]:
    """The mean weighted by documents, and the unweighted mean of the members' scores.

    Members are fixed: the error is for other items, not for other languages. Members without a
    scored document have no weight.

    Args:
        members: Cells of one metric.
        seed: Makes the bootstrap repeatable.
        top: As for `intervals.estimate`.
    """
    scored = [member for member in members if member.measured.documents]
    if not scored:
        linear = all(member.measured.linear for member in members)
        method = "bca" if not linear else "t" if top is None else "wilson"
        nothing = Estimate(None, None, None, None, 0, 0, method)
        return nothing, nothing
    sizes = [len(member.measured.documents) for member in scored]
    joined = join_members(scored)
    by_documents = [size / sum(sizes) for size in sizes]
    by_member = [1 / len(scored)] * len(scored)
    estimator = _mean if all(member.measured.linear for member in scored) else _resampled
    return (
        estimator(scored, by_documents, joined, seed, top),
        estimator(scored, by_member, joined, seed, top),
    )


def scaled(measured: Measured, factor: float) -> Measured:
    """The same documents with their score multiplied, for means over metrics in percent and not.

    Args:
        measured: Documents whose score is a function of summed features.
        factor: What scores are multiplied by.
    """
    if factor == 1:
        return measured
    if measured.linear:
        features = measured.features.copy()
        features[:, 0] *= factor
        return replace(measured, features=features)
    score = measured.score
    return replace(measured, score=lambda sums: factor * score(sums))


def weighted_estimate(
    members: Sequence[Member], weights: Sequence[float], seed: int = 0, top: float | None = 1.0
) -> Estimate:
    """The mean of the members' scores under given weights, all on one scale.

    Members that share items are resampled together, others are independent strata.

    Args:
        members: Cells, each under the metric that enters the mean; all with scored documents.
        weights: One for each, together 1.
        seed: Makes the bootstrap repeatable.
        top: The highest value there can be where values run from 0 to it; else None.
    """
    linear = all(member.measured.linear for member in members)
    estimator = _mean if linear else _resampled
    return estimator(members, weights, join_members(members), seed, top)


@dataclass(frozen=True, slots=True)
class Joined:
    """Which documents of all members are one unit, and which units are resampled together."""

    clusters: list[NDArray[Any]]
    """For each member, the number of each document's cluster."""
    strata: NDArray[Any]
    """For each cluster, the number of its stratum: members that share items are one."""


def join_members(members: Sequence[Member]) -> Joined:
    """Documents of one family that share a cluster or a document id are one unit."""
    import numpy as np

    names: dict[tuple[str, str, str], int] = {}
    ends: list[tuple[int, int]] = []
    for member in members:
        found = member.measured
        for document, cluster in zip(found.documents, found.clusters, strict=True):
            by_id = names.setdefault((member.family, "document", document), len(names))
            by_cluster = by_id
            if cluster is not None:
                by_cluster = names.setdefault((member.family, "cluster", cluster), len(names))
            ends.append((by_id, by_cluster))
    pairs = np.array(ends)
    number = _components(pairs[:, 0], pairs[:, 1], len(names))[pairs[:, 0]]
    number = np.unique(number, return_inverse=True)[1]
    borders = np.cumsum([len(member.measured.documents) for member in members])[:-1]
    clusters = np.split(number, borders)
    whose = np.repeat(np.arange(len(members)), [len(one) for one in clusters])
    # Members are joined where they have a cluster in common, so a stratum never mixes strangers.
    count = int(number.max()) + 1
    together = _components(whose, number + len(members), len(members) + count)
    return Joined(clusters, together[len(members) :])


def _components(first: NDArray[Any], second: NDArray[Any], size: int) -> NDArray[Any]:
    """The number of the component of each of `size` nodes, given the edges between them."""
    import numpy as np
    from scipy.sparse import coo_array  # type: ignore[import-untyped]
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

    edges = coo_array((np.ones(len(first)), (first, second)), shape=(size, size))
    labels: NDArray[Any] = connected_components(edges, directed=False)[1]
    return labels


def _mean(
    members: Sequence[Member],
    weights: Sequence[float],
    joined: Joined,
    seed: int,
    top: float | None,
) -> Estimate:
    """Analytic: each document's deviation from its own member's mean, summed by cluster."""
    import numpy as np

    if len(members) == 1:
        return estimate(members[0].measured, seed, top)
    sides = [member.measured for member in members]
    of = np.asarray(weights)
    value = math.fsum(weight * side.value for weight, side in zip(weights, sides, strict=True))
    bounded = all(within(side.values, top) for side in sides)
    n, clusters = sum(len(side.documents) for side in sides), len(joined.strata)
    method = "wilson" if bounded else "t"
    if np.bincount(joined.strata).min() < 2:
        return Estimate(value, None, None, None, n, clusters, method)
    means = Means.of([side.features[:, 0] for side in sides], joined.clusters, clusters)
    stderr = means.stderr(of)
    if bounded:
        assert top is not None
        low, high = means.interval(of, top)
    else:
        low, high = t_interval(value, stderr, means.degrees(of, np.diag(means.covariance)))
    return Estimate(value, stderr, low, high, n, clusters, method)


def _resampled(
    members: Sequence[Member],
    weights: Sequence[float],
    joined: Joined,
    seed: int,
    top: float | None,
) -> Estimate:
    """Bootstrap: clusters are resampled for all members at once, and each resample is scored per
    member."""
    import numpy as np

    blocks = []
    for member, clusters in zip(members, joined.clusters, strict=True):
        sums = np.zeros((len(joined.strata), member.measured.features.shape[1]))
        np.add.at(sums, clusters, member.measured.features)
        blocks.append(sums)
    borders = np.cumsum([block.shape[1] for block in blocks])[:-1]

    def score(sums: Array) -> Array:
        parts = np.split(sums, borders, axis=-1)
        scores = [
            weight * member.measured.score(part)
            for member, weight, part in zip(members, weights, parts, strict=True)
        ]
        total: Array = np.sum(scores, axis=0)
        return total

    rows = np.concatenate(blocks, axis=1)
    value = float(score(rows.sum(axis=0)))
    n = sum(len(member.measured.documents) for member in members)
    drawn = bootstrap(Resampling(rows, score, joined.strata), seed)
    return bootstrap_estimate(value, drawn, n, len(rows))
