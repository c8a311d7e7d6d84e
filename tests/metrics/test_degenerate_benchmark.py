"""The benchmark of degenerate answers in small: every filter and metric, counted and guarded."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tenbin.metrics.registry import METRICS
from tenbin.metrics.steps import FILTERS

from .watchdog import watchdog

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    path = FOLDER / "degenerate_answers.py"
    spec = importlib.util.spec_from_file_location("degenerate_answers", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_it_holds_every_filter_and_metric_and_ten_languages(benchmark: ModuleType) -> None:
    chosen = benchmark.tasks()
    steps = {name for task in chosen for use in task.filters for name, _ in use.steps}
    assert steps == set(FILTERS)
    metrics = {use.metric for task in chosen for use in task.metrics}
    # Instructions come with rows of their own; tests/metrics/instructions has long answers.
    assert metrics == {
        name
        for name, metric in METRICS.items()
        if metric.kind == "generate" and "_level_" not in name
    }
    given = list(benchmark.answers(200))
    assert len({answer.text for answer in given}) == 200
    assert {len(answer.text) for answer in given} == {benchmark.LENGTH}
    assert len({answer.language for answer in given}) == 10


def test_a_share_of_it_is_judged_in_time(benchmark: ModuleType) -> None:
    with watchdog():
        found = benchmark.measure(120)
    assert found["answers"] == 120 and found["outcomes"] > 300


def calls(benchmark: ModuleType, length: int) -> int:
    """Python and C calls that a hundred answers of this length take."""
    counted = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    chosen, given = benchmark.tasks(), list(benchmark.answers(100, length))
    sys.setprofile(count)
    try:
        for at, answer in enumerate(given):
            benchmark.judge_answer(chosen[at // 10 % len(chosen)], answer)
    finally:
        sys.setprofile(None)
    return counted


def test_longer_answers_take_more_calls_in_proportion_at_most(benchmark: ModuleType) -> None:
    calls(benchmark, 400)  # patterns are compiled, dictionaries read
    few, many = calls(benchmark, 5_000), calls(benchmark, 40_000)
    assert many < 9 * few, "eight times the length"


def test_the_result_that_is_kept_meets_what_is_wanted() -> None:
    kept = json.loads((FOLDER / "results" / "degenerate_answers.json").read_text(encoding="utf-8"))
    assert kept["answers"] == 10_000 and kept["characters"] == 20_000
    assert kept["processor_seconds"] < kept["wanted"]["seconds"]
