"""Deconvolution: what true scores of prompts may be, given noisy ones.

The true scores come from a mixture of a few normal distributions of unknown place, width and weight
(a truncated Dirichlet process). Everything lies on a grid: which place and width a component has is
drawn from a list, so that each step of the Gibbs sampler is a matrix product, the noise may depend
on the true score, and bounds of the scale need no care. One narrow component makes all prompts
equally good; two with nothing between them make a gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Numbers = NDArray[np.intp]

_GRID = 100
_PLACES, _WIDTHS = 36, 8
_NARROWEST, _WIDEST = 0.004, 0.4
"""Widths of a component, as shares of the grid."""
_COMPONENTS = 5
_CONCENTRATION = 0.3
"""Low: prompts share one component unless the scores speak for more."""
_CHAINS, _BURN_IN, _THIN = 10, 40, 4
_BOUNDED = 0.5
"""How much of the noise follows s(1−s), as that of right and wrong answers does."""


@dataclass(frozen=True)
class Scale:
    """The grid of true scores, and how likely each makes the estimates."""

    grid: Array
    likelihood: Array
    """Prompts × grid."""

    @property
    def step(self) -> float:
        """The distance of neighbours on the grid."""
        return float(self.grid[1] - self.grid[0])


def scale_of(values: Array, variances: Array, top: float | None) -> Scale:
    """The grid that covers all scores, with the likelihood of each."""
    import numpy as np

    reach = 2 * float(np.sqrt(np.median(variances)))
    low, high = float(values.min()) - reach, float(values.max()) + reach
    if top is not None:
        low, high = max(low, 0.0), min(high, top)
    grid = np.linspace(low, max(high, low + 1e-6), _GRID)
    noise = np.repeat(variances[:, None], _GRID, axis=1)
    if top is not None:
        share = np.clip(grid / top, 0.03, 0.97)
        mean = float(np.clip(values * (top - values), 0.0, None).mean() + variances.mean())
        course = share * (1 - share) * top**2 * float(variances.mean()) / mean
        noise = (1 - _BOUNDED) * noise + _BOUNDED * course[None, :]
    noise = np.maximum(noise, (grid[1] - grid[0]) ** 2 / 4)
    likelihood = np.exp(-0.5 * (values[:, None] - grid[None, :]) ** 2 / noise) / np.sqrt(noise)
    return Scale(grid, np.maximum(likelihood, 1e-300))


def draw_true_scores(scale: Scale, draws: int, generator: np.random.Generator) -> Array:
    """Draws × prompts: true scores as they may be."""
    import numpy as np

    shapes, prior = _components(scale)
    fits = scale.likelihood @ shapes.T
    logs = np.log(np.maximum(fits, 1e-300))
    prompts = len(fits)
    places = generator.integers(0, len(shapes), (_CHAINS, _COMPONENTS))
    weights = np.full((_CHAINS, _COMPONENTS), 1 / _COMPONENTS)
    chains = np.arange(_CHAINS)
    drawn: list[Array] = []
    for step in range(_BURN_IN + _THIN * -(-draws // _CHAINS)):
        member = _pick(np.moveaxis(fits[:, places] * weights, 0, 1), generator)
        if step >= _BURN_IN and (step - _BURN_IN) % _THIN == _THIN - 1:
            drawn += [
                scale.grid[
                    _pick(shapes[places[chain, member[chain]]] * scale.likelihood, generator)
                ]
                for chain in chains
            ]
        inside = (member[:, None, :] == np.arange(_COMPONENTS)[None, :, None]).astype(float)
        score = inside.reshape(-1, prompts) @ logs + prior
        score -= score.max(axis=1, keepdims=True)
        places = _pick(np.exp(score), generator).reshape(_CHAINS, _COMPONENTS)
        count = inside.sum(axis=2)
        weights = generator.gamma(count + _CONCENTRATION / _COMPONENTS) + 1e-12
        weights /= weights.sum(axis=1, keepdims=True)
    result = np.stack(drawn[:draws])
    return result + scale.step * (generator.random(result.shape) - 0.5)


def _components(scale: Scale) -> tuple[Array, Array]:
    """Every component there can be, as a distribution on the grid, and the log of its prior."""
    import numpy as np

    low, high = float(scale.grid[0]), float(scale.grid[-1])
    places = np.linspace(low, high, _PLACES)
    widths = np.geomspace(_NARROWEST, _WIDEST, _WIDTHS) * (high - low)
    drawn = np.maximum(widths, scale.step / 3)[None, :, None]
    shapes = np.exp(-0.5 * ((scale.grid - places[:, None, None]) / drawn) ** 2)
    shapes = shapes.reshape(-1, len(scale.grid))
    # Widths are spaced by factors; the prior lies between an even one of these and one of widths.
    return shapes / shapes.sum(axis=1, keepdims=True), np.tile(0.5 * np.log(widths), _PLACES)


def _pick(mass: Array, generator: np.random.Generator) -> Numbers:
    """One position along the last axis, as likely as its mass."""
    import numpy as np

    total = np.cumsum(mass, axis=-1)
    level = generator.random(total.shape[:-1]) * total[..., -1]
    picks: Numbers = (total < level[..., None]).sum(axis=-1).clip(0, mass.shape[-1] - 1)
    return picks
