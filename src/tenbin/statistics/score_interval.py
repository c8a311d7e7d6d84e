"""The interval of a weighted mean of shares: Wilson's, for several of them.

Wilson's interval holds the shares under which the observed one would not be surprising. Of several
shares with a given mean, those are taken that make what was observed likeliest: shares that vary
much move most. One share by itself gives Wilson's interval. Putting intervals of the single shares
together (MOVER) does not do: each of them reaches farther towards the middle of the scale than away
from it, and over many shares near 0 or 1 that adds up to a bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_STEPS = 50
"""Of a bisection over the logarithm of a multiplier: to twelve digits."""
_MULTIPLIERS = (1e-6, 1e12)


def effective_sizes(shares: Array, variances: Array, clusters: Array) -> Array:
    """Independent right or wrong documents that vary as the shares do; without any variation (all
    right, all wrong) each cluster counts as one."""
    import numpy as np

    binary = shares * (1 - shares)
    known = (variances > 0) & (binary > 0)
    found: Array = np.where(known, binary / np.where(known, variances, 1.0), clusters)
    return found


def expected_variances(shares: Array, sizes: Array) -> Array:
    """Variances of shares with one document more that is right and one that is wrong: of few
    documents that are all right, the observed variance says nothing."""
    inner = (shares * sizes + 1) / (sizes + 2)
    found: Array = inner * (1 - inner) / sizes
    return found


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    """Ends of an interval of a weighted mean of shares."""

    weights: Array
    sizes: Array
    """Independent right or wrong documents behind each share."""
    correlation: Array
    """Between the shares."""
    reach: float
    """The quantile of the test that is inverted."""

    def ends(self, shares: Array) -> tuple[float, float]:
        """The interval around the weighted mean of these shares."""
        return self._low(shares), float(self.weights.sum()) - self._low(1 - shares)

    def _low(self, shares: Array) -> float:
        if float(self.weights @ shares) <= 0:
            return 0.0
        low, high = (math.log(one) for one in _MULTIPLIERS)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if self._surprising(shares, self._moved(shares, math.exp(middle))):
                high = middle
            else:
                low = middle
        return float(self.weights @ self._moved(shares, math.exp(high)))

    def _moved(self, shares: Array, multiplier: float) -> Array:
        """The likeliest shares with a lower mean: n(v − p) = λ·w·p(1 − p), with Lagrange's λ."""
        import numpy as np

        pull = multiplier * self.weights / self.sizes
        root = np.sqrt(np.maximum((pull + 1) ** 2 - 4 * pull * shares, 0.0))
        moved: Array = np.minimum(2 * shares / (pull + 1 + root), shares)
        return moved

    def _surprising(self, shares: Array, moved: Array) -> bool:
        import numpy as np

        errors = self.weights * np.sqrt(moved * (1 - moved) / self.sizes)
        variance = max(float(errors @ self.correlation @ errors), 0.0)
        return float(self.weights @ (shares - moved)) > self.reach * math.sqrt(variance)
