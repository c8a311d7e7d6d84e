"""The distribution of a model's score over prompts, from noisy scores of each.

Estimated scores scatter more than true ones. Deconvolution takes the noise out: true scores of all
prompts are drawn as they may be given the estimates, each draw is centred on a draw of the mean,
and quantiles are read from the draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.bootstrap import LEVEL
from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.mean import MeanScore, mean_score
from tenbin.statistics.prompts.mixture import draw_true_scores, scale_of
from tenbin.statistics.prompts.per_prompt import PromptScores, prompt_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Numbers = NDArray[np.intp]

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Worst, 5, 25, 50, 75, 95 %, best."""
DRAWS = 400
CURVE = 101
"""Shares at which the curve is given, from the worst prompt to the best."""
_GAP = 0.3
"""A gap takes this share of the range of scores; more with few prompts, which lie apart anyway."""
_GAP_DRAWS = 0.2
"""Share of the draws that must have a gap: without one few draws ever show it, and with one noise
hides it in many."""
_LEAST_GAP = 0.02
"""A narrower gap, as a share of the highest value, is none that anybody would call so: where all
prompts score the same, any step is wide."""
_EDGE = 0.05
"""Share of prompts that must lie on each side of a gap: single prompts make none."""


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
    ordered = np.sort(drawn := draw_scores(found, mean, matrix.bound, seed, draws), axis=1)
    gap = _gap(ordered, matrix.bound)
    curve = _band(ordered)
    spread = np.quantile(drawn.std(axis=1), (0.5, 0.025, 0.975))
    quantiles = _quantiles(ordered, QUANTILES)
    if gap is not None:
        at = [round(share * (CURVE - 1)) for share in QUANTILES]
        quantiles = tuple(curve[number] for number in at)
    return ScoreDistribution(
        mean,
        quantiles,
        curve,
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

    if float(found.variances.max()) < 1e-18:
        return np.repeat(found.values[None, :], draws, axis=0)
    generator = np.random.default_rng([abs(seed), len(found.values), draws])
    scale = scale_of(found.values, found.variances, top)
    drawn = draw_true_scores(scale, draws, generator)
    centre = mean.value + (mean.stderr or 0.0) * generator.standard_normal(draws)
    drawn += (centre - drawn.mean(axis=1))[:, None]
    return drawn if top is None else drawn.clip(0.0, top)


def _gap(ordered: Array, top: float | None) -> tuple[float, float] | None:
    """The scores between which hardly any prompt lies, where enough draws agree that there are."""
    import numpy as np

    prompts = ordered.shape[1]
    edge = max(1, int(_EDGE * prompts))
    inner = ordered[:, edge : prompts - edge]
    if inner.shape[1] < 3:
        return None
    steps = np.diff(inner, axis=1)
    widest = steps.argmax(axis=1)
    rows = np.arange(len(inner))
    reach = inner[:, -1] - inner[:, 0]
    # The widest of the steps between evenly scattered prompts is about log(count) / count.
    share = max(_GAP, 3 * math.log(prompts) / prompts)
    wide = steps[rows, widest] > share * np.maximum(reach, 1e-12)
    if wide.mean() < _GAP_DRAWS:
        return None
    low = np.median(inner[rows, widest][wide])
    high = np.median(inner[rows, widest + 1][wide])
    if high - low < _LEAST_GAP * (top or 0.0):
        return None
    return float(low), float(high)


def _band(ordered: Array) -> tuple[Quantile, ...]:
    """The curve of quantiles with a band that holds 95 % of the draws at every share at once.

    The band leaves out equally many draws at each end and each share, as many as it can.
    """
    import numpy as np

    shares = np.linspace(0.0, 1.0, CURVE)
    curves = np.quantile(ordered, shares, axis=1)
    draws = curves.shape[1]
    ranks = curves.argsort(axis=1).argsort(axis=1)
    outermost = np.minimum(ranks, draws - 1 - ranks).min(axis=0)
    cut = int(np.quantile(outermost, 1 - LEVEL))
    sorted_curves = np.sort(curves, axis=1)
    middle = np.median(curves, axis=1)
    return tuple(
        Quantile(
            float(share),
            float(middle[at]),
            float(sorted_curves[at, cut]),
            float(sorted_curves[at, draws - 1 - cut]),
        )
        for at, share in enumerate(shares)
    )


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
