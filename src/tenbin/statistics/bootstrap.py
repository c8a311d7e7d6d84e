"""Bootstrap errors, by cluster, of scores that are not means.

Every statistic here is a function of summed rows, one row per cluster. Clusters with equal rows are
interchangeable, so a resample is a multinomial sample over distinct rows, and two thousand of them
are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RESAMPLES = 2000
LEVEL = 0.95

_AT_ONCE = 20_000_000
"""Numbers held in memory at once while resampling."""
_DRAWS_A_BINOMIAL = 8
_LARGEST = 1e100
"""Scores beyond this have no error: its cubes would leave the range of a float."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """A score as a function of summed rows, and the strata in which clusters are resampled."""

    rows: Array
    """Clusters × features."""
    score: Callable[[Array], Array]
    """From sums, shape (..., features), to scores, shape (...)."""
    strata: NDArray[Any] | None = None
    """The stratum of each cluster: clusters are resampled within it. None: one stratum."""

    @property
    def degrees(self) -> int:
        """Clusters minus strata: the degrees of freedom of the resamples."""
        return len(self.rows) - len(self.groups())

    def groups(self) -> list[Array]:
        """The rows of each stratum."""
        import numpy as np

        if self.strata is None:
            return [self.rows]
        return [self.rows[self.strata == stratum] for stratum in np.unique(self.strata)]


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Standard error and interval of a score, from resamples."""

    stderr: float
    low: float | None
    """None where nearly all resamples give the same score, which says nothing of its variation."""
    high: float | None
    ends: Callable[[float], tuple[float, float]] | None = None
    """From a level to the interval."""

    def interval(self, level: float) -> tuple[float, float] | None:
        """The interval of another level."""
        return None if self.ends is None else self.ends(level)


def bootstrap(resampling: Resampling, seed: int, resamples: int = RESAMPLES) -> Bootstrap | None:
    """Standard error and 95 % interval; None where a stratum has only one cluster.

    None too for scores out of range, such as a perplexity with a wrong unit. The interval is the
    bias-corrected and accelerated one (BCa). Its level is widened as a t interval is wider than a
    normal one, because resamples vary too little, by the factor (G-1)/G.
    """
    groups = resampling.groups()
    if any(len(rows) < 2 for rows in groups):
        return None
    value = float(resampling.score(resampling.rows.sum(axis=0)))
    scores = resampled_scores(resampling, seed, resamples)
    if float(abs(scores).max()) > _LARGEST:
        return None
    stderr = float(scores.std(ddof=1))
    if float(scores.max() - scores.min()) < 1e-12:
        return Bootstrap(0.0, None, None)
    acceleration = _acceleration(resampling)

    def ends(level: float) -> tuple[float, float]:
        return _bca(value, scores, acceleration, resampling, level)

    low, high = ends(LEVEL)
    if high - low < 1e-12:
        # All right, with a class so small that a few resamples lack it.
        return Bootstrap(stderr, None, None)
    return Bootstrap(stderr, low, high, ends)


def resampled_scores(resampling: Resampling, seed: int, resamples: int = RESAMPLES) -> Array:
    """The scores of resampled sets of clusters."""
    import numpy as np

    generator = np.random.default_rng(abs(seed))
    groups = [_Drawn.of(rows) for rows in resampling.groups()]
    widest = max(max(len(group.rows), len(group.counts)) for group in groups)
    step = max(1, min(resamples, _AT_ONCE // max(1, widest)))
    parts = []
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        sums = np.zeros((size, resampling.rows.shape[1]))
        for group in groups:
            sums += group.draw(generator, size) @ group.rows
        parts.append(resampling.score(sums))
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Rows to resample from, with their frequencies."""

    rows: Array
    counts: NDArray[Any]

    @classmethod
    def of(cls, rows: Array) -> _Drawn:
        """Merge equal rows if that leaves few of them."""
        import numpy as np

        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        # A binomial for each distinct row takes as long as drawing several clusters one by one.
        if len(rows) > _DRAWS_A_BINOMIAL * len(distinct):
            return cls(distinct, counts)
        return cls(rows, np.ones(len(rows), dtype=np.int64))

    def draw(self, generator: np.random.Generator, size: int) -> NDArray[Any]:
        """How often each row is drawn, in each of `size` resamples."""
        import numpy as np

        total = int(self.counts.sum())
        if total > len(self.rows):
            return generator.multinomial(total, self.counts / total, size=size)
        picked = generator.integers(0, total, size=(size, total))
        picked += np.arange(size)[:, None] * total
        return np.bincount(picked.ravel(), minlength=size * total).reshape(size, total)


def _acceleration(resampling: Resampling) -> float:
    """The acceleration of BCa, by the jackknife: leaving out one cluster at a time."""
    import numpy as np

    total = resampling.rows.sum(axis=0)
    square = cube = 0.0
    for rows in resampling.groups():
        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        without = resampling.score(total - distinct)
        steps = float(counts @ without) / float(counts.sum()) - without
        square += float(counts @ steps**2)
        cube += float(counts @ steps**3)
    return cube / (6 * square**1.5) if square > 0 else 0.0


def _bca(
    value: float, scores: Array, acceleration: float, resampling: Resampling, level: float
) -> tuple[float, float]:
    import numpy as np

    ndtr, ndtri = special().ndtr, special().ndtri
    degrees = resampling.degrees
    reach = special().stdtrit(degrees, (1 + level) / 2) * np.sqrt(1 + 1 / degrees)
    # Scores of few documents repeat: those equal to the value count half.
    near = np.isclose(scores, value, rtol=0, atol=1e-12)
    below = (float((scores[~near] < value).sum()) + near.sum() / 2) / len(scores)
    bias = ndtri(np.clip(below, 1 / len(scores), 1 - 1 / len(scores)))
    shifted = bias + np.array([-reach, reach])
    levels = ndtr(bias + shifted / np.maximum(1 - acceleration * shifted, 1e-3))
    low, high = np.quantile(scores, levels)
    return float(low), float(high)
