"""The mean score over all prompts, from a part of the cells, without a model of the answers.

A document's mean over the prompts it was asked is unbiased for its mean over all of them. Errors
are of two kinds: what a full sweep on the same documents would have given (documents are strata,
prompts were drawn within each), and what other documents would have given (clusters were drawn).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.intervals import Estimate, mean_estimate, t_interval, wilson_interval
from tenbin.statistics.prompts.design import PromptMatrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The mean over prompts and documents."""

    value: float
    stderr: float | None
    """Of what a full sweep over the same prompts and documents would have given; None where a
    single cluster was observed."""
    low: float | None
    """The ends of its 95 % interval."""
    high: float | None
    elsewhere: Estimate
    """The same value with the error that other documents would bring: that of every other score
    of a run."""
    cells: int
    """Values observed."""


def mean_score(matrix: PromptMatrix) -> MeanScore:
    """The mean over all prompts with its errors."""
    import numpy as np

    counts = matrix.observed.sum(axis=1)
    kept = counts > 0
    n = int(kept.sum())
    per_document = matrix.filled.sum(axis=1) / np.maximum(counts, 1)
    value = float(per_document[kept].mean())
    deviations = np.where(kept, per_document - value, 0.0) / n
    present = matrix.sums_by_cluster(kept.astype(float)) > 0
    influence = matrix.sums_by_cluster(deviations)[present]
    elsewhere = mean_estimate(value, [influence], n, matrix.bound)
    cells = int(matrix.observed.sum())
    clusters = int(present.sum())
    if clusters < 2:
        return MeanScore(value, None, None, None, elsewhere, cells)
    variance, degrees = _strata_variance(matrix, counts, n)
    stderr = math.sqrt(variance)
    degrees = max(1, min(degrees, clusters - 1))
    if bool(matrix.asked.all()):
        low = high = value
    elif matrix.bound is not None:
        low, high = wilson_interval(value, stderr, clusters, degrees, matrix.bound)
    else:
        low, high = t_interval(value, stderr, degrees)
    return MeanScore(value, stderr, low, high, elsewhere, cells)


def _strata_variance(matrix: PromptMatrix, counts: Array, n: int) -> tuple[float, int]:
    """The variance of the mean over designs: prompts drawn within each cluster of documents; and
    its degrees of freedom, which are few where few clusters vary at all (Satterthwaite).

    Loads are balanced, so what prompts do to all documents alike does not move the mean: it is
    taken out of the values, as far as there are degrees of freedom for it.
    """
    import numpy as np

    observed, numbers = matrix.observed, matrix.cluster_numbers
    drawn = matrix.sums_by_cluster(observed.astype(float)) > 0
    asked = drawn.sum(axis=1)
    many = asked > 1
    if not many.any():
        # One prompt a document: how prompts differ within a document is not seen, and how cells
        # differ at all is more than that.
        return _spread(matrix, n) * (1 - 1 / matrix.prompts), len(asked) - 1
    freedom = int((asked - 1).clip(0).sum())
    values, lost = matrix.filled, 0
    if freedom >= 2 * matrix.prompts:
        values = np.where(observed, matrix.filled - _prompt_effects(matrix), 0.0)
        lost = matrix.prompts - 1
    own = values.sum(axis=1) / np.maximum(counts, 1)
    cells = np.where(observed, values - own[:, None], 0.0) / np.maximum(counts, 1)[:, None]
    moved = matrix.sums_by_cluster(cells)
    unasked = 1 - matrix.asked.sum(axis=1) / matrix.prompts
    share = np.zeros(len(moved))
    share[numbers] = unasked
    squares = (moved**2).sum(axis=1)[many] * (asked / (asked - 1).clip(1))[many] * share[many]
    # Clusters in which a single prompt was observed vary like the others.
    total = float(squares.sum()) * len(asked[asked > 0]) / int(many.sum())
    varied = float((squares**2).sum())
    degrees = round(2 * float(squares.sum()) ** 2 / varied) if varied > 0 else len(asked)
    return total * freedom / (freedom - lost) / n**2, degrees


def _spread(matrix: PromptMatrix, n: int) -> float:
    """The variance of the mean as that of independent clusters."""
    import numpy as np

    counts = matrix.observed.sum(axis=1)
    own = matrix.filled.sum(axis=1) / np.maximum(counts, 1)
    centred = np.where(counts > 0, own - own[counts > 0].mean(), 0.0)
    sums = matrix.sums_by_cluster(centred)
    clusters = int((matrix.sums_by_cluster((counts > 0).astype(float)) > 0).sum())
    return clusters / (clusters - 1) * float((sums**2).sum()) / n**2


def _prompt_effects(matrix: PromptMatrix, rounds: int = 50) -> Array:
    """What each prompt adds to a document's value, by least squares with document effects."""
    import numpy as np

    observed = matrix.observed
    rows, columns = observed.sum(axis=1), observed.sum(axis=0)
    effects = np.zeros(matrix.prompts)
    for _ in range(rounds):
        own = (matrix.filled - observed * effects).sum(axis=1) / np.maximum(rows, 1)
        new = (matrix.filled - observed * own[:, None]).sum(axis=0) / np.maximum(columns, 1)
        new -= new.mean()
        if np.abs(new - effects).max() < 1e-9:
            break
        effects = new
    return effects
