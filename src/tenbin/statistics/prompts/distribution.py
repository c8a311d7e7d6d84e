"""The distribution of a model's score over prompts, from noisy scores of each.

Estimated scores scatter more than true ones. Deconvolution takes the noise out: a distribution of
true scores on a grid is fitted by EM, and each prompt's true score is drawn given its estimate. The
uncertainty of the fit enters by weighting prompts at random (Bayesian bootstrap), that of the mean
by centring each draw on a draw of the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.mean import MeanScore, mean_score
from tenbin.statistics.prompts.per_prompt import PromptScores, prompt_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Numbers = NDArray[np.intp]

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Worst, 5, 25, 50, 75, 95 %, best."""
DRAWS = 400
_GRID = 200
_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Quantile:
    """A score that a share of the prompts lies below."""

    share: float
    """0 is the worst prompt, 1 the best."""
    value: float
    low: float
    """The ends of the 95 % interval; of a band for all shares at once where there is a gap."""
    high: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where one prompt lies in the distribution."""

    prompt: int
    """The column of the matrix."""
    value: float
    """Its score, drawn towards the others as far as it is uncertain."""
    low: float
    high: float
    rank: float
    """The share of prompts that are worse."""
    rank_low: float
    rank_high: float


@dataclass(frozen=True, slots=True)
class ScoreDistribution:
    """The scores of all prompts on these documents, as a full sweep would have given them."""

    mean: MeanScore
    quantiles: tuple[Quantile, ...]
    """At `QUANTILES`."""
    curve: tuple[Quantile, ...]
    """The same at many shares, for a picture; low and high are a simultaneous band."""
    spread: float
    """The standard deviation of scores over prompts."""
    spread_low: float
    spread_high: float
    noise: float
    """The standard error of one prompt's own score, root mean square over prompts."""
    cell_variance: float
    """The variance of one cell that the prediction leaves: what `noise` would be at other budgets
    follows from it."""
    gap: tuple[float, float] | None
    """Scores between which hardly any prompt lies, though prompts lie on both sides; None without
    such a gap. Quantiles near it are uncertain by the width of the gap."""
    simultaneous: bool
    """Whether the quantiles' low and high are those of the simultaneous band."""
    places: tuple[Place, ...]
    """One for each prompt that was observed."""
    prompts: int
    documents: int


def score_distribution(
    matrix: PromptMatrix,
    seed: int,
    draws: int = DRAWS,
    scores: PromptScores | None = None,
) -> ScoreDistribution:
    """Estimate the distribution of scores over prompts.

    Args:
        matrix: What was observed.
        seed: Makes folds and draws repeatable.
        draws: Draws of all prompts' scores.
        scores: The prompts' scores, where they are known already.
    """
    import numpy as np

    mean = mean_score(matrix)
    found = prompt_scores(matrix, seed) if scores is None else scores
    drawn = draw_scores(found, mean, matrix.top, seed, draws)
    ordered = np.sort(drawn, axis=1)
    shares = np.linspace(0.0, 1.0, 101)
    gap = None
    spread = np.quantile(drawn.std(axis=1), (0.5, 0.025, 0.975))
    return ScoreDistribution(
        mean,
        _quantiles(ordered, QUANTILES),
        _quantiles(ordered, tuple(float(share) for share in shares)),
        float(spread[0]),
        float(spread[1]),
        float(spread[2]),
        float(np.sqrt(found.variances.mean())),
        _cell_variance(matrix, found),
        gap,
        gap is not None,
        _places(found.prompts, drawn),
        matrix.prompts,
        matrix.documents,
    )


def _cell_variance(matrix: PromptMatrix, found: PromptScores) -> float:
    """The noise of a prompt's score times the documents it was asked on, without the share that
    asking all of them takes away."""
    import numpy as np

    unasked = (1 - matrix.asked.mean(axis=0))[found.prompts]
    part = unasked > 0
    if not part.any():
        return float((found.residuals**2).sum() / matrix.observed.sum())
    return float(np.mean((found.variances * found.counts)[part] / unasked[part]))


