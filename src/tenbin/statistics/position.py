"""Position bias: whether answers prefer a position, such as A.

Compared with a model that is right equally often and, when it is wrong, takes each wrong position
equally often. At chance accuracy that is the uniform distribution, at full accuracy the
distribution of the gold answers. The number of right answers is a sufficient statistic of such a
model's accuracy; given that number, the distribution of its choices is known exactly and can be
sampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.errors import ResultError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Values = NDArray[np.float64]

DRAWS = 9_999
"""Of the Monte-Carlo test; its smallest p-value is 1 in 10,000."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """What one column of answers chose, by position."""

    n: int
    right: int
    chosen: tuple[int, ...]
    """How often each position was chosen."""
    gold: tuple[int, ...]
    """How often each position was right."""
    expected: tuple[float, ...]
    """How often a model without position bias, right equally often, would choose it."""
    distance: float
    """Total variation distance between `chosen` and `expected`."""
    chance_distance: float
    """The mean of `distance` without bias: n answers never fit exactly."""
    p_value: float


def position_bias(
    chosen: Sequence[int],
    gold: Sequence[int],
    offered: Sequence[int],
    seed: int,
    draws: int = DRAWS,
) -> PositionBias:
    """Test one column of answers.

    Args:
        chosen: The position chosen for each item that was answered.
        gold: The right position of each.
        offered: How many positions each item has.
        seed: Makes the draws repeatable.
        draws: Of the Monte-Carlo test.

    Raises:
        ResultError: There is no answer, or one lies outside what was offered.
    """
    import numpy as np

    if not chosen or any(max(c, g) >= k for c, g, k in zip(chosen, gold, offered, strict=True)):
        raise ResultError("position bias needs answers, each among the positions offered")
    size = max(offered)
    observed = np.bincount(np.array(chosen), minlength=size)
    right = sum(c == g for c, g in zip(chosen, gold, strict=True))
    strata = sorted(Counter(zip(gold, offered, strict=True)).items())
    expected = _expected(strata, right, size)
    drawn = _draw(strata, right, size, seed, draws)
    limit = _misfit(observed[None, :], expected)[0] * (1 - 1e-9)
    exceed = int((_misfit(drawn, expected) >= limit).sum())
    return PositionBias(
        n=len(chosen),
        right=right,
        chosen=tuple(int(count) for count in observed),
        gold=tuple(int(count) for count in np.bincount(np.array(gold), minlength=size)),
        expected=tuple(float(count) for count in expected),
        distance=float(_distance(observed[None, :], expected)[0]),
        chance_distance=float(_distance(drawn, expected).mean()),
        p_value=(exceed + 1) / (draws + 1),
    )


_Strata = Sequence[tuple[tuple[int, int], int]]
"""((gold position, positions offered), items) pairs: an unbiased model treats such items alike."""


def _expected(strata: _Strata, right: int, size: int) -> Values:
    import numpy as np

    total = sum(count for _, count in strata)
    expected = np.zeros(size)
    for (gold, offered), count in strata:
        hits = count * right / total
        expected += (count - hits) * _wrong_shares(gold, offered, size)
        expected[gold] += hits
    return expected


def _draw(strata: _Strata, right: int, size: int, seed: int, draws: int) -> Counts:
    """Positions chosen by an unbiased model with that many right answers, in many simulations."""
    import numpy as np

    generator = np.random.default_rng(seed)
    counts = [count for _, count in strata]
    # Every set of that many right items is equally likely: a draw without replacement.
    hits = generator.multivariate_hypergeometric(counts, right, size=draws, method="marginals")
    drawn = np.zeros((draws, size), dtype=np.int64)
    for at, ((gold, offered), count) in enumerate(strata):
        drawn[:, gold] += hits[:, at]
        drawn += generator.multinomial(count - hits[:, at], _wrong_shares(gold, offered, size))
    return drawn


def _wrong_shares(gold: int, offered: int, size: int) -> Values:
    import numpy as np

    shares = np.zeros(size)
    shares[:offered] = 1 / (offered - 1)
    shares[gold] = 0.0
    return shares


def _misfit(counts: Counts, expected: Values) -> Values:
    """Pearson's chi-square against the expected counts."""
    import numpy as np

    possible = expected > 0
    gaps = (counts[:, possible] - expected[possible]) ** 2 / expected[possible]
    result: Values = np.asarray(gaps.sum(axis=1), dtype=np.float64)
    return result


def _distance(counts: Counts, expected: Values) -> Values:
    import numpy as np

    result: Values = np.abs(counts - expected).sum(axis=1) / 2 / expected.sum()
    return result
