"""Functions of a trusted task that judge: process_results, metrics, filters."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tenbin.errors import TaskError
from tenbin.metrics.judge import judge
from tenbin.metrics.registry import metric_names, metric_of, problems
from tenbin.records import (
    Failure,
    FilterUse,
    MetricUse,
    Outcome,
    Picked,
    Rolled,
    Scores,
    Task,
    TaskFunction,
    Text,
)

from .samples import make_choice_prompt, make_prompt, make_scores, make_task

ROW = {"question": "?", "label": 1}


def function(call: Any, name: str = "own") -> TaskFunction:
    return TaskFunction("utils.py", name, "0", call)


def processed(kind: Any, call: Any, *uses: MetricUse, **changes: Any) -> Task:
    task = make_task(kind, [])
    return replace(task, metrics=uses, process_results=function(call), **changes)


def by_name(outcomes: list[Outcome]) -> dict[str, Any]:
    return {outcome.metric: outcome.value for outcome in outcomes}


def test_scores_of_choices_reach_the_function_as_pairs() -> None:
    seen: list[Any] = []

    def judge_row(doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        seen.append((doc, results))
        best = max(range(len(results)), key=lambda at: results[at][0])
        return {"acc": best == doc["label"], "extra": 0.5}

    task = processed("choice", judge_row, MetricUse("acc", "acc", aggregation="mean"))
    prompt = replace(make_choice_prompt("a", "b"), fields=ROW)
    outcomes = judge(task, prompt, Scores((-2.0, -1.0), (1, 1), (False, True)))
    assert by_name(outcomes) == {"acc": 1.0, "extra": 0.5}
    assert seen == [(ROW, [(-2.0, False), (-1.0, True)])]
    # What the task does not name is aggregated by the mean.
    assert metric_of(task, outcomes[1]).aggregation == "mean"


def test_each_filter_is_judged_by_the_function() -> None:
    def judge_row(doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        return {"length": len(results[0])}

    steps = (("regex", {"regex_pattern": r"(\d+)"}),)
    filters = (
        FilterUse("list", steps),
        FilterUse("first", (*steps, ("take_first", {}))),
    )
    task = processed("generate", judge_row, MetricUse("length", "length"), filters=filters)
    prompt = make_prompt(fields=ROW, references=("1",))
    assert by_name(judge(task, prompt, Text("a 123", "stop", 1))) == {
        "length,list": 1.0,
        "length,first": 3.0,
    }
    # Functions see a miss as lm-eval has it.
    unread = judge(task, prompt, Text("none", "stop", 1))
    assert by_name(unread)["length,first"] == float(len("[invalid]"))
    assert [outcome.answer for outcome in unread] == [None, None]


def test_a_whole_text_and_its_length() -> None:
    def judge_row(doc: dict[str, Any], results: list[float]) -> dict[str, Any]:
        return {"word_perplexity": (results[0], 4)}

    use = MetricUse("word_perplexity", "word_perplexity", aggregation="weighted_perplexity")
    task = processed("perplexity", judge_row, use)
    (outcome,) = judge(task, make_prompt(kind="perplexity", fields=ROW), Rolled(-8.0, 3))
    assert (outcome.value, outcome.weight) == (-8.0, 4.0)
    assert metric_names(task)[0][1].aggregation == "weighted_perplexity"


@pytest.mark.parametrize(
    ("gives", "reason"),
    [
        (lambda doc, results: 1 / 0, "utils.py: own: ZeroDivisionError: division by zero"),
        (lambda doc, results: [1], "gave list, not a value for each metric"),
        (lambda doc, results: {"m": "text"}, "needs numbers, not 'text'"),
        (lambda doc, results: {"m": math.nan}, "needs numbers, not nan"),
    ],
)
def test_a_function_that_fails_fails_the_document(gives: Any, reason: str) -> None:
    task = processed("generate", gives, MetricUse("m", "m", aggregation="mean"))
    (outcome,) = judge(task, make_prompt(fields=ROW), Text("x", "stop", 1))
    assert outcome.value is None
    assert outcome.failure is not None and reason in outcome.failure.message
    assert outcome.failure.kind == "task_function"


def test_a_model_that_names_choices_has_nothing_to_process() -> None:
    task = processed("choice", lambda doc, results: {"m": 1}, MetricUse("m", "m"))
    prompt = replace(make_choice_prompt("a", "b"), fields=ROW)
    with pytest.raises(TaskError, match="names a choice"):
        judge(task, prompt, Picked(0, "letter_logprobs", "A"))


def test_nanmean_leaves_documents_without_a_value_out() -> None:
    values = iter([math.nan, 0.5])
    task = processed(
        "generate",
        lambda doc, results: {"m": next(values)},
        MetricUse("m", "m", aggregation="nanmean"),
    )
    prompt = make_prompt(fields=ROW)
    assert judge(task, prompt, Text("x", "stop", 1)) == []
    assert by_name(judge(task, prompt, Text("x", "stop", 1))) == {"m": 0.5}


def own_metric(call: Any, **entries: Any) -> Task:
    use = MetricUse("score", "score", function=function(call, "score"), **entries)
    return replace(make_task("generate", []), metrics=(use,))


def test_a_metric_is_called_as_lm_eval_calls_it() -> None:
    def by_keyword(references: list[str], predictions: list[str], k: int) -> float:
        return k * float(references == predictions)

    prompt, right = make_prompt(references=("yes",)), Text("yes", "stop", 1)
    task = own_metric(by_keyword, options={"k": 3}, aggregation="mean")
    assert problems(task) == []
    assert by_name(judge(task, prompt, right)) == {"score": 3.0}
    task = own_metric(lambda items: float(items[0] == items[1]), options={"k": 3})
    assert by_name(judge(task, prompt, right)) == {"score": 1.0}


def test_a_metric_may_give_values_by_name() -> None:
    def several(references: list[str], predictions: list[str]) -> dict[str, float]:
        return {"p@1": 0.25, "p@2": 0.5}

    filters = (FilterUse("first", (("take_first", {}),)),)
    task = replace(own_metric(several, aggregation="median"), filters=filters)
    outcomes = judge(task, make_prompt(references=("y",)), Text("x", "stop", 1))
    assert by_name(outcomes) == {"p@1,first": 0.25, "p@2,first": 0.5}
    assert {metric_of(task, outcome).aggregation for outcome in outcomes} == {"median"}


def test_of_several_targets_any_may_be_right() -> None:
    def share(references: list[str], predictions: list[str]) -> float:
        return 0.3 * (references == predictions)

    right = Text("b", "stop", 1)
    task = own_metric(share)
    listed = make_prompt(references=("a", "b"), golds=(0, 1))
    assert by_name(judge(task, listed, right)) == {"score": 1.0}
    single = make_prompt(references=("b",))
    assert by_name(judge(task, single, right)) == {"score": pytest.approx(0.3)}
    # A list of one is a list in lm-eval too.
    assert by_name(judge(task, replace(single, golds=(0,)), right)) == {"score": 1.0}


def test_an_aggregation_gets_pairs() -> None:
    aggregation = function(lambda items: 0.0, "agg")
    use = MetricUse("f1", "f1", aggregation=aggregation)
    task = replace(make_task("choice", []), metrics=(use,))
    (outcome,) = judge(task, make_choice_prompt("a", "b", gold=1), make_scores(-1, -2))
    assert outcome.item == (1, 0)
    metric = metric_names(task)[0][1]
    assert (metric.aggregation, metric.aggregate) == ("function agg", aggregation)
    for name in ("acc", "bleu"):
        task = replace(make_task("generate", []), metrics=(replace(use, metric=name, name=name),))
        (outcome,) = judge(task, make_prompt(references=("r",)), Text("t", "stop", 1))
        assert outcome.item == ("r", "t")
    task = replace(task, filters=(FilterUse("tags", (("regex_pos", {}),)),))
    prompt = make_prompt(references=("DET", "NOUN"), fields=ROW)
    (outcome,) = judge(task, prompt, Text("[('a', 'DET'), ('b', 'NOUN')]", "stop", 1))
    assert outcome.item == (["DET", "NOUN"], [["DET", "NOUN"]])
    assert outcome.answer == '["DET", "NOUN"]'


class Shout:
    def __init__(self, mark: str = "!") -> None:
        self.mark = mark

    def apply(self, resps: list[list[str]], docs: list[dict[str, Any]]) -> Any:
        return ([text + self.mark for text in texts] for texts in resps)


def test_filters_of_the_task() -> None:
    custom = function(lambda resps, docs: [[docs[0]["question"] + resps[0][0]]])
    filters = (
        FilterUse("class", ((function(Shout, "Shout"), {"mark": "?!"}),)),
        FilterUse("custom", (("custom", {"filter_fn": custom}),)),
        FilterUse("broken", ((function(Shout, "Shout"), {"sign": 1}),)),
    )
    task = make_task("generate", ["exact_match"], filters)
    assert task.judges_rows and problems(task) == []
    outcomes = judge(task, make_prompt(references=("x",), fields=ROW), Text("x", "stop", 1))
    assert [outcome.answer for outcome in outcomes] == ["x?!", "?x", None]
    assert outcomes[2].failure is not None
    assert "filter broken: utils.py: Shout: TypeError" in outcomes[2].failure.message
    task = make_task("generate", ["exact_match"], (FilterUse("custom", (("custom", {}),)),))
    assert "needs filter_fn" in problems(task)[0].message


def test_a_failed_answer_is_not_given_to_functions() -> None:
    task = processed("generate", lambda doc, results: {"m": 1 / 0}, MetricUse("m", "m"))
    (outcome,) = judge(task, make_prompt(fields=ROW), Failure("timeout", "no answer"))
    assert outcome.value is None and outcome.failure is None
