"""Agreement between several columns of answers to the same items.

Answers are whole numbers, one row per item and one column per language (or mode); MISSING marks a
missing answer. Everything is a sum over items, so each estimate is a `Measured`, for which any
interval can be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.measured import Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Answers = NDArray[np.intp]
    Values = NDArray[np.float64]

MISSING = -1
"""Stands for an answer that failed or could not be read; it never equals an answer."""


def share(items: Sequence[str], holds: Values) -> Measured:
    """The share of items for which something holds; items with NaN do not count."""
    import numpy as np

    counted = ~np.isnan(holds)
    names = tuple(item for item, one in zip(items, counted, strict=True) if one)
    features = np.stack([holds[counted], np.ones(int(counted.sum()))], axis=1)
    return ratio(names, features, linear=True)


def ratio(
    names: Sequence[str],
    features: Values,
    clusters: Sequence[str] | None = None,
    linear: bool = False,
) -> Measured:
    """The sum of the first column divided by the sum of the second.

    Args:
        names: One a row.
        features: Two columns.
        clusters: What each row belongs to; by default each to itself.
        linear: Whether the second column is all ones, which makes it a mean.
    """
    return Measured(
        tuple(names), tuple(clusters or names), features, _ratio_of_sums, linear, _ratio_of_sums
    )


def same_answer(first: Answers, second: Answers) -> Values:
    """1 where both answers are equal, 0 where they differ, NaN where one is missing."""
    import numpy as np

    both = (first != MISSING) & (second != MISSING)
    return np.where(both, (first == second).astype(float), np.nan)


def same_in_all(answers: Answers) -> Values:
    """1 where all answers are equal, 0 where they differ, NaN where one is missing."""
    import numpy as np

    complete = (answers != MISSING).all(axis=1)
    return np.where(complete, (answers == answers[:, :1]).all(axis=1).astype(float), np.nan)


def cohen_kappa(items: Sequence[str], first: Answers, second: Answers) -> Measured | None:
    """Agreement of two columns beyond chance, given how often each gives each answer.

    Returns:
        None where it is undefined: nothing was answered by both, or both always say the same one
        thing, so that there is no agreement beyond chance to be had.
    """
    import numpy as np

    both = (first != MISSING) & (second != MISSING)
    a, b = first[both], second[both]
    if not a.size or ((a == a[0]).all() and (b == a[0]).all()):
        return None
    names = tuple(item for item, one in zip(items, both, strict=True) if one)
    size = int(max(a.max(), b.max())) + 1
    ones = np.ones((a.size, 1))
    same = (a == b).astype(float)[:, None]
    features = np.concatenate([ones, same, _one_hot(a, size), _one_hot(b, size)], axis=1)

    def score(sums: Values) -> Values:
        total, agreed = sums[..., 0], sums[..., 1]
        expected = (sums[..., 2 : 2 + size] * sums[..., 2 + size :]).sum(axis=-1)
        # All over total²: (observed - expected) / (1 - expected).
        return _divided(agreed * total - expected, total**2 - expected)

    return Measured(names, names, features, score, False, score)


def krippendorff_alpha(items: Sequence[str], answers: Answers) -> Measured | None:
    """Agreement of all columns beyond chance, for nominal answers, some of which may be missing.

    Items with fewer than two answers say nothing about agreement and are left out.

    Returns:
        None where it is undefined: no item has two answers, or only one answer ever occurs.
    """
    import numpy as np

    present = answers != MISSING
    paired = present.sum(axis=1) >= 2
    kept = answers[paired]
    values = kept[kept != MISSING]
    if not values.size or (values == values[0]).all():
        return None
    size = int(values.max()) + 1
    counts = np.stack([(kept == value).sum(axis=1) for value in range(size)], axis=1).astype(float)
    answered = counts.sum(axis=1)
    # Pairs within an item that agree, each item weighing as much as it has answers.
    agreed = (counts * (counts - 1)).sum(axis=1) / (answered - 1)
    names = tuple(item for item, one in zip(items, paired, strict=True) if one)
    features = np.concatenate([agreed[:, None], counts], axis=1)

    def score(sums: Values) -> Values:
        agreeing, margins = sums[..., 0], sums[..., 1:]
        total = margins.sum(axis=-1)
        unlike = total**2 - (margins**2).sum(axis=-1)
        ratio = _divided((total - agreeing) * (total - 1), unlike)
        return np.where(unlike > 0, 1.0 - ratio, 0.0)

    return Measured(names, names, features, score, False, score)


def same_by_chance(answers: Answers) -> float | None:
    """How often all columns would agree by chance, given how often each gives each answer."""
    import numpy as np

    complete = answers[(answers != MISSING).all(axis=1)]
    if not complete.size:
        return None
    size = int(complete.max()) + 1
    habits = np.stack([(complete == value).mean(axis=0) for value in range(size)])
    return float(habits.prod(axis=1).sum())


@dataclass(frozen=True, slots=True)
class Flip:
    """An item that is answered in different ways."""

    at: int
    """Its row."""
    answers: int
    """How many columns answered."""
    distinct: int
    entropy: float
    """Of the answers, in bits: 0 where all say the same."""


def flips(answers: Answers) -> list[Flip]:
    """All items, those with the most diverse answers first; ties stay in the order of items."""
    import numpy as np

    found = []
    for at, row in enumerate(answers):
        given = row[row != MISSING]
        shares = np.unique(given, return_counts=True)[1] / max(1, given.size)
        # `+ 0.0` turns the minus zero of unanimous items into zero.
        entropy = float(-(shares * np.log2(shares)).sum()) + 0.0
        found.append(Flip(at, int(given.size), len(shares), round(entropy, 12)))
    return sorted(found, key=lambda flip: (-flip.entropy, -flip.distinct, flip.at))


def _one_hot(values: Answers, size: int) -> Values:
    import numpy as np

    result: Values = np.eye(size)[values]
    return result


def _ratio_of_sums(sums: Values) -> Values:
    return _divided(sums[..., 0], sums[..., 1])


def _divided(top: Values, bottom: Values) -> Values:
    """The quotient, or 0 where the divisor is 0."""
    import numpy as np

    bottom = np.asarray(bottom, dtype=np.float64)
    result: Values = np.divide(top, bottom, out=np.zeros_like(bottom), where=bottom != 0)
    return result
