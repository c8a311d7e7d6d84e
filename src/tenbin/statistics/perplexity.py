"""Scores of whole texts: how well a model predicts them, per unit of length.

Every function takes sums of shape (..., 2), the negative log-likelihood of the texts in nats and
their length in some unit, and returns an array of shape (...). Texts are weighted by their length.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def weighted_perplexity(sums: Array) -> Array:
    """Perplexity per unit; infinite where it is out of the range of a float.

    That happens where the unit is wrong: a Japanese page without a space is one word.
    """
    import numpy as np

    with np.errstate(over="ignore"):
        perplexity: Array = np.exp(_nats(sums))
    return perplexity


def bits_per_byte(sums: Array) -> Array:
    """Bits per byte of the texts, if the model were used to compress them."""
    bits: Array = _nats(sums) / math.log(2)
    return bits


def _nats(sums: Array) -> Array:
    import numpy as np

    # Where there is no length there is no text, and nothing to report.
    length = sums[..., 1]
    nats: Array = np.divide(sums[..., 0], length, out=np.zeros_like(length), where=length != 0)
    return nats
