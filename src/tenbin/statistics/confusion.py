"""Scores of a confusion matrix.

Every function takes counts of shape (..., K, K), rows the gold classes and columns the predicted
ones, and returns an array of shape (...), so that a thousand resampled matrices are one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts: TypeAlias = NDArray[Any]
    Values: TypeAlias = NDArray[np.float64]


def balanced_acc(counts: Counts) -> Values:
    """Mean recall over the classes that occur in gold; 0 for an empty matrix."""
    hits, gold, _ = _margins(counts)
    recall = _ratio(hits, gold)
    return _ratio(recall.sum(axis=-1), (gold > 0).sum(axis=-1))


def macro_f1(counts: Counts) -> Values:
    """Mean F1 over the classes that occur in gold or prediction, as scikit-learn's default."""
    hits, gold, predicted = _margins(counts)
    f1 = _ratio(2 * hits, gold + predicted)
    return _ratio(f1.sum(axis=-1), (gold + predicted > 0).sum(axis=-1))


def f1(counts: Counts) -> Values:
    """F1 of the second of two classes, as scikit-learn's default; not a number for more classes."""
    import numpy as np

    hits, gold, predicted = _margins(counts)
    if hits.shape[-1] < 2:
        return np.zeros(hits.shape[:-1])
    score = _ratio(2 * hits[..., 1], gold[..., 1] + predicted[..., 1])
    others = (gold + predicted)[..., 2:].sum(axis=-1) > 0
    return np.where(others, np.nan, score)


def mcc(counts: Counts) -> Values:
    """Matthews correlation for any number of classes; 0 where it is undefined."""
    import numpy as np

    hits, gold, predicted = _margins(counts)
    total = gold.sum(axis=-1)
    covariance = hits.sum(axis=-1) * total - (gold * predicted).sum(axis=-1)
    gold_variance = total**2 - (gold**2).sum(axis=-1)
    predicted_variance = total**2 - (predicted**2).sum(axis=-1)
    return _ratio(covariance, np.sqrt(gold_variance * predicted_variance))


def _margins(counts: Counts) -> tuple[Values, Values, Values]:
    import numpy as np

    exact = np.asarray(counts, dtype=np.float64)
    hits = np.diagonal(exact, axis1=-2, axis2=-1)
    return hits, exact.sum(axis=-1), exact.sum(axis=-2)


def _ratio(numerator: Values, denominator: Any) -> Values:
    import numpy as np

    # Where the denominator is 0 nothing was there to be right about: the value is 0.
    bottom = np.asarray(denominator, dtype=np.float64)
    top = np.asarray(numerator, dtype=np.float64)
    result: Values = np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)
    return result
