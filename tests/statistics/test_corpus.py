"""Scores of functions over all documents, and the counts of translations."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from tenbin.records import Cell, Outcome
from tenbin.statistics import corpus, translation
from tenbin.statistics.corpus import upper_median
from tenbin.statistics.errors import combine_rows, summarise
from tenbin.statistics.measured import Gathering, Measured, measured

CELL = Cell("t", "1", "default", 0, 0)


def gathered(values: list[Any], function: Any, groups: list[str] | None = None) -> Measured:
    gathering = Gathering("function own", [], function)
    for at, value in enumerate(values):
        number = value if isinstance(value, float) else 0.0
        group = groups[at] if groups else None
        gathering.add(Outcome(CELL, f"{at:04}", "m", number, group=group, item=value), at)
    return gathering.measured()


def mean(items: list[float]) -> float:
    return sum(items) / len(items)


def test_the_error_of_a_mean_is_found_by_drawing() -> None:
    values = [float(at % 3 == 0) for at in range(300)]
    row = summarise("m", "function own", gathered(values, mean), 5, "x")
    expected = math.sqrt(1 / 3 * 2 / 3 / 299)
    assert row.value == pytest.approx(1 / 3)
    assert row.stderr == pytest.approx(expected, rel=0.1)
    assert row.low is not None and row.high is not None
    assert row.low == pytest.approx(1 / 3 - 1.96 * expected, abs=0.01)
    assert (row.stderr_method, row.interval_method, row.notice) == ("bootstrap", "percentile", "")
    again = summarise("m", "function own", gathered(values, mean), 5, "x")
    assert again == row


def test_a_function_warns_for_all_documents_and_not_for_draws() -> None:
    def warning(items: list[float]) -> float:
        warnings.warn("ill-defined", UserWarning, stacklevel=1)
        return mean(items)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        row = summarise("m", "function own", gathered([0.0, 1.0, 1.0], warning), 0, "x")
    assert row.stderr is not None
    assert len(told) == 1


def test_clusters_are_drawn_together() -> None:
    values = [float(at // 10 % 2) for at in range(200)]
    groups = [f"g{at // 10}" for at in range(200)]
    alone = summarise("m", "function own", gathered(values, mean), 1, "x")
    together = summarise("m", "function own", gathered(values, mean, groups), 1, "x")
    assert together.clusters == 20 and together.stderr is not None and alone.stderr is not None
    assert together.stderr > 2.5 * alone.stderr


@pytest.mark.parametrize(
    ("function", "value", "notice"),
    [
        (lambda items: items[0], 1.0, "no interval: the aggregation depends on the order"),
        (lambda items: sum(items), 10.0, "no interval: the aggregation depends on the number"),
        (lambda items: 1 / 0, None, "the aggregation raised ZeroDivisionError"),
        (lambda items: math.nan, None, "the aggregation gave nan"),
        (lambda items: "text", None, "the aggregation raised ValueError"),
        (lambda items: 1 / len(set(items) & {1.0}), 1.0, "for a part of the documents"),
    ],
)
def test_functions_that_allow_no_interval(function: Any, value: float | None, notice: str) -> None:
    row = summarise("m", "function own", gathered([1.0, 2.0, 3.0, 4.0], function), 0, "x")
    assert row.value == value and row.stderr is None and row.low is None
    assert (row.stderr_method, row.interval_method) == ("none", "none")
    assert notice in row.notice


def test_a_slow_function_has_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SECONDS", 0.0)
    row = summarise("m", "function own", gathered([1.0, 2.0], mean), 0, "x")
    assert row.value == 1.5 and "resamples take longer" in row.notice


def test_functions_get_items_in_the_order_of_rows() -> None:
    seen: list[Any] = []
    gathering = Gathering("function own", [], lambda items: float(seen.append(items) or 0))
    for name, place in (("a", 2), ("b", 0), ("c", 1)):
        gathering.add(Outcome(CELL, name, "m", 0.0, item=(name, place)), place)
    summarise("m", "function own", gathering.measured(), 0, "x")
    assert seen[0] == [("b", 0), ("c", 1), ("a", 2)]


def test_medians_and_no_documents() -> None:
    row = summarise("m", "median", gathered([0.25, 1.0, 0.5, 0.75], upper_median), 0, "x")
    assert row.value == 0.75 and row.stderr is not None
    nothing = summarise("m", "median", gathered([], upper_median), 0, "x")
    assert (nothing.value, nothing.n, nothing.interval_method) == (None, 0, "none")


def test_scores_of_functions_are_combined_by_size_or_plainly() -> None:
    parts = [[float(at % step == 0) for at in range(n)] for n, step in ((40, 4), (10, 2))]
    rows = [summarise("m", "function own", gathered(part, mean), 0, "x") for part in parts]
    by_size, plain = combine_rows(rows, "g")
    assert by_size.value == pytest.approx((40 * 0.25 + 10 * 0.5) / 50)
    assert plain.value == pytest.approx(0.375)
    first, second = (row.stderr or 0.0 for row in rows)
    assert plain.stderr == pytest.approx(math.hypot(first, second) / 2)
    assert by_size.stderr == pytest.approx(math.hypot(0.8 * first, 0.2 * second))
    assert by_size.n == 50 and by_size.low is None


HYPOTHESES = ["the cat sat on the mat", "a b c d e", "", "short", "東京は日本の首都です。"]
REFERENCES = ["the cat sat on a mat", "a b c d", "x y", "short words", "日本の首都は東京です。"]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_scores_of_sums_are_those_of_sacrebleu(size: int) -> None:
    metrics = pytest.importorskip("sacrebleu.metrics")
    pairs = [
        (metrics.BLEU(), translation.bleu),
        (metrics.CHRF(), translation.chrf),
        (metrics.CHRF(word_order=2), translation.chrf),
        (metrics.TER(), translation.ter),
    ]
    for start in range(len(HYPOTHESES)):
        chosen = [(start + at) % len(HYPOTHESES) for at in range(size)]
        answers = [HYPOTHESES[at] for at in chosen]
        wanted = [[REFERENCES[at] for at in chosen]]
        for scorer, score in pairs:
            counts = np.array(scorer._extract_corpus_statistics(answers, wanted), dtype=float)
            expected = scorer.corpus_score(answers, wanted).score
            assert float(score(counts.sum(axis=0))) == pytest.approx(expected, abs=1e-9)
            # Many sums at once are scored as each by itself.
            both = score(np.stack([counts.sum(axis=0), counts[0]]))
            assert both[0] == pytest.approx(expected, abs=1e-9)


def test_bleu_has_a_resampled_interval() -> None:
    counts = [(6.0, 6.0, 5.0 - at % 2, 3.0, 2.0, 1.0, 6.0, 5.0, 4.0, 3.0) for at in range(30)]
    rows = [Outcome(CELL, f"{at:02}", "bleu", 1.0, item=one) for at, one in enumerate(counts)]
    row = summarise("bleu", "bleu", measured("bleu", rows), 3, "x", True, 100.0)
    assert row.interval_method == "bca" and row.stderr is not None and row.stderr > 0
    assert row.low is not None and row.value is not None and row.high is not None
    assert row.low < row.value < row.high


def test_f1_of_more_than_two_classes_is_not_defined() -> None:
    pairs = [(0, 0), (1, 1), (1, 0), (0, 1), (1, 1)]
    rows = [
        Outcome(CELL, f"{at}", "f1", float(g == p), predicted=p, gold=g)
        for at, (g, p) in enumerate(pairs)
    ]
    assert measured("f1", rows).value == pytest.approx(2 * 2 / (3 + 3))
    three = [*rows, Outcome(CELL, "9", "f1", 0.0, predicted=2, gold=0)]
    row = summarise("f1", "f1", measured("f1", three), 0, "x")
    assert row.value is None and row.low is None
    assert "two classes" in row.notice


def test_perplexity_is_of_the_mean_log_likelihood() -> None:
    rows = [Outcome(CELL, f"{at}", "perplexity", -float(at)) for at in range(4)]
    row = summarise("perplexity", "perplexity", measured("perplexity", rows), 0, "x", False, None)
    assert row.value == pytest.approx(math.exp(1.5))
    assert row.interval_method == "bca" and row.weight is None
