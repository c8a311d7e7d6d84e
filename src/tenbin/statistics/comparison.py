"""Compare two sets of outcomes document by document.

Knows outcomes; does not know which model, template or language they came from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.errors import ResultError
from tenbin.records import Outcome

_TWO_VALUED = ({0.0, 1.0}, {0.0, 100.0})


@dataclass(frozen=True, slots=True)
class Comparison:
    """The paired difference of two sets of outcomes, the first minus the second."""

    metric: str
    n: int
    """Documents that both sides scored."""
    difference: float
    """Of the means of the documents' values."""
    stderr: float | None
    wins: int
    """Documents on which the first has the higher value."""
    losses: int
    ties: int
    p_value: float | None
    """Two-sided; None when one document alone gives no test."""


def compare(outcomes_a: Sequence[Outcome], outcomes_b: Sequence[Outcome]) -> Comparison:
    """Compare on the documents that both sides scored.

    Right-or-wrong values (0 and 1, or 0 and 100) are tested by McNemar's exact test, others by the
    paired t-test. For metrics of the confusion matrix the values compared are those of the
    documents, right or wrong, not the matrix's score.

    Raises:
        ResultError: No document is scored on both sides, or one side names a document twice.
    """
    first, second = _by_document(outcomes_a), _by_document(outcomes_b)
    shared = sorted(first.keys() & second.keys())
    if not shared:
        raise ResultError(
            "the two sides share no scored document",
            "compare runs of the same data, split and language",
        )
    pairs = [(first[document], second[document]) for document in shared]
    differences = [one - other for one, other in pairs]
    difference, stderr = mean_and_error(differences)
    wins = sum(step > 0 for step in differences)
    losses = sum(step < 0 for step in differences)
    values = {value for pair in pairs for value in pair}
    if any(values <= allowed for allowed in _TWO_VALUED):
        p_value: float | None = _mcnemar(wins, losses)
    else:
        p_value = _paired_t(difference, stderr, len(pairs))
    return Comparison(
        metric=outcomes_a[0].metric,
        n=len(pairs),
        difference=difference,
        stderr=stderr,
        wins=wins,
        losses=losses,
        ties=len(pairs) - wins - losses,
        p_value=p_value,
    )


def _by_document(outcomes: Sequence[Outcome]) -> dict[str, float]:
    values: dict[str, float] = {}
    seen: set[str] = set()
    for outcome in outcomes:
        if outcome.document in seen:
            raise ResultError(
                f"document {outcome.document} occurs twice among the outcomes of {outcome.metric}",
                "compare one metric of one cell at a time",
            )
        seen.add(outcome.document)
        if outcome.value is not None:
            values[outcome.document] = outcome.value
    return values


def _mcnemar(wins: int, losses: int) -> float:
    if wins + losses == 0:
        return 1.0
    from scipy import stats  # type: ignore[import-untyped]

    return float(stats.binomtest(wins, wins + losses, 0.5).pvalue)


def _paired_t(difference: float, stderr: float | None, count: int) -> float | None:
    if stderr is None:
        return None
    if stderr == 0:
        # The same difference everywhere: none at all, or one beyond any doubt.
        return 1.0 if difference == 0 else 0.0
    from scipy import stats

    return float(2 * stats.t.sf(abs(difference / stderr), df=count - 1))


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and its standard error, the sample deviation over √n; no error for one value."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, math.sqrt(variance / count)
