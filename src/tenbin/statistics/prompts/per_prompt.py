"""The score of each prompt on all documents, although it was asked on a few of them.

Doubly robust: a model predicts every cell, and what it got wrong on the observed cells of a prompt,
weighted by how rarely cells were asked, corrects the sum. Each cell is predicted by a model that
did not see it (five folds of cells). The correction makes the estimate unbiased whatever the model
is worth; a good model makes its error small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.intervals import t_quantile
from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.rasch import predict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Numbers = NDArray[np.intp]

FOLDS = 5


@dataclass(frozen=True)
class PromptScores:
    """Each prompt's score on all documents of the matrix; prompts that were never observed have
    no score and are left out."""

    prompts: Numbers
    """The columns of the matrix that have a score; the arrays below follow it."""
    values: Array
    """Unbiased, and so out of bounds at times: a best one among them is best by luck too."""
    variances: Array
    """Of what a full run of the prompt on the same documents would have given."""
    counts: Numbers
    """Documents that the prompt was observed on."""
    low: Array
    """The ends of the 95 % interval of each prompt by itself."""
    high: Array
    residuals: Array
    """Documents × all prompts: what is left of the observed values after the prediction; 0
    elsewhere."""


def prompt_scores(matrix: PromptMatrix, seed: int, folds: int = FOLDS) -> PromptScores:
    """Estimate the score of every prompt.

    Args:
        matrix: What was observed.
        seed: Makes the folds repeatable.
        folds: Parts that the cells are cut into.
    """
    import numpy as np

    observed = matrix.observed
    bottom, height = _scale(matrix)
    scaled = np.where(observed, (matrix.filled - bottom) / height, 0.0)
    predicted = _cross_predicted(scaled, observed, seed, folds)
    asked = matrix.asked.sum(axis=1)
    weights = observed * (matrix.prompts / np.maximum(asked, 1))[:, None]
    kept = np.flatnonzero(observed.any(axis=0))
    total = weights.sum(axis=0).clip(1e-12)
    residuals = np.where(observed, scaled - predicted, 0.0)
    correction = (weights * residuals).sum(axis=0) / total
    values = predicted.mean(axis=0) + correction
    variances = _variances(matrix, weights, residuals, predicted)
    counts = observed.sum(axis=0)
    reach = np.array([t_quantile(max(int(count) - 1, 1)) for count in counts])
    values, errors = bottom + height * values, height * np.sqrt(variances)
    low, high = values - reach * errors, values + reach * errors
    if matrix.bound is not None:
        low, high = low.clip(0.0, matrix.bound), high.clip(0.0, matrix.bound)
    return PromptScores(
        kept,
        values[kept],
        errors[kept] ** 2,
        counts[kept],
        low[kept],
        high[kept],
        residuals * height,
    )


def _scale(matrix: PromptMatrix) -> tuple[float, float]:
    """Lowest value and range: the working model is of values from 0 to 1."""
    if matrix.bound is not None:
        return 0.0, matrix.bound
    values = matrix.values[matrix.observed]
    low, high = float(values.min()), float(values.max())
    return low, max(high - low, 1e-12)


def _cross_predicted(scaled: Array, observed: Mask, seed: int, folds: int) -> Array:
    """Every cell as a model predicts it that was fitted without the cell's fold."""
    import numpy as np

    generator = np.random.default_rng([abs(seed), *scaled.shape])
    fold_of = generator.integers(0, folds, scaled.shape, dtype=np.int8)
    predicted = np.zeros(scaled.shape)
    for fold in range(folds):
        mine = fold_of == fold
        predicted[mine] = predict(scaled, observed & ~mine)[mine]
    return predicted


def _variances(matrix: PromptMatrix, weights: Array, residuals: Array, predicted: Array) -> Array:
    """The variance of each prompt's correction over designs.

    A dozen residuals say little about their own variance. What the model expects of it, p(1−p),
    gives its course from prompt to prompt, and the residuals of all prompts its size.
    """
    import numpy as np

    total = weights.sum(axis=0).clip(1e-12)
    correction = (weights * residuals).sum(axis=0) / total
    centred = weights * (residuals - matrix.observed * correction) / total
    moved = matrix.sums_by_cluster(centred)
    count = (matrix.sums_by_cluster(matrix.observed.astype(float)) > 0).sum(axis=0)
    unasked = 1 - matrix.asked.mean(axis=0)
    seen = np.maximum(count, 1)
    own: Array = unasked * (moved**2).sum(axis=0) * seen / (seen - 1).clip(1)
    expected: Array = (predicted * (1 - predicted)).mean(axis=0) * unasked / seen
    known = count > 1
    # Cells that are all right say little of the others: one more may have been wrong.
    least: Array = unasked / seen / (int(matrix.observed.sum()) + 2)
    if not known.any() or float(expected[known].sum()) <= 0:
        return np.maximum(own, least)
    size = float(own[known].sum()) / float(expected[known].sum())
    return np.maximum(size * expected, least)
