"""Differences of means on the same documents, summed by cluster: interval, test and power.

One task is one member in one stratum. A group has several members: those that share items are one
stratum, others are independent ones, and each document weighs what the group's mean gives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenbin.statistics.bounded import FEW, BoundedMean, bounded_mean
from tenbin.statistics.intervals import mean_estimate, t_interval, t_quantile
from tenbin.statistics.permutation import mcnemar, sign_flip, sign_flip_counts
from tenbin.statistics.power import LEVEL, detectable_difference, smallest_difference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_SMALLEST = 1e-9
"""p-values that are found by trying levels are not searched below this."""


@dataclass(frozen=True, slots=True)
class PairedMeans:
    """The other side less the baseline, for each cluster."""

    steps: Array
    """Summed differences of the documents, each times its weight."""
    level_steps: Array
    """The same with every member moved to the mean difference of its stratum: members are fixed, so
    that they differ is no chance. Of one member the same as `steps`."""
    sizes: Array
    """Summed weights; of all clusters together, the number of documents."""
    strata: NDArray[Any]
    """The stratum of each cluster."""
    documents: Array
    """Documents of each cluster."""
    top: float | None
    """The value of a right document where wrong ones have 0; None without bounds."""
    binary: bool
    """Whether every document is right or wrong, on both sides."""
    seed: int

    @property
    def difference(self) -> float:
        """The mean difference."""
        return float(self.steps.sum() / self.sizes.sum())

    @property
    def counted(self) -> bool:
        """Whether every document weighs the same."""
        return bool((self.sizes == self.documents).all())

    def stderr(self) -> float | None:
        """Of the difference; None where a stratum has one cluster."""
        total = self.sizes.sum()
        parts = [
            (self.level_steps[rows] - mean * self.sizes[rows]) / total
            for rows, mean in self._strata()
        ]
        return mean_estimate(self.difference, parts, int(self.documents.sum())).stderr

    def _strata(self) -> list[tuple[NDArray[np.bool_], float]]:
        """The clusters of each stratum, and its mean difference."""
        import numpy as np

        found = []
        for stratum in np.unique(self.strata):
            rows = self.strata == stratum
            found.append((rows, float(self.level_steps[rows].sum() / self.sizes[rows].sum())))
        return found

    def interval_method(self) -> str:
        """`bonett-price`, `gaffke` or `t`."""
        if self.binary:
            return "bonett-price"
        return "gaffke" if self.top is not None and len(self.steps) < FEW else "t"

    def interval(self, level: float) -> tuple[float, float] | None:
        """The two-sided interval; None where a stratum has one cluster only.

        Strata are independent: the distances of their ends from their means add as variances do.
        """
        below = above = 0.0
        strata = self._strata()
        ends = [self._stratum_interval(rows, mean, level) for rows, mean in strata]
        if len(ends) == 1:
            return ends[0]
        for (rows, mean), found in zip(strata, ends, strict=True):
            if found is None:
                return None
            share = float(self.sizes[rows].sum() / self.sizes.sum())
            below += (share * (mean - found[0])) ** 2
            above += (share * (found[1] - mean)) ** 2
        value, most = self.difference, math.inf if self.top is None else self.top
        return max(value - math.sqrt(below), -most), min(value + math.sqrt(above), most)

    def _stratum_interval(
        self, rows: NDArray[np.bool_], mean: float, level: float
    ) -> tuple[float, float] | None:
        steps, sizes = self.level_steps[rows], self.sizes[rows]
        if len(steps) < 2:
            return None
        if self.binary:
            assert self.top is not None
            # In documents of this stratum.
            unit = float(sizes.sum() / self.documents[rows].sum())
            added = _usual_size(self.steps[rows] / self.top / unit, sizes / unit)
            low, high = _bonett_price(steps / self.top / unit, sizes / unit, added, level)
            return min(low * self.top, mean), max(high * self.top, mean)
        if self.top is not None and len(self.steps) < FEW:
            low, high = self._bounded(rows).interval(level)
            return min(low, mean), max(high, mean)
        found = mean_estimate(mean, [(steps - mean * sizes) / sizes.sum()], len(steps))
        assert found.stderr is not None
        return t_interval(mean, found.stderr, len(steps) - 1, level)

    def _bounded(self, rows: NDArray[np.bool_]) -> BoundedMean:
        assert self.top is not None
        return bounded_mean(self.level_steps[rows], self.sizes[rows], self.top, self.seed)

    def test(self) -> tuple[float, str]:
        """The p-value of no difference, and the test's name."""
        import numpy as np

        if self.binary and self.counted:
            assert self.top is not None
            whole = np.rint(self.steps / self.top).astype(np.int64)
            if (self.documents == 1).all():
                won, lost = int((whole > 0).sum()), int((whole < 0).sum())
                return mcnemar(won, lost), "mcnemar, exact"
            return sign_flip_counts(whole), "sign-flip, exact"
        strata = self._strata()
        if len(strata) > 1:
            # A small member that weighs as much as a large one decides alone: signs of few
            # documents would be flipped, which does not test the mean.
            return self._p_of_interval(), "mover"
        if self.interval_method() == "gaffke" and len(self.steps) > 1:
            return self._bounded(strata[0][0]).p_value(), "gaffke"
        p_value, exact = sign_flip(self.steps, self.seed)
        return p_value, "sign-flip, exact" if exact else "sign-flip"

    def _p_of_interval(self) -> float:
        """The level at which the interval begins to exclude 0; 1 where there is none."""
        low, high = math.log(_SMALLEST), 0.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            ends = self.interval(1 - math.exp(middle))
            if ends is None:
                return 1.0
            if ends[0] <= 0 <= ends[1]:
                low = middle
            else:
                high = middle
        return math.exp(high)

    def detectable(self, tests: int) -> float | None:
        """The smallest difference that the test finds with 80 % power, corrected for `tests`.

        Of right or wrong answers it is the power of the exact test, from the observed discordance.
        Clusters count as K = (Σ|s|)²/Σs² discordant ones of one size s = Σs²/Σ|s|.
        """
        import numpy as np

        clusters = len(self.steps)
        if not self.binary:
            ends = self.interval(1 - LEVEL)
            if ends is None or ends[0] == ends[1]:
                return None
            degrees = clusters - len(np.unique(self.strata))
            stderr = (ends[1] - ends[0]) / 2 / t_quantile(degrees)
            return detectable_difference(stderr, degrees, LEVEL / tests)
        assert self.top is not None
        steps = self.steps / self.top
        total = float(abs(steps).sum())
        heaviest = float((self.sizes / self.documents).max())
        size = float((steps**2).sum()) / total if total else heaviest
        # One more, because few discordant documents understate how many there are.
        observed = (total / size + 1) / (clusters + 1)
        step = smallest_difference(clusters, lambda step: max(observed, step), LEVEL / tests)
        if step is None:
            return None
        found = step * size * clusters / float(self.sizes.sum())
        return found * self.top if found <= 1 else None


def _usual_size(steps: Array, sizes: Array) -> float:
    """By how many documents a cluster differs that differs at all; at least one. Where none does,
    those of a cluster may all go together."""
    total = float(abs(steps).sum())
    return max(1.0, float((steps**2).sum()) / total if total else float(sizes.mean()))


def _bonett_price(steps: Array, sizes: Array, added: float, level: float) -> tuple[float, float]:
    """A t interval after adding one document won and one lost (Bonett and Price, 2012); of clusters
    that differ as a whole, as many documents as that is.

    Where few clusters differ, the observed differences vary too little, and not at all where none
    does.
    """
    import numpy as np

    more = np.concatenate([steps, [added, -added]])
    weights = np.concatenate([sizes, [added, added]])
    mean = float(more.sum() / weights.sum())
    influence = (more - mean * weights) / weights.sum()
    count = len(more)
    stderr = math.sqrt(count / (count - 1) * float((influence**2).sum()))
    low, high = t_interval(mean, stderr, len(steps) - 1, level)
    return max(low, -1.0), min(high, 1.0)
