"""Ranks of several models on the same documents: simultaneous intervals, and ties with the best.

Clusters of documents are resampled for all models at once, so that what models share cancels. A
model's rank is one more than the number of models that are truly better; of models that are truly
equal each may have any of the ranks that they share. The intervals of all models hold at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.errors import ResultError
from tenbin.statistics.bootstrap import RESAMPLES, resampled_scores
from tenbin.statistics.paired import compare_members, holm
from tenbin.statistics.power import FEWEST, LEVEL, TOO_FEW
from tenbin.statistics.shared_documents import RankedMember, SharedDocuments
from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class RankedModel:
    """Where one model stands among the others."""

    value: float
    """Its score on the documents that all models scored."""
    best: bool
    """Whether it has the best score on these documents; several may."""
    tied: bool
    """Whether it is not shown to differ from the best; False for the best itself."""
    p_value: float | None
    """Of no difference to the best, paired, corrected for the number of models (Holm); None for the
    best, or the first of several."""
    low: int | None
    """The best rank that it may have; None where `Ranking.reason` says why."""
    high: int | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """How models compare on the documents that all of them scored."""

    n: int
    clusters: int
    models: tuple[RankedModel, ...]
    reason: str | None
    """Why there are no rank intervals; None if there are."""


def rank_models(
    members: Sequence[RankedMember],
    seed: int = 0,
    higher_is_better: bool = True,
    top: float | None = 1.0,
    resamples: int = RESAMPLES,
) -> Ranking:
    """Rank models by a score, or by a mean over tasks.

    A model differs from the best one if the paired test says so, corrected for the number of
    models, and if the rank intervals do: the best one is chosen by its score, so that it has been
    compared with all others before any test.

    Args:
        members: The tasks, all on the scale from 0 to `top`; one for a task by itself.
        seed: Makes resamples and draws repeatable.
        higher_is_better: Which way is better.
        top: The value of a right document where wrong ones have 0; None where there is none.
        resamples: Of the clusters.

    Raises:
        ResultError: The models share no scored document, or there are fewer than two.
    """
    if any(len(member.models) < 2 for member in members):
        raise ResultError("ranks need at least two models")
    shared = SharedDocuments.of(members)
    sums = shared.rows.sum(axis=0)
    values = shared.score(sums)
    signed = values if higher_is_better else -values
    best = int(signed.argmax())
    p_values = _against_best(shared, best, seed, higher_is_better, top)
    beats = _beats(shared, signed, seed, higher_is_better, top, resamples)
    count, leads = len(values), signed >= signed[best] - _EQUAL
    return Ranking(
        n=shared.documents,
        clusters=len(shared.rows),
        models=tuple(
            RankedModel(
                value=float(values[at]),
                best=bool(leads[at]),
                tied=not leads[at]
                and not ((p_values[at] or 0.0) < LEVEL and beats is not None and beats[best, at]),
                p_value=p_values[at],
                low=None if beats is None else 1 + int(beats[:, at].sum()),
                high=None if beats is None else count - int(beats[at].sum()),
            )
            for at in range(count)
        ),
        reason=TOO_FEW if beats is None else None,
    )


def _against_best(
    shared: SharedDocuments, best: int, seed: int, higher_is_better: bool, top: float | None
) -> list[float | None]:
    """p-values of the paired test of each model against the best, corrected; None for the best."""
    others = [at for at in range(len(shared.members[0][1])) if at != best]
    found = []
    for at in others:
        pair = shared.pair(best, at)
        found.append(compare_members(pair, seed, higher_is_better, top, None).p_value)
    corrected: list[float | None] = [None] * (len(others) + 1)
    for at, p_value in zip(others, holm(found), strict=True):
        corrected[at] = p_value
    return corrected


def _beats(
    shared: SharedDocuments,
    values: Array,
    seed: int,
    higher_is_better: bool,
    top: float | None,
    resamples: int,
) -> Flags | None:
    """Which model (row) is shown to be better than which (column), all of it at once.

    The largest of the standardised differences of all pairs has a distribution that resamples show.
    Pairs beyond its 95 % quantile are settled, and the quantile is taken anew over the others
    (step-down). It is widened as a t interval is wider than a normal one. None where too few
    clusters were drawn to tell.
    """
    import numpy as np

    resampling = shared.resampling()
    clusters, degrees = len(shared.rows), resampling.degrees
    if clusters < FEWEST or any(len(rows) < 2 for rows in resampling.groups()):
        return None
    scores = resampled_scores(resampling, seed, resamples)
    if not np.isfinite(scores).all():
        return None
    noise = scores - scores.mean(axis=0)
    noise = noise if higher_is_better else -noise
    covariance = noise.T @ noise / (len(noise) - 1)
    spread = np.diag(covariance)
    variances = np.maximum(spread[:, None] + spread[None, :] - 2 * covariance, 0.0)
    # Two more clusters, one won and one lost, as two documents for the interval of a paired
    # difference: a few that differ vary too little.
    size = shared.documents / clusters
    more = 0.0 if top is None else 2 * (top * shared.heaviest * size) ** 2
    errors = np.sqrt(variances * clusters / degrees + more)
    steps = values[:, None] - values[None, :]
    observed = np.divide(steps, errors, out=np.zeros_like(steps), where=errors > 1e-12)
    deviations = np.sqrt(variances)
    open_pairs = ~np.eye(len(values), dtype=bool)
    beats = np.zeros_like(open_pairs)
    while True:
        # Pairs that never differ in any resample say nothing, and never exceed the quantile.
        largest = _largest(noise, deviations, open_pairs & (deviations > 1e-12))
        settled = open_pairs & (observed > _quantile(largest, degrees))
        if not settled.any():
            return beats
        beats |= settled
        open_pairs &= ~settled


def _largest(noise: Array, deviations: Array, pairs: Flags) -> Array:
    """The largest standardised difference of each resample, over pairs (row less column)."""
    import numpy as np

    largest = np.zeros(len(noise))
    for at, others in enumerate(pairs):
        if others.any():
            steps = (noise[:, at, None] - noise[:, others]) / deviations[at, others]
            largest = np.maximum(largest, steps.max(axis=1))
    return largest


def _quantile(largest: Array, degrees: int) -> float:
    """The 95 % quantile, on the scale of a t distribution instead of the normal one."""
    import numpy as np

    functions = special()
    normal = float(np.quantile(largest, 1 - LEVEL, method="higher"))
    found = -float(functions.stdtrit(degrees, functions.ndtr(-normal)))
    return found if math.isfinite(found) else math.inf
