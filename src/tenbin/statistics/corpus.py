"""Scores that a function computes from all documents at once.

Nothing is known of such a function but what it gives. Its error is found by drawing documents
again, where the function allows that: it must not depend on the order of documents nor on their
number, and it must give a number for every draw.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.statistics.measured import Measured, number_clusters

SECONDS = 60.0
"""For all resamples of a score; a function that takes longer has no interval."""
_RESAMPLES = ((1_000, 1_000), (20_000, 200))
"""Up to so many documents, so many resamples."""
_FEWEST_RESAMPLES = 100
_TOLERANCE = 1e-9


def upper_median(values: list[float]) -> float:
    """The middle value; the higher of two, as lm-eval has it."""
    return sorted(values)[len(values) // 2]


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """A score of all documents with what drawing them again says of it."""

    value: float | None
    """None where the function gives no number."""
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    notice: str = ""
    """Why there is no value or no interval."""


def corpus_score(found: Measured, seed: int = 0) -> CorpusScore:
    """The score that a function gives all documents, with its error where it can be found.

    Args:
        found: Documents with their items.
        seed: Makes the resamples repeatable.
    """
    assert found.items is not None and found.aggregate is not None
    items, aggregate = list(found.items), found.aggregate
    if not items:
        return CorpusScore(None)
    try:
        value = float(aggregate(list(items)))
    except Exception as error:
        return CorpusScore(None, notice=f"the aggregation raised {type(error).__name__}: {error}")
    if not math.isfinite(value):
        return CorpusScore(None, notice=f"the aggregation gave {value}")
    clusters = _clustered(items, found.clusters)
    if len(clusters) < 2:
        return CorpusScore(value)
    with warnings.catch_warnings():
        # What a function warns of was said once, for all documents: a thousand draws add nothing.
        warnings.simplefilter("ignore")
        reason = _why_not_drawn(items, aggregate, value)
        scores = reason or _resampled(clusters, aggregate, seed)
    if isinstance(scores, str):
        return CorpusScore(value, notice=f"no interval: {scores}")
    return _with_error(value, scores)


def _clustered(items: Sequence[Any], clusters: Sequence[str | None]) -> list[list[Any]]:
    """Items of one cluster together: they are drawn together."""
    numbers = number_clusters(clusters)
    together: list[list[Any]] = [[] for _ in range(max(numbers) + 1)]
    for number, item in zip(numbers, items, strict=True):
        together[number].append(item)
    return together


def _why_not_drawn(items: list[Any], aggregate: Callable[[list[Any]], Any], value: float) -> str:
    """Why drawing documents again says nothing of a function; empty where it does."""
    for changed, reason in (
        (items[::-1], "the aggregation depends on the order of documents"),
        (items + items, "the aggregation depends on the number of documents"),
    ):
        try:
            again = float(aggregate(changed))
        except Exception as error:
            return f"{reason} ({type(error).__name__}: {error})"
        if not math.isclose(again, value, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return reason
    return ""


def _resampled(
    clusters: list[list[Any]], aggregate: Callable[[list[Any]], Any], seed: int
) -> list[float] | str:
    """Scores of drawn clusters, or why there are none."""
    import numpy as np

    documents = sum(map(len, clusters))
    resamples = next((n for most, n in _RESAMPLES if documents <= most), _FEWEST_RESAMPLES)
    generator = np.random.default_rng(abs(seed))
    until = time.monotonic() + SECONDS
    scores = []
    for _ in range(resamples):
        drawn = generator.integers(0, len(clusters), size=len(clusters))
        try:
            score = float(aggregate([item for at in drawn for item in clusters[at]]))
        except Exception as error:
            return f"the aggregation raised {type(error).__name__} for a part of the documents"
        if not math.isfinite(score):
            return "the aggregation is not defined for every part of the documents"
        scores.append(score)
        if time.monotonic() > until:
            return f"{resamples} resamples take longer than {SECONDS:.0f} s"
    return scores


def _with_error(value: float, scores: list[float]) -> CorpusScore:
    import numpy as np

    drawn = np.array(scores)
    if float(drawn.max() - drawn.min()) < 1e-12:
        return CorpusScore(value, 0.0)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return CorpusScore(value, float(drawn.std(ddof=1)), float(low), float(high))
