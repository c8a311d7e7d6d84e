"""Scores of parts and resamples as functions of summed features."""

from __future__ import annotations

import numpy as np
import pytest

from tenbin.errors import ResultError
from tenbin.records import Cell, Outcome
from tenbin.statistics.measured import AGGREGATIONS, Gathering, measured, number_clusters

CELL = Cell("jnli", "1.1", "0.2", 0, 1234)


def outcome(
    document: str,
    value: float | None,
    group: str | None = None,
    classes: tuple[int | None, int | None] = (None, None),
) -> Outcome:
    return Outcome(CELL, document, "acc", value, None, classes[1], classes[0], group)


def test_a_mean_leaves_failures_out_and_orders_documents() -> None:
    found = measured("mean", [outcome("b", 1.0), outcome("a", 0.0), outcome("c", None)])
    assert found.documents == ("a", "b")
    assert found.value == 0.5
    assert found.values.tolist() == [0.0, 1.0]


def test_cluster_sums_add_what_belongs_together() -> None:
    rows = [outcome("a", 1.0, "p"), outcome("b", 0.0, "q"), outcome("c", 1.0, "p")]
    found = measured("mean", rows)
    assert found.cluster_sums().tolist() == [[2.0, 2.0], [0.0, 1.0]]
    assert number_clusters(found.clusters) == [0, 1, 0]


def test_a_document_without_group_never_meets_a_group_of_its_name() -> None:
    found = measured("mean", [outcome("p", 1.0), outcome("x", 0.0, "p")])
    assert found.clusters[0] != found.clusters[1]


def test_resampled_confusion_matrices_score_as_repeated_documents() -> None:
    pairs = [(0, 0), (0, 1), (1, 1), (2, 0)]
    rows = [outcome(f"d{at}", float(g == p), None, (g, p)) for at, (g, p) in enumerate(pairs)]
    found = measured("balanced_acc", rows)
    assert found.value == pytest.approx((0.5 + 1 + 0) / 3)
    assert found.values.tolist() == [1.0, 0.0, 1.0, 0.0]
    counts = np.array([[2.0, 0, 1, 1], [0, 1, 1, 0]])
    assert found.score(counts @ found.features) == pytest.approx([(1 + 1 + 0) / 3, 0.5])


def test_no_document_scores_nothing_rather_than_failing() -> None:
    assert measured("mean", []).value == 0.0
    assert measured("mcc", []).cluster_sums().shape[0] == 0


def test_faults_are_named() -> None:
    with pytest.raises(ResultError, match="occurs twice"):
        measured("mean", [outcome("a", 1.0), outcome("a", 0.0)])
    with pytest.raises(ResultError, match="has no class"):
        measured("mcc", [outcome("a", 1.0)])
    with pytest.raises(ResultError, match="unknown aggregation"):
        measured("median", [outcome("a", 1.0)])


def test_no_choice_named_is_a_prediction_of_its_own() -> None:
    """By hand: gold 0 0 1 1, predicted 0 none 1 0."""
    pairs = [(0, 0), (0, None), (1, 1), (1, 0)]
    rows = [outcome(f"d{at}", float(g == p), None, (g, p)) for at, (g, p) in enumerate(pairs)]
    assert measured("balanced_acc", rows).value == pytest.approx(0.5)
    # F1 of 0: 2/(2+2); of 1: 2/(2+1); of none: 0, as scikit-learn counts a label never right.
    assert measured("macro_f1", rows).value == pytest.approx((0.5 + 2 / 3 + 0) / 3)
    covariance = 2 * 4 - (2 * 2 + 2 * 1)
    spread = (16 - 8) * (16 - (4 + 1 + 1))
    assert measured("mcc", rows).value == pytest.approx(covariance / spread**0.5)
    assert measured("mcc", rows).values.tolist() == [1.0, 0.0, 1.0, 0.0]


ITEMS = {
    "bleu": (5.0, 6.0, 4.0, 3.0, 2.0, 1.0, 5.0, 4.0, 3.0, 2.0),
    "chrf": (9.0, 8.0, 7.0) * 6,
    "chrf++": (9.0, 8.0, 7.0) * 8,
    "ter": (2.0, 7.0),
    "pooled": (("letters", 1.0), ("letters", 0.0), ("length", 1.0)),
}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_documents_in_order_are_gathered_as_any_others(aggregation: str) -> None:
    """Names on disk or in memory, groups or none, failures among them: the same arrays."""
    rows = [
        Outcome(CELL, f"d{at}", "m", None if at == 3 else -float(at % 2), None, at % 3, at % 2,
                None if at % 4 else "g", 2.0 + at, item=ITEMS.get(aggregation))
        for at in range(9)
    ]  # fmt: skip
    gathering = Gathering(aggregation)
    for one in rows:
        gathering.add(one)
    found, sorted_first = gathering.measured(), measured(aggregation, reversed(rows))
    assert tuple(found.documents) == sorted_first.documents
    assert found.clusters == sorted_first.clusters and found.failed == sorted_first.failed == 1
    assert found.features.tolist() == sorted_first.features.tolist()
    assert found.value == pytest.approx(sorted_first.value, rel=0, abs=0, nan_ok=True)


def test_a_document_that_is_gathered_twice_is_refused() -> None:
    gathering = Gathering("mean")
    gathering.add(outcome("a", 1.0))
    with pytest.raises(ResultError, match="occurs twice"):
        gathering.add(outcome("a", 0.0))
