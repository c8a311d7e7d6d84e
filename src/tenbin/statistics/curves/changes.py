"""Bands and changes of a learning curve: all steps of a training on the same documents.

Clusters of documents are resampled for all steps at once, so that what steps share cancels: other
documents would move the whole curve up or down, and much less change its shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.bootstrap import RESAMPLES, resampled_scores
from tenbin.statistics.intervals import t_quantile
from tenbin.statistics.paired import FamilyComparison, compare_members, holm
from tenbin.statistics.power import FEWEST, LEVEL, TOO_FEW
from tenbin.statistics.shared_documents import SharedDocuments
from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Pairs = Sequence[tuple[int, int]]

_BY_LOGARITHM = ("perplexity", "weighted_perplexity")
"""Scores that fall by factors: the first steps of a training would swamp all others."""
_NEVER = 1e-12


@dataclass(frozen=True, slots=True)
class StepChange:
    """The score of a later step less that of an earlier one, on the same documents."""

    first: int
    """Position of the earlier step."""
    second: int
    difference: float
    low: float | None
    """The 95 % interval of this difference alone; None where documents are too few."""
    high: float | None
    p_value: float
    """Two-sided, of no difference, corrected for all changes that were tested together."""
    test: str
    """`mcnemar`, `sign-flip`, or `resampling` where documents are not right or wrong."""

    @property
    def shown(self) -> bool:
        """Whether it is more than noise."""
        return self.p_value < LEVEL


@dataclass(frozen=True, slots=True)
class StepScores:
    """The score of every step, and how all of them vary together from sample to sample."""

    shared: SharedDocuments
    values: tuple[float, ...]
    resampled: Array | None
    """Resamples × steps; None where documents are too few to tell."""
    seed: int
    higher_is_better: bool
    top: float | None

    @classmethod
    def of(
        cls,
        shared: SharedDocuments,
        seed: int = 0,
        higher_is_better: bool = True,
        top: float | None = 1.0,
        resamples: int = RESAMPLES,
    ) -> StepScores:
        """Score every step.

        Args:
            shared: The documents; its models are the steps in their order.
            seed: Makes resamples repeatable.
            higher_is_better: Which way is better.
            top: The value of a right document where wrong ones have 0; None where there is none.
            resamples: Of the clusters.
        """
        import numpy as np

        values = tuple(float(value) for value in shared.score(shared.rows.sum(axis=0)))
        resampling = shared.resampling()
        few = len(shared.rows) < FEWEST or any(len(rows) < 2 for rows in resampling.groups())
        drawn = None if few else resampled_scores(resampling, seed, resamples)
        if drawn is not None and not np.isfinite(drawn).all():
            drawn = None
        return cls(shared, values, drawn, abs(seed), higher_is_better, top)

    @property
    def reason(self) -> str | None:
        """Why there are neither bands nor tests; None if there are."""
        return TOO_FEW if self.resampled is None else None

    def band(self) -> list[tuple[float, float]] | None:
        """The simultaneous 95 % band of the curve's shape: one interval for each step.

        What is estimated is how far each step lies from the mean of all steps. With a probability
        of 95 % every one of these distances lies within the band at once. None where documents are
        too few, or there is one step only.
        """
        import numpy as np

        if self.resampled is None or len(self.values) < 2:
            return None
        scores = self._scaled(self.resampled)
        centred = scores - scores.mean(axis=1, keepdims=True)
        noise = centred - centred.mean(axis=0)
        count = len(self.values)
        deviations = noise.std(axis=0, ddof=1)
        errors = self._errors(deviations, 1 - 1 / count)
        varying = deviations > _NEVER
        if not varying.any():
            largest = np.zeros(len(noise))
        else:
            largest = (abs(noise[:, varying]) / deviations[varying]).max(axis=1)
        reach = self._quantile(largest) * errors
        own = self._scaled(np.array(self.values))
        return [
            self._unscaled(low, high) for low, high in zip(own - reach, own + reach, strict=True)
        ]

    def changes(self, pairs: Pairs) -> list[StepChange]:
        """Differences between steps, with Holm's correction for their number.

        Right or wrong documents have the exact paired test. All others have a t test whose error is
        that of the resamples: one set of them serves all pairs, whatever the metric.
        """
        if self.resampled is None or not pairs:
            return []
        found = [self._compared(*pair) for pair in pairs] if self._counted() else []
        if found and all(one.test.startswith(("mcnemar", "sign-flip")) for one in found):
            corrected = holm([one.p_value for one in found])
            return [
                StepChange(
                    first, second, one.difference, one.low, one.high, p_value,
                    one.test.removesuffix(", exact"),
                )
                for (first, second), one, p_value in zip(pairs, found, corrected, strict=True)
            ]  # fmt: skip
        return self._by_resampling(pairs)

    def _counted(self) -> bool:
        """Whether all documents are right or wrong and weigh the same."""
        import numpy as np

        if self.top is None or len(self.shared.members) > 1:
            return False
        ((_, models, _),) = self.shared.members
        return all(one.linear and np.isin(one.values, (0.0, self.top)).all() for one in models)

    def _compared(self, first: int, second: int) -> FamilyComparison:
        pair = self.shared.pair(first, second)
        return compare_members(pair, self.seed, self.higher_is_better, self.top, None)

    def _by_resampling(self, pairs: Pairs) -> list[StepChange]:
        import numpy as np

        assert self.resampled is not None
        one, two = (np.array([pair[at] for pair in pairs]) for at in (0, 1))
        values = np.array(self.values)
        raw = self.resampled[:, two] - self.resampled[:, one]
        width = t_quantile(self._degrees) * self._errors(raw.std(axis=0, ddof=1), 1.0)
        steps = values[two] - values[one]
        scaled = self._scaled(self.resampled)
        errors = self._errors((scaled[:, two] - scaled[:, one]).std(axis=0, ddof=1), 1.0)
        own = self._scaled(values)
        moved = abs(own[two] - own[one])
        # Two steps that differ by the same in every document differ without any doubt.
        certain = np.where(moved > _NEVER, np.inf, 0.0)
        observed = np.divide(moved, errors, out=certain, where=errors > _NEVER)
        p_values = holm([2 * float(special().stdtr(self._degrees, -each)) for each in observed])
        return [
            StepChange(
                *pairs[at], float(steps[at]), float(steps[at] - width[at]),
                float(steps[at] + width[at]), p_values[at], "resampling",
            )
            for at in range(len(pairs))
        ]  # fmt: skip

    @property
    def _degrees(self) -> int:
        return self.shared.resampling().degrees

    def _errors(self, deviations: Array, share: float) -> Array:
        """Standard errors from the spread of resamples, which vary too little.

        Where values have a top, two more clusters, one won and one lost, stand for steps between
        which few documents differ.

        Args:
            deviations: Spread of resamples.
            share: How far a step's distance moves with its own score.
        """
        import numpy as np

        clusters = len(self.shared.rows)
        more = 0.0
        if self.top is not None:
            size = self.shared.documents / clusters
            more = 2 * (share * self.top * self.shared.heaviest * size) ** 2
        errors: Array = np.sqrt(deviations**2 * clusters / self._degrees + more)
        return errors

    def _quantile(self, largest: Array) -> float:
        """The 95 % quantile, on the scale of a t distribution instead of the normal one."""
        import numpy as np

        functions = special()
        normal = float(np.quantile(largest, 1 - LEVEL, method="higher"))
        normal = max(normal, -float(functions.ndtri(LEVEL / 2)))
        found = -float(functions.stdtrit(self._degrees, functions.ndtr(-normal)))
        return found if math.isfinite(found) else math.inf

    @property
    def _logarithmic(self) -> bool:
        return all(
            model.aggregation in _BY_LOGARITHM
            for _, models, _ in self.shared.members
            for model in models
        )

    def _scaled(self, scores: Array) -> Array:
        import numpy as np

        scaled: Array = np.log(scores) if self._logarithmic else scores
        return scaled

    def _unscaled(self, low: float, high: float) -> tuple[float, float]:
        if self._logarithmic:
            return math.exp(low), math.exp(high)
        return float(low), float(high)
