"""From responses to outcomes."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest

from tenbin.errors import TaskError
from tenbin.metrics.judge import judge
from tenbin.metrics.registry import METRICS, find_metric, metric_names
from tenbin.records import Failure, FilterUse, MetricUse, Text

from .samples import make_choice_prompt, make_prompt, make_scores, make_task

LETTERS = (
    FilterUse("strict-match", (("choice_letter_strict", {}), ("take_first", {}))),
    FilterUse("flexible-extract", (("choice_letter_flexible", {}),)),
)
CHOICE_METRICS = [name for name, metric in METRICS.items() if metric.kind == "choice"]


def test_choice_outcomes() -> None:
    task = make_task("choice", CHOICE_METRICS)
    prompt = make_choice_prompt("yes", "no", gold=1)
    outcomes = judge(task, prompt, make_scores(-3, -1), make_scores(-1, -1))
    assert [outcome.metric for outcome in outcomes] == CHOICE_METRICS
    values = {outcome.metric: outcome.value for outcome in outcomes}
    assert values.pop("no_choice") == 0.0
    assert values.pop("gold_bits_per_byte") == pytest.approx(1 / math.log(2) / len("no"))
    assert set(values.values()) == {1.0}
    assert {(o.answer, o.predicted, o.gold, o.group) for o in outcomes} == {("no", 1, 1, "g")}


def test_generation_outcomes_by_filter() -> None:
    task = make_task("generate", ["exact_match", "format_failure"], LETTERS)
    task = replace(task, num_choices=4)
    prompt = make_prompt(references=("B",), num_choices=4)
    outcomes = judge(task, prompt, Text("The answer is B.", "stop", 5))
    assert [(o.metric, o.value, o.answer) for o in outcomes] == [
        ("exact_match,strict-match", 0.0, None),
        ("exact_match,flexible-extract", 1.0, "B"),
        ("format_failure,strict-match", 1.0, None),
        ("format_failure,flexible-extract", 0.0, "B"),
    ]
    assert [name for name, _ in metric_names(task)] == [o.metric for o in outcomes]


def test_generation_without_filters_judges_the_text() -> None:
    task = make_task("generate", ["japanese_exact_match", "japanese_f1", "exact_match"])
    prompt = make_prompt(references=("東京", "東京都"))
    outcomes = judge(task, prompt, Text("東京都😀", "stop", 2))
    assert [(o.metric, o.value) for o in outcomes] == [
        ("japanese_exact_match", 100.0),
        ("japanese_f1", 100.0),
        ("exact_match", 0.0),
    ]
    assert outcomes[0].answer == "東京都😀"


def test_unread_answers_are_zero_and_failed_ones_are_none() -> None:
    filters = (FilterUse("number", (("regex", {"regex_pattern": r"(\d+)"}),)),)
    task = make_task("generate", ["japanese_f1", "format_failure"], filters)
    prompt = make_prompt(references=("1",))
    assert [o.value for o in judge(task, prompt, Text("?", "end", 1))] == [0.0, 1.0]
    failed = judge(task, prompt, Failure("timeout", "no answer"))
    assert [(o.metric, o.value) for o in failed] == [
        ("japanese_f1,number", None),
        ("format_failure,number", None),
    ]


def test_a_failed_prior_spoils_only_what_needs_it() -> None:
    task = make_task("choice", ["acc", "acc_pmi"])
    prompt = make_choice_prompt("a", "b")
    outcomes = judge(task, prompt, make_scores(-1, -2), Failure("timeout", "no answer"))
    assert [o.value for o in outcomes] == [1.0, None]
    with pytest.raises(TaskError, match="unconditional"):
        judge(task, prompt, make_scores(-1, -2))


NUMBER = ("regex", {"regex_pattern": r"(\d+)"})


def drawn(*texts: str) -> list[Text]:
    return [Text(text, "end", len(text)) for text in texts]


def test_a_documents_value_is_the_mean_over_its_draws() -> None:
    task = replace(make_task("generate", ["exact_match"]), repeats=4)
    first, *further = drawn("7", "8", "7", "")
    (outcome,) = judge(task, make_prompt(references=("7",)), first, None, further)
    assert outcome.value == 0.5
    assert outcome.values == (1.0, 0.0, 1.0, 0.0)
    assert outcome.answers == ("7", "8", "7", "")
    assert outcome.answer == "7"
    (alone,) = judge(task, make_prompt(references=("7",)), first)
    assert (alone.value, alone.values, alone.answers) == (1.0, (), ())


@pytest.mark.parametrize(
    ("steps", "texts", "value", "answers"),
    [
        # Without a choice among them, each is judged: 8 and nothing are wrong.
        ((NUMBER,), ("is 7", "is 8", "7.", "?"), 0.5, ("7", "8", "7", None)),
        ((NUMBER, ("take_first", {})), ("is 8", "is 7"), 0.0, ("8",)),
        ((NUMBER, ("take_first_k", {"k": 2})), ("7", "8", "8", "8"), 0.5, ("7", "8")),
        ((NUMBER, ("majority_vote", {})), ("is 8", "is 7", "7 it is"), 1.0, ("7",)),
        # As often as each other: the one that came first.
        ((NUMBER, ("majority_vote", {})), ("8", "7", "7", "8"), 0.0, ("8",)),
        ((NUMBER, ("majority_vote", {})), ("9", "7", "8", "7", "8"), 1.0, ("7",)),
        # What could not be read has a vote, as in lm-eval.
        ((NUMBER, ("majority_vote", {}), ("take_first", {})), ("?", "7", "!"), 0.0, (None,)),
        # The vote is over texts where nothing was read out before it.
        ((("majority_vote", {}), NUMBER), ("is 7", "7!", "8", "8"), 0.0, ("8",)),
        # lm-eval's maj@k: the first k, read, put to the vote.
        (
            (("take_first_k", {"k": 3}), NUMBER, ("majority_vote", {}), ("take_first", {})),
            ("7", "8", "7", "8", "8"),
            1.0,
            ("7",),
        ),
    ],
)
def test_filters_choose_among_draws(
    steps: tuple[tuple[str, dict[str, object]], ...],
    texts: tuple[str, ...],
    value: float,
    answers: tuple[str | None, ...],
) -> None:
    task = make_task("generate", ["exact_match"], (FilterUse("f", steps),))
    task = replace(task, repeats=len(texts))
    assert [name for name, _ in metric_names(task)] == ["exact_match,f"]
    first, *further = drawn(*texts)
    (outcome,) = judge(task, make_prompt(references=("7",)), first, None, further)
    assert outcome.value == value
    assert (outcome.answers or (outcome.answer,)) == answers


def test_one_failed_draw_fails_the_document() -> None:
    task = replace(make_task("generate", ["exact_match"]), repeats=2)
    failed = Failure("memory", "none left")
    for first, second in ((failed, drawn("7")[0]), (drawn("7")[0], failed)):
        (outcome,) = judge(task, make_prompt(references=("7",)), first, None, [second])
        assert outcome.value is None


@pytest.mark.parametrize(
    ("options", "message"),
    [({"k": 5}, "takes 5 answers, but 4 are sampled"), ({}, "needs k"), ({"k": "2"}, "k must be")],
)
def test_more_draws_than_there_are_cannot_be_taken(
    options: dict[str, object], message: str
) -> None:
    filters = (FilterUse("f", (("take_first_k", options),)),)
    with pytest.raises(TaskError, match=message):
        metric_names(replace(make_task("generate", ["exact_match"], filters), repeats=4))


def test_mistakes_are_refused_early() -> None:
    with pytest.raises(TaskError, match="judges generate tasks"):
        metric_names(make_task("choice", ["japanese_f1"]))
    with pytest.raises(TaskError, match="unknown filter"):
        metric_names(make_task("generate", ["exact_match"], (FilterUse("x", (("nope", {}),)),)))
    task = make_task("generate", ["exact_match"])
    wrong = replace(task, metrics=(MetricUse("exact_match", "em", {"ignore_kase": True}),))
    with pytest.raises(TaskError, match="ignore_kase"):
        metric_names(wrong)
    with pytest.raises(TaskError, match="cannot be judged"):
        judge(task, make_prompt(), make_scores(-1))


def test_unknown_metric_names_its_neighbours() -> None:
    with pytest.raises(TaskError) as caught:
        find_metric("acc_nrom")
    assert "acc_norm" in caught.value.hint


def test_the_registry_is_light() -> None:
    heavy = ["numpy", "scipy", "fugashi", "neologdn", "emoji", "torch", "yaml"]
    code = f"import sys, tenbin.metrics.registry; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_judging_loads_the_tokenizer_only_when_used() -> None:
    heavy = ["numpy", "scipy", "fugashi", "neologdn", "emoji"]
    code = f"import sys, tenbin.metrics.judge; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
