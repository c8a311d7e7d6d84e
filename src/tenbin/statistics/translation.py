"""BLEU, chrF and TER of summed counts, as sacrebleu computes them with its defaults.

Every function takes sums of shape (..., counts), in sacrebleu's order of counts, and gives an array
of shape (...): two thousand resamples are one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_ORDERS = 4
_BETA_SQUARED = 4.0


def bleu(sums: Array) -> Array:
    """BLEU of [answer length, reference length, 4 × matches, 4 × n-grams], from 0 to 100.

    The k-th order without a match counts as 1/2^k of a match (smoothing as NIST's).
    """
    import numpy as np

    length, wanted = sums[..., 0], sums[..., 1]
    right, total = sums[..., 2 : 2 + _ORDERS], sums[..., 2 + _ORDERS : 2 + 2 * _ORDERS]
    defined = (total > 0).all(axis=-1) & (right > 0).any(axis=-1)
    smoothed = np.where(right > 0, right, 0.5 ** np.cumsum(right == 0, axis=-1))
    precision = np.divide(smoothed, total, out=np.ones_like(total), where=total > 0)
    shortfall = np.divide(wanted, length, out=np.ones_like(length), where=length > 0)
    brevity = np.where(length < wanted, np.exp(1 - shortfall), 1.0)
    score = 100 * brevity * np.exp(np.log(precision).mean(axis=-1))
    result: Array = np.where(defined, score, 0.0)
    return result


def chrf(sums: Array) -> Array:
    """The chrF of [answer, reference, match] counts of each order, from 0 to 100.

    Orders that the answers or the references have nothing of are left out of the means.
    """
    import numpy as np

    counts = sums.reshape(*sums.shape[:-1], -1, 3)
    answer, wanted, right = counts[..., 0], counts[..., 1], counts[..., 2]
    used = (answer > 0) & (wanted > 0)
    orders = np.maximum(used.sum(axis=-1), 1)

    def mean(of: Array) -> Array:
        shares = np.divide(right, of, out=np.zeros_like(right), where=used)
        return np.asarray(shares.sum(axis=-1) / orders)

    precision, recall = mean(answer), mean(wanted)
    below = _BETA_SQUARED * precision + recall
    above = (1 + _BETA_SQUARED) * precision * recall
    result: Array = 100 * np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return result


def ter(sums: Array) -> Array:
    """TER of [edits, reference length]; 100 where references are empty and answers are not."""
    import numpy as np

    edits, length = sums[..., 0], sums[..., 1]
    result: Array = 100 * np.where(length > 0, edits / np.maximum(length, 1e-300), edits > 0)
    return result