def draw_scores(
    found: PromptScores, mean: MeanScore, top: float | None, seed: int, draws: int
) -> Array:
    """Draws × prompts: true scores of all prompts as they may be, given the estimates."""
    import numpy as np

    noise = np.sqrt(found.variances)
    if float(noise.max()) < 1e-9:
        return np.repeat(found.values[None, :], draws, axis=0)
    grid, likelihood = grid_likelihood(found.values, noise, top)
    step = grid[1] - grid[0]
    generator = np.random.default_rng([abs(seed), len(noise), draws])
    weights = generator.exponential(size=(draws, len(noise)))
    weights /= weights.sum(axis=1, keepdims=True)
    priors = fit_priors(likelihood, weights)
    drawn = np.empty((draws, len(noise)))
    for at in range(draws):
        mass = np.cumsum(priors[at][None, :] * likelihood, axis=1)
        level = generator.random(len(noise)) * mass[:, -1]
        drawn[at] = grid[(mass < level[:, None]).sum(axis=1).clip(0, len(grid) - 1)]
    drawn += step * (generator.random(drawn.shape) - 0.5)
    centre = mean.value + (mean.stderr or 0.0) * generator.standard_normal(draws)
    drawn += (centre - drawn.mean(axis=1))[:, None]
    return drawn if top is None else drawn.clip(0.0, top)


def fit_priors(likelihood: Array, weights: Array, rounds: int = _ROUNDS) -> Array:
    """Distributions on the grid, one for each row of weights, by EM from an even one.

    Args:
        likelihood: Prompts × grid.
        weights: Draws × prompts, summing to 1 in each row.
        rounds: Steps; few of them keep the distribution smooth.
    """
    import numpy as np

    priors = np.full((len(weights), likelihood.shape[1]), 1.0 / likelihood.shape[1])
    for _ in range(rounds):
        evidence = priors @ likelihood.T
        priors = priors * ((weights / evidence) @ likelihood)
        priors /= priors.sum(axis=1, keepdims=True)
    return priors


def grid_likelihood(values: Array, noise: Array, top: float | None) -> tuple[Array, Array]:
    """Scores that prompts may truly have; and prompts × these: how likely each makes the
    estimate."""
    import numpy as np

    reach = 2 * float(np.median(noise))
    low, high = float(values.min()) - reach, float(values.max()) + reach
    if top is not None:
        low, high = max(low, 0.0), min(high, top)
    grid = np.linspace(low, max(high, low + 1e-6), _GRID)
    scale = np.maximum(noise, (grid[1] - grid[0]) / 2)[:, None]
    likelihood = np.exp(-0.5 * ((values[:, None] - grid[None, :]) / scale) ** 2)
    return grid, np.maximum(likelihood, 1e-300)


def _quantiles(ordered: Array, shares: Sequence[float]) -> tuple[Quantile, ...]:
    import numpy as np

    at = np.quantile(ordered, shares, axis=1)
    low, value, high = np.quantile(at, (0.025, 0.5, 0.975), axis=1)
    return tuple(
        Quantile(share, float(value[number]), float(low[number]), float(high[number]))
        for number, share in enumerate(shares)
    )


def _places(prompts: Numbers, drawn: Array) -> tuple[Place, ...]:
    import numpy as np

    count = drawn.shape[1]
    ranks = np.argsort(np.argsort(drawn, axis=1), axis=1) / max(count - 1, 1)
    low, value, high = np.quantile(drawn, (0.025, 0.5, 0.975), axis=0)
    rank_low, rank, rank_high = np.quantile(ranks, (0.025, 0.5, 0.975), axis=0)
    return tuple(
        Place(int(prompts[at]), *(float(part[at]) for part in parts))
        for at in range(count)
        for parts in [(value, low, high, rank, rank_low, rank_high)]
    )
