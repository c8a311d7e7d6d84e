"""Metrics and filters of lm-eval's task files, against what lm-eval itself says.

The golden file is written by benchmarks/oracle_lm_eval_metrics.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import TaskError
from tenbin.metrics import filters, lm_eval
from tenbin.metrics.judge import judge
from tenbin.metrics.registry import find_metric, metric_names, problems
from tenbin.metrics.steps import MISS
from tenbin.records import (
    FilterUse,
    Kind,
    MetricUse,
    Outcome,
    Prompt,
    Response,
    Scores,
    Task,
    TaskFunction,
    Text,
)
from tenbin.statistics.measured import measured

from .samples import make_choice_prompt, make_prompt, make_scores, make_task

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "lm_eval_metrics.json").read_text(encoding="utf-8")
)
CLOSE = {"rel": 1e-9, "abs": 1e-9}


def scored(task: Task, asked: Sequence[tuple[Prompt, Response]]) -> dict[str, Any]:
    """Outcomes and scores of all documents by metric."""
    outcomes: dict[str, list[Outcome]] = {}
    for at, (prompt, response) in enumerate(asked):
        for outcome in judge(task, replace(prompt, document=f"{at:03}"), response):
            outcomes.setdefault(outcome.metric, []).append(outcome)
    metrics = dict(metric_names(task))
    return {
        name: {
            "values": [one.value for one in found],
            "score": measured(metrics[name].aggregation, found).value,
        }
        for name, found in outcomes.items()
    }


@pytest.mark.parametrize("part", ["choice", "several_golds"])
def test_choices_are_judged_as_lm_eval_judges_them(part: str) -> None:
    golden = GOLDEN[part]
    task = make_task("choice", list(golden["scores"]))
    asked: list[tuple[Prompt, Response]] = []
    for row in golden["rows"]:
        golds = row["gold"] if isinstance(row["gold"], list) else [row["gold"]]
        prompt = make_choice_prompt(*row["choices"], gold=golds[0])
        prompt = replace(prompt, golds=tuple(golds) if part == "several_golds" else ())
        counts = tuple(1 for _ in row["choices"])
        asked.append((prompt, Scores(tuple(row["logprobs"]), counts, tuple(row["greedy"]))))
    found = scored(task, asked)
    for metric, expected in golden["scores"].items():
        assert expected["score"] != 0
        assert found[metric]["score"] == pytest.approx(expected["score"], **CLOSE), metric
        if "values" in expected:
            assert found[metric]["values"] == pytest.approx(expected["values"], **CLOSE)


@pytest.mark.parametrize("case", GOLDEN["texts"]["exact_match"])
def test_exact_match_options(case: dict[str, Any]) -> None:
    task = replace(
        make_task("generate", []), metrics=(MetricUse("exact_match", "em", case["options"]),)
    )
    rows = GOLDEN["texts"]["rows"]
    asked = [(make_prompt(references=(row["target"],)), answer(row)) for row in rows]
    assert scored(task, asked)["em"]["values"] == case["values"]
    assert any(case["values"])


def answer(row: dict[str, Any]) -> Text:
    return Text(row["answer"], "stop", 1)


def test_any_of_several_targets_is_right() -> None:
    golden = GOLDEN["texts"]["several"]
    task = make_task("generate", ["exact_match"])
    asked = [(make_prompt(references=tuple(r["target"])), answer(r)) for r in golden["rows"]]
    assert scored(task, asked)["exact_match"]["values"] == golden["exact_match"]


@pytest.mark.parametrize(("part", "count"), [("corpus", None), ("half", 5)])
def test_translations_are_scored_as_a_corpus(part: str, count: int | None) -> None:
    golden = GOLDEN["texts"][part]
    task = make_task("generate", list(golden))
    rows = GOLDEN["texts"]["rows"][:count]
    found = scored(task, [(make_prompt(references=(row["target"],)), answer(row)) for row in rows])
    for metric, expected in golden.items():
        assert expected > 0
        assert found[metric]["score"] == pytest.approx(expected, **CLOSE), metric
    # A document has its own score too, which is what tables of samples show.
    assert found["ter"]["values"][0] == pytest.approx(200 / 7)


def test_one_given_answer() -> None:
    golden = GOLDEN["loglikelihood"]
    task = make_task("loglikelihood", ["perplexity", "acc"])
    prompt = make_prompt(kind="loglikelihood", choices=("x",), continuations=(" x",), gold=0)
    asked: list[tuple[Prompt, Response]] = [
        (prompt, Scores((logprob,), (1,), (greedy,))) for logprob, greedy in golden["rows"]
    ]
    found = scored(task, asked)
    for metric in ("perplexity", "acc"):
        assert golden[metric] > 0
        assert found[metric]["score"] == pytest.approx(golden[metric], **CLOSE)


def chain_of(case: dict[str, Any]) -> filters.Steps:
    return tuple(
        (step["function"], {key: value for key, value in step.items() if key != "function"})
        for step in case["chain"]
    )


@pytest.mark.parametrize("case", GOLDEN["filters"], ids=lambda case: case["chain"][0]["function"])
def test_filters_read_as_lm_eval_reads(case: dict[str, Any]) -> None:
    steps = chain_of(case)
    filters.check(steps, repeats=4)
    for given, expected in zip(case["given"], case["read"], strict=True):
        read = filters.apply(steps, given, "en", row=GOLDEN["row"])
        found = [MISS if one is None else one for one in read]
        assert found == ([expected] if steps[-1][0] == "take_first" else expected), given


def test_each_context_is_scored_by_itself() -> None:
    task = make_task("choice", ["acc", "acc_norm"])
    prompt = make_prompt(
        kind="choice", choices=("short", "a much longer one"), gold=1, continuations=(" end",),
        contexts=("… short", "… a much longer one"),
    )  # fmt: skip
    outcomes = judge(task, prompt, make_scores(-2.0), further=(make_scores(-3.0),))
    assert [(o.value, o.predicted) for o in outcomes] == [(0.0, 0), (1.0, 1)]
    with pytest.raises(TaskError, match="2 texts to score, but 1 answers"):
        judge(task, prompt, make_scores(-2.0))


def test_no_gold_is_wrong_and_has_no_class() -> None:
    task = make_task("choice", ["acc", "exact_match", "mcc", "brier_score"])
    prompt = replace(make_choice_prompt("a", "b"), gold=None)
    outcomes = judge(task, prompt, make_scores(-1, -2))
    assert [outcome.value for outcome in outcomes] == [0.0, 0.0, None, None]
    assert outcomes[2].failure is not None and outcomes[2].failure.kind == "no_gold"


def test_an_aggregation_of_the_task_sees_a_missing_gold_as_in_lm_eval() -> None:
    function = TaskFunction("utils.py", "macro_f1", call=len)
    prompt = replace(make_choice_prompt("a", "b"), gold=None)
    (outcome,) = judge(use("f1", kind="choice", aggregation=function), prompt, make_scores(-1, -2))
    assert (outcome.item, outcome.value, outcome.failure) == ((-100, 0), 0.0, None)


def test_one_name_means_a_metric_of_each_kind() -> None:
    kinds: list[Kind] = ["choice", "loglikelihood", "generate"]
    assert len({id(find_metric("acc", kind)) for kind in kinds}) == 3
    assert find_metric("acc").kind == "choice"
    assert find_metric("exact_match").kind == "generate"


def use(metric: str, **entries: Any) -> Task:
    kind: Kind = entries.pop("kind", "generate")
    return replace(make_task(kind, []), metrics=(MetricUse(metric, metric, **entries),))


def test_the_f1_of_evaluate_is_a_right_answer() -> None:
    step = ("map", {"mapping_dict": {"A": 0, "B": 1}, "default_value": -1})
    task = replace(use("f1", aggregation="mean"), filters=(FilterUse("x", (step,)),))
    values = [
        judge(task, make_prompt(references=("1",)), Text(text, "stop", 1))[0].value
        for text in ("B", "A", "?")
    ]
    assert values == [1.0, 0.0, 0.0]


def test_every_problem_is_told() -> None:
    task = replace(
        make_task("generate", []),
        metrics=(
            MetricUse("exact_match", "em", {"ignore_kase": True}),
            MetricUse("wer", "wer"),
            MetricUse("f1", "f1"),
            MetricUse("bleu", "bleu", aggregation="mean"),
            MetricUse("word_perplexity", "w"),
        ),
        filters=(
            FilterUse("x", (("nope", {}), ("decontaminate", {}), ("take_first_k", {"k": 2}))),
        ),
    )
    found = [error.message for error in problems(task)]
    named = (
        "ignore_kase", "'wer'", "gives a pair", "aggregated by 'mean'", "judges perplexity tasks",
        "'nope'", "'decontaminate' is not served", "takes 2 answers",
    )  # fmt: skip
    assert len(found) == len(named)
    assert all(word in text for word, text in zip(named, found, strict=True)), found


def test_unknown_aggregations_of_functions_are_refused() -> None:
    function = TaskFunction("f.py", "f")
    assert problems(use("f", function=function, aggregation="mean")) == []
    assert "'average'" in problems(use("f", function=function, aggregation="average"))[0].message


def test_a_missing_package_is_named_before_a_model_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lm_eval, "find_spec", lambda name: None)
    lm_eval.check_installed.cache_clear()
    for metric, package in (("bleu", "sacrebleu"), ("rougeL", "rouge-score")):
        with pytest.raises(TaskError, match=package) as caught:
            metric_names(use(metric))
        assert "tenbin[lm-eval]" in caught.value.hint
    lm_eval.check_installed.cache_clear()


def test_rouge_takes_the_best_reference() -> None:
    task = make_task("generate", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
    prompt = make_prompt(references=("nothing alike", "the cat sat on the mat"))
    values = [o.value for o in judge(task, prompt, Text("the cat on the mat", "stop", 1))]
    assert values == pytest.approx([10 / 11, 2 * 3 / 9, 10 / 11, 10 / 11])
