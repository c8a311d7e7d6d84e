"""Scores with errors."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenbin.errors import ResultError
from tenbin.records import Cell, Outcome
from tenbin.statistics import confusion
from tests.statistics.worlds import summarise

CELL = Cell("sample", "1.0", "default", 0, 42)
ORACLE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "golden" / "confusion_oracle.json").read_text(encoding="utf-8")
)["cases"]
AGGREGATIONS = ("balanced_acc", "mcc", "macro_f1")


def make_outcomes(values: list[float | None]) -> list[Outcome]:
    return [Outcome(CELL, str(place), "m", value) for place, value in enumerate(values)]


def classified(gold: list[int], predicted: list[int]) -> list[Outcome]:
    return [
        Outcome(CELL, str(place), "m", float(a == b), None, b, a)
        for place, (a, b) in enumerate(zip(gold, predicted, strict=True))
    ]


def count(gold: list[int], predicted: list[int]) -> Any:
    classes = max(*gold, *predicted) + 1
    counts = np.zeros((classes, classes), dtype=int)
    np.add.at(counts, (gold, predicted), 1)
    return counts


@pytest.mark.parametrize("case", ORACLE, ids=range(len(ORACLE)))
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_confusion_scores_equal_scikit_learn(case: dict[str, Any], name: str) -> None:
    counts = count(case["gold"], case["predicted"])
    assert getattr(confusion, name)(counts) == pytest.approx(case[name], abs=1e-12)
    row = summarise("m", name, classified(case["gold"], case["predicted"]), 1, "x")
    assert row.value == pytest.approx(case[name], abs=1e-12)
    # A class that occurs nowhere changes nothing.
    padded = np.pad(counts, (0, 2))
    assert getattr(confusion, name)(padded) == pytest.approx(case[name], abs=1e-12)


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_confusion_scores_are_vectorised(name: str) -> None:
    stack = np.random.default_rng(0).integers(0, 9, size=(4, 3, 3, 3))
    together = getattr(confusion, name)(stack)
    assert together.shape == (4, 3)
    for place in np.ndindex(4, 3):
        assert together[place] == pytest.approx(float(getattr(confusion, name)(stack[place])))
    assert getattr(confusion, name)(np.zeros((2, 2))) == 0


_PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(_PAIRS, st.permutations(range(4)), st.randoms(use_true_random=False))
def test_confusion_properties(
    pairs: list[tuple[int, int]], renamed: list[int], shuffler: random.Random
) -> None:
    gold, predicted = [a for a, _ in pairs], [b for _, b in pairs]
    outcomes = classified(gold, predicted)
    shuffled = shuffler.sample(outcomes, len(outcomes))
    for name in AGGREGATIONS:
        row = summarise("m", name, outcomes, 3, "x")
        assert row == summarise("m", name, shuffled, 3, "x")
        assert row.value is not None
        assert (-1 if name == "mcc" else 0) - 1e-9 <= row.value <= 1 + 1e-9
        relabelled = classified([renamed[a] for a in gold], [renamed[b] for b in predicted])
        assert summarise("m", name, relabelled, 3, "x").value == pytest.approx(row.value)


def test_mean_by_hand() -> None:
    row = summarise("acc", "mean", make_outcomes([1.0, 0.0, 1.0, 1.0, None]), 0, "x")
    # Mean 3/4; variance (3·(1/4)² + (3/4)²)/3 = 1/4; error sqrt(1/4/4) = 1/4.
    assert (row.id, row.metric, row.value, row.stderr, row.n) == ("x", "acc", 0.75, 0.25, 4)
    assert (row.failed, row.clusters, row.stderr_method) == (1, 4, "analytic")
    assert row.interval_method == "wilson" and row.low is not None and row.low > 0
    assert row.detectable_unpaired is None and not row.detectable_paired, "too few to say"


def test_mean_of_one_and_of_none() -> None:
    one = summarise("acc", "mean", make_outcomes([1.0]), 0, "x", False)
    assert (one.value, one.stderr, one.n, one.higher_is_better) == (1.0, None, 1, False)
    none = summarise("mcc", "mcc", make_outcomes([None, None]), 0, "x")
    assert (none.value, none.stderr, none.n, none.failed) == (None, None, 0, 2)
    assert summarise("mcc", "mcc", classified([0], [0]), 0, "x").stderr is None


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_mean_agrees_with_numpy_in_any_order(values: list[float], shuffler: random.Random) -> None:
    row = summarise("m", "mean", make_outcomes(list(values)), 0, "x")
    assert row.value == pytest.approx(np.mean(values), abs=1e-9)
    assert row.stderr == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)), abs=1e-9)
    outcomes = make_outcomes(list(values))
    assert summarise("m", "mean", shuffler.sample(outcomes, len(values)), 0, "x") == row


def test_bootstrap_agrees_with_the_analytic_error() -> None:
    # With one gold class the balanced accuracy is a plain mean.
    predicted = [0] * 140 + [1] * 60
    outcomes = classified([0] * 200, predicted)
    grouped = [
        replace(one, group=f"g{at // 2}" if at < 2 else None) for at, one in enumerate(outcomes)
    ]
    row = summarise("b", "balanced_acc", grouped, 7, "x")
    plain = summarise("a", "mean", grouped, 7, "x")
    assert row.value == plain.value == 0.7
    assert row.stderr == pytest.approx(plain.stderr, rel=0.08)
    assert row.stderr_method == "bootstrap"


def test_bootstrap_repeats_and_heeds_the_seed() -> None:
    outcomes = classified([0, 1, 2, 0, 1, 2, 0, 1], [0, 1, 1, 0, 2, 2, 1, 1])
    first = summarise("m", "mcc", outcomes, 1, "x")
    assert first == summarise("m", "mcc", outcomes[::-1], 1, "x")
    assert first.stderr != summarise("m", "mcc", outcomes, 2, "x").stderr


def test_wrong_outcomes_are_refused() -> None:
    with pytest.raises(ResultError, match="no class"):
        summarise("m", "mcc", make_outcomes([1.0]), 0, "x")
    with pytest.raises(ResultError, match="unknown aggregation"):
        summarise("m", "median", [], 0, "x")
