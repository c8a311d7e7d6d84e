"""Plans: numbers of documents by hand, from stored runs, and found as often as promised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tenbin
from tenbin.analysis.plan import Candidate, PlanSettings, make_plan
from tenbin.errors import ConfigError
from tenbin.statistics.permutation import mcnemar
from tenbin.statistics.power import documents_for, expected_discordance
from tests.analysis.test_compare_groups import evaluate

pytestmark = pytest.mark.usefixtures("cache")


def one_task(settings: PlanSettings, **known: Any) -> Any:
    (task,) = make_plan([Candidate("x", **{"documents": 1000, **known})], settings, {}).tasks
    return task


def test_by_hand() -> None:
    task = one_task(PlanSettings(2.0, correlations=(0.5,)))
    # A discordance of 0.25; n ≈ ((1.96·√0.25 + 0.84·√(0.25 - 0.0004)) / 0.02)² = 4,900 and a
    # little for the test's steps.
    assert task.needed["0.5"] == pytest.approx(4950, abs=60)
    assert task.detectable["0.5"] == pytest.approx(4.5, abs=0.1)
    assert (task.score, task.documents) == (50.0, 1000)


def test_more_tests_more_power_and_unlike_runs_need_more() -> None:
    usual = one_task(PlanSettings(2.0)).needed
    assert list(usual) == ["0.2", "0.5", "0.8"]
    assert usual["0.2"] > usual["0.5"] > usual["0.8"]
    assert one_task(PlanSettings(2.0, tests=5)).needed["0.5"] > usual["0.5"]
    assert one_task(PlanSettings(2.0, power=0.9)).needed["0.5"] > usual["0.5"]
    assert one_task(PlanSettings(2.0, score=90.0)).needed["0.5"] < usual["0.5"]
    assert one_task(PlanSettings(4.0)).needed["0.5"] < usual["0.5"] / 3
    assert one_task(PlanSettings(2.0), documents=None).detectable is None
    assert one_task(PlanSettings(2.0), documents=4).detectable == dict.fromkeys(usual)


@pytest.mark.parametrize(("score", "correlation"), [(0.7, 0.5), (0.5, 0.8), (0.9, 0.2)])
def test_the_planned_documents_find_the_difference(score: float, correlation: float) -> None:
    settings = PlanSettings(5.0, correlations=(correlation,), score=100 * score)
    count = one_task(settings).needed[f"{correlation:g}"]
    # The other run is five points away, on the side that differs in more documents.
    other = score - 0.05 if score > 0.5 else score + 0.05
    shared = correlation * math.sqrt(score * (1 - score) * other * (1 - other))
    shares = [score * (1 - other) - shared, other * (1 - score) - shared]
    draw = np.random.default_rng(count)
    counts = draw.multinomial(count, [*shares, 1 - sum(shares)], size=800)[:, :2].tolist()
    found = np.mean([mcnemar(wins, losses) < 0.05 for wins, losses in counts])
    assert 0.77 <= found <= 0.84


def test_named_tasks_have_the_published_sizes() -> None:
    found = tenbin.plan(2, tasks="jnli,jcommonsenseqa")
    assert [(row["id"], row["documents"]) for row in found.table()[::3]] == [
        ("jnli-1.3-0.2", 2434),
        ("jcommonsenseqa-1.1-0.2", 1119),
    ]
    assert found.record.tests == 2
    expected = documents_for(0.02, expected_discordance(0.5, 0.02, 0.5), 0.05 / 2)
    assert found.table()[1]["needed"] == expected
    assert set(found.document) >= {"detect", "power", "level", "tests", "tasks", "left_out"}


def test_perplexities_are_left_out() -> None:
    found = tenbin.plan(2, tasks="jnli,plain_text_ja")
    assert found.document["left_out"] == {"plain_text_ja": "a perplexity has no points"}
    with pytest.raises(ConfigError, match="no task to plan for: plain_text_ja"):
        tenbin.plan(2, tasks="plain_text_ja")


def test_a_stored_run_gives_scores_and_clusters() -> None:
    run = evaluate("one", "jnli-1.3-0.2,jsquad-1.2-0.2")
    found = {task.id: task for task in tenbin.plan(2, run).record.tasks}
    task = found["jnli-1.3-0.2"]
    assert task.score == pytest.approx(100 * run.scores["jnli-1.3-0.2"]["acc"])
    assert task.documents == 18
    assert "jsquad-1.2-0.2" in found
    assert "0.5" in task.needed


def test_independent_documents_of_a_run_say_as_much_as_themselves() -> None:
    """An error with a factor for few documents made eighteen of them look like seventeen."""
    run = evaluate("one", "jnli-1.3-0.2")
    (planned,) = tenbin.plan(2, run).record.tasks
    share = planned.score / 100
    expected = documents_for(0.02, expected_discordance(share, 0.02, 0.5))
    assert planned.needed["0.5"] == expected


def test_two_stored_runs_give_their_correlation() -> None:
    first, second = evaluate("one", "jnli-1.3-0.2"), evaluate("two", "jnli-1.3-0.2")
    (task,) = tenbin.plan(2, first, second).record.tasks
    (row,) = tenbin.compare(first, second).document["comparisons"]
    assert task.correlation == row["correlation"]
    assert list(task.needed) == [f"{round(max(row['correlation'], 0.0), 2):g}"]


def test_clusters_and_partial_credit_change_the_number() -> None:
    plain = one_task(PlanSettings(2.0)).needed["0.5"]
    assert one_task(PlanSettings(2.0), spread=2.0).needed["0.5"] == 2 * plain
    assert one_task(PlanSettings(2.0), spread=0.5).needed["0.5"] == math.ceil(plain / 2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"detect": 0}, "--detect 0"),
        ({"detect": 100}, "--detect 100"),
        ({"detect": 2, "correlations": [1.0]}, "--correlation 1"),
        ({"detect": 2, "score": 101}, "--score 101"),
        ({"detect": 2, "power": 0.2}, "--power 20"),
        ({"detect": 2, "tests": 0}, "--tests 0"),
        ({"detect": 2, "tasks": ()}, "no tasks were named"),
    ],
)
def test_what_makes_no_sense(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        tenbin.plan(**{"tasks": "jnli", **given})


def test_runs_or_tasks() -> None:
    with pytest.raises(ConfigError, match="not for both"):
        tenbin.plan(2, "a.json", tasks="jnli")
    with pytest.raises(ConfigError, match="at most two"):
        tenbin.plan(2, "a.json", "b.json", "c.json")
