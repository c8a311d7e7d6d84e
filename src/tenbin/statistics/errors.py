"""Sum the outcomes of one metric up into a score with its standard error.

Knows outcomes and aggregations; does not know tasks, models or how an outcome came about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tenbin.errors import ResultError
from tenbin.records import Outcome, ScoreRow
from tenbin.statistics import confusion

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 1000

_CONFUSION: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "balanced_acc": confusion.balanced_acc,
    "mcc": confusion.mcc,
    "macro_f1": confusion.macro_f1,
}


def summarise(
    name: str,
    aggregation: str,
    outcomes: Sequence[Outcome],
    seed: int,
    id: str,
    higher_is_better: bool = True,
) -> ScoreRow:
    """Give one number for the outcomes of one metric in one cell.

    Failed documents are counted and left out of the value. The order of outcomes does not matter,
    to the last bit.

    Args:
        name: The name the score is reported under.
        aggregation: `mean`, `balanced_acc`, `mcc` or `macro_f1`.
        outcomes: One for each document.
        seed: Makes the bootstrap repeatable.
        id: What the score belongs to.
        higher_is_better: Which way is better.

    Raises:
        ResultError: The aggregation is unknown, or needs classes that the outcomes do not have.
    """
    if aggregation != "mean" and aggregation not in _CONFUSION:
        raise ResultError(f"{id}: unknown aggregation {aggregation!r} of {name}")
    scored = [outcome for outcome in outcomes if outcome.value is not None]
    value: float | None = None
    stderr: float | None = None
    if scored and aggregation == "mean":
        value, stderr = mean_and_error(
            [outcome.value for outcome in scored if outcome.value is not None]
        )
    elif scored:
        value, stderr = _bootstrap(aggregation, _cells(scored), seed)
    return ScoreRow(
        id=id,
        metric=name,
        value=value,
        stderr=stderr,
        n=len(scored),
        failed=len(outcomes) - len(scored),
        higher_is_better=higher_is_better,
        stderr_method="analytic" if aggregation == "mean" else "bootstrap",
    )


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and its standard error, the sample deviation over √n; no error for one value."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, math.sqrt(variance / count)


def _cells(scored: Sequence[Outcome]) -> list[tuple[tuple[int, int], int]]:
    """How often each (gold, predicted) pair occurs, in the order of the pairs."""
    pairs: Counter[tuple[int, int]] = Counter()
    for outcome in scored:
        if outcome.gold is None or outcome.predicted is None:
            raise ResultError(
                f"{outcome.cell.id}: {outcome.metric} of document {outcome.document} has no class",
                "metrics over a confusion matrix need gold and predicted choices",
            )
        pairs[outcome.gold, outcome.predicted] += 1
    return sorted(pairs.items())


def _bootstrap(
    aggregation: str, cells: Sequence[tuple[tuple[int, int], int]], seed: int
) -> tuple[float, float | None]:
    """The value, and its deviation over resampled sets of documents.

    Documents with the same gold and predicted class are alike to these metrics, so drawing n
    documents with replacement is one multinomial draw over the cells of the matrix.
    """
    import numpy as np

    score = _CONFUSION[aggregation]
    pairs = np.array([pair for pair, _ in cells])
    counts = np.array([count for _, count in cells])
    classes, total = int(pairs.max()) + 1, int(counts.sum())
    observed = np.zeros((classes, classes))
    observed[pairs[:, 0], pairs[:, 1]] = counts
    value = float(score(observed))
    if total < 2:
        return value, None
    draws = np.random.default_rng(abs(seed)).multinomial(total, counts / total, size=RESAMPLES)
    resampled = np.zeros((RESAMPLES, classes, classes))
    resampled[:, pairs[:, 0], pairs[:, 1]] = draws
    return value, float(score(resampled).std(ddof=1))
