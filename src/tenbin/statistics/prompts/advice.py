"""Whether a budget is worth it, and which.

Where prompts hardly differ, a few whole templates say more than many prompts on a few documents
each: the noise of single prompts is then larger than the differences between them. Both are
simulated with the spread and the noise that were seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.prompts.design import SMALLEST_LOAD
from tenbin.statistics.prompts.distribution import ScoreDistribution
from tenbin.statistics.prompts.mixture import Scale, scale_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

BUDGETS = (2, 4, 8, 16)
TARGET = 0.02
"""The quantile error, on a scale from 0 to 1, that a budget should reach."""
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_WORLDS = 30
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """One price, spent in two ways."""

    per_document: int
    """The price in full runs: prompts a document, or whole templates."""
    budget_error: float | None
    """The expected error of a quantile, mean over 5, 25, 50, 75, 95 %, if every document is asked
    this many of all prompts; None where prompts would be asked on too few documents."""
    whole_error: float
    """The same if this many templates, drawn at random, are run on all documents."""

    @property
    def whole(self) -> bool:
        """Whether whole templates are the better use of this price."""
        return self.budget_error is None or self.whole_error < self.budget_error


@dataclass(frozen=True, slots=True)
class Advice:
    """What to spend, and on what."""

    plans: tuple[Plan, ...]
    """By price."""
    target: float
    """The error of a quantile that was asked for."""
    per_document: int | None
    """The smallest price that reaches it; None where none of the plans does."""
    whole: bool
    """Whether whole templates are better at that price, or, without one, at the highest."""


def advise(
    found: ScoreDistribution,
    seed: int,
    budgets: Sequence[int] = BUDGETS,
    target: float | None = None,
    top: float | None = 1.0,
) -> Advice:
    """Simulate budgets with the distribution and the noise that were seen.

    Args:
        found: The distribution of a sweep, or of a first small one.
        seed: Makes the simulation repeatable.
        budgets: Prices in full runs.
        target: The error of a quantile to reach; `TARGET` of the highest value by default.
        top: The highest value there can be.
    """
    import numpy as np

    reach = TARGET * (top or 1.0) if target is None else target
    generator = np.random.default_rng([abs(seed), found.prompts])
    middle = (np.arange(found.prompts) + 0.5) / found.prompts
    truth = np.interp(
        middle, [one.share for one in found.curve], [one.value for one in found.curve]
    )
    plans = tuple(
        Plan(
            budget,
            _budget_error(found, truth, budget, top, generator),
            _whole_error(truth, budget, generator),
        )
        for budget in sorted({min(budget, found.prompts) for budget in budgets})
    )
    for plan in plans:
        errors = [plan.whole_error] + ([] if plan.budget_error is None else [plan.budget_error])
        if min(errors) <= reach:
            return Advice(plans, reach, plan.per_document, plan.whole)
    return Advice(plans, reach, None, plans[-1].whole)


def _whole_error(truth: Array, budget: int, generator: np.random.Generator) -> float:
    """The error of quantiles of a few true scores drawn at random."""
    import numpy as np

    picks = np.argsort(generator.random((_WORLDS * 10, len(truth))), axis=1)[:, :budget]
    seen = np.quantile(truth[picks], _SHARES, axis=1)
    return float(np.abs(seen - np.quantile(truth, _SHARES)[:, None]).mean())


def _budget_error(
    found: ScoreDistribution,
    truth: Array,
    budget: int,
    top: float | None,
    generator: np.random.Generator,
) -> float | None:
    """The error of quantiles by deconvolution of all scores with the noise of this budget."""
    import numpy as np

    load = found.documents * budget / found.prompts
    if load < SMALLEST_LOAD:
        return None
    noise = np.sqrt(found.cell_variance * (1 - budget / found.prompts) / load)
    if noise < 1e-9:
        return 0.0
    aim = np.quantile(truth, _SHARES)
    errors = []
    for _ in range(_WORLDS):
        seen = truth + noise * generator.standard_normal(len(truth))
        scale = scale_of(seen, np.full(len(truth), noise**2), top)
        errors.append(np.abs(_deconvolved(scale, seen, noise) - aim).mean())
    return float(np.mean(errors))


def _deconvolved(scale: Scale, seen: Array, noise: float) -> Array:
    """Quantiles of true scores by EM on the grid, from a normal distribution of the right width.

    Much faster than drawing, and about as far off.
    """
    import numpy as np

    width = max(float(seen.var(ddof=1)) - noise**2, scale.step**2)
    prior = np.exp(-0.5 * (scale.grid - seen.mean()) ** 2 / width) + 1e-3
    for _ in range(_ROUNDS):
        prior = prior / prior.sum()
        prior = prior * (scale.likelihood / (scale.likelihood @ prior)[:, None]).sum(axis=0)
    mass = np.cumsum(prior)
    found: Array = np.interp(np.array(_SHARES) * mass[-1], mass, scale.grid)
    return found
