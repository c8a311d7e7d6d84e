"""Made-up worlds of known truth, and how often intervals find it.

Outcomes are drawn as arrays, many repetitions at once; a repetition becomes a `Measured` as the
program would make it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tenbin.records import Cell, Outcome, ScoreRow
from tenbin.statistics.errors import summarise as summarise_documents
from tenbin.statistics.intervals import Estimate
from tenbin.statistics.measured import Measured, measured

CELL = Cell("sample", "1.0", "default", 0, 42)


def outcomes(
    values: Iterable[float | None],
    groups: Iterable[str | None] | None = None,
    gold: Iterable[int] | None = None,
    predicted: Iterable[int] | None = None,
) -> list[Outcome]:
    """One outcome a value; ids sort as they stand."""
    given = [None if value is None else float(value) for value in values]
    count = len(given)
    clusters = [None] * count if groups is None else list(groups)
    golds = [None] * count if gold is None else [int(one) for one in gold]
    picks = [None] * count if predicted is None else [int(one) for one in predicted]
    return [
        Outcome(CELL, f"{at:06d}", "m", given[at], None, picks[at], golds[at], clusters[at])
        for at in range(count)
    ]


def summarise(name: str, aggregation: str, found: Iterable[Outcome], *rest: Any) -> ScoreRow:
    """A score of outcomes in any order."""
    return summarise_documents(name, aggregation, measured(aggregation, found), *rest)


def coverage(estimates: Iterable[Estimate], truth: float) -> float:
    """The share of intervals that hold the truth."""
    found = [one.low <= truth <= one.high for one in estimates if one.low is not None]
    return sum(found) / len(found)


def shared_luck(
    generator: np.random.Generator, sizes: np.ndarray, mean: float, correlation: float, times: int
) -> np.ndarray:
    """Right answers per cluster, times × clusters: documents of a cluster correlate."""
    scale = (1 - correlation) / correlation
    chance = generator.beta(mean * scale, (1 - mean) * scale, (times, len(sizes)))
    return generator.binomial(sizes, chance)


def with_values(like: Measured, values: np.ndarray) -> Measured:
    """The same documents and clusters with other values, without going through records again."""
    features = like.features.copy()
    features[:, 0] = values
    return replace(like, features=features)


def with_matrix(like: Measured, counts: np.ndarray) -> Measured:
    """As many documents of each (gold, predicted) pair as the flat matrix counts."""
    features = np.repeat(np.eye(len(counts)), counts, axis=0)
    return replace(like, features=features)


def classified(size: int, count: int, aggregation: str) -> Measured:
    """Unclustered documents of a confusion-matrix score over `size` classes."""
    last = [size - 1] * count
    return measured(aggregation, outcomes([1.0] * count, None, last, last))
