"""Declaring a metric, and metrics of other packages by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tenbin.errors import PluginError, TaskError
from tenbin.metrics import metric
from tenbin.metrics.base import declared_metric
from tenbin.metrics.judge import judge
from tenbin.metrics.registry import METRICS, find_metric, metric_names
from tenbin.records import FilterUse, MetricUse, Rolled, Text
from tests.conftest import Install
from tests.metrics.samples import make_choice_prompt, make_prompt, make_scores, make_task

SHARE = """
from tenbin.metrics import metric

@metric("{name}", "generate", options={{"weight": float, "fold": bool}})
def share(answer, references, *, weight=1.0, fold=False):
    if fold:
        answer = answer.lower()
    return weight * max(sum(c in one for c in answer) / len(answer) for one in references)
"""


@pytest.fixture
def share(install: Install) -> None:
    install("sharing", "2.1", SHARE.format(name="share"), share="sharing_code:share")
    sys.modules.pop("sharing_code", None)


def test_a_function_stays_a_function() -> None:
    @metric("same", "generate")
    def same(answer: str, references: Sequence[str]) -> float:
        return float(answer in references)

    assert same("a", ["a"]) == 1.0
    declared = declared_metric(same)
    assert declared is not None
    assert (declared.name, declared.aggregation, declared.higher_is_better) == (
        "same",
        "mean",
        True,
    )


def test_every_metric_of_tenbin_is_declared() -> None:
    assert list(METRICS) == [
        *("acc", "acc_norm", "acc_norm_bytes", "acc_norm_tokens", "acc_pmi"),
        *("balanced_acc", "mcc", "macro_f1", "no_choice", "gold_bits_per_byte"),
        *("japanese_exact_match", "japanese_f1"),
        *("nfkc_exact_match", "answer_exact_match", "character_f1", "fuzzy_char_f1"),
        *("exact_match", "format_failure", "number_match", "squad_exact_match", "squad_f1"),
        *("prompt_level_strict_acc", "prompt_level_loose_acc"),
        *("inst_level_strict_acc", "inst_level_loose_acc"),
        *("word_perplexity", "byte_perplexity", "bits_per_byte", "char_perplexity"),
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"kind": "translate"}, "kind must be one of choice, generate, perplexity"),
        (
            {"kind": "generate", "aggregation": "mcc"},
            "mcc of a generate task needs an option 'classes'",
        ),
        ({"kind": "generate", "options": {"other": bool}}, "differ: option, other"),
        ({"kind": "generate"}, "differ: option"),
        ({"kind": "generate", "options": {"option": list}}, "cannot be of type"),
        (
            {"kind": "generate", "options": {"option": bool}, "higher_is_better": False},
            "say what an unread answer is worth",
        ),
    ],
)
def test_a_contradiction_is_refused(arguments: dict[str, object], reason: str) -> None:
    def value(answer: str, references: Sequence[str], *, option: bool = False) -> float:
        return 0.0

    with pytest.raises(PluginError, match=reason):
        metric("wrong", **arguments)(value)  # type: ignore[arg-type]


@pytest.mark.usefixtures("share")
def test_a_metric_of_another_package_judges() -> None:
    task = make_task("generate", ["share"], (FilterUse("f", (("strip", {}),)),))
    task = replace(task, metrics=(MetricUse("share", "part", {"weight": 2, "fold": True}),))
    assert [name for name, _ in metric_names(task)] == ["part,f"]
    (outcome,) = judge(task, make_prompt(references=("ab",)), Text(" ABcd ", "end", 6))
    # Two of the four letters of "abcd" are in "ab", and the weight is 2.
    assert outcome.value == 1.0
    found = find_metric("share")
    assert found.plugin is not None
    assert found.plugin.origin == "sharing 2.1"


@pytest.mark.usefixtures("share")
def test_its_name_is_known_and_its_code_is_not_loaded() -> None:
    with pytest.raises(TaskError) as caught:
        find_metric("shar")
    assert "did you mean share" in caught.value.hint
    assert find_metric("acc").plugin is None
    assert "sharing_code" not in sys.modules


@pytest.mark.usefixtures("share")
@pytest.mark.parametrize(
    ("options", "reason"),
    [({"wieght": 1}, "has no option 'wieght'"), ({"weight": "2"}, "weight must be a number")],
)
def test_its_options_are_checked_before_anything_is_asked(
    options: dict[str, object], reason: str
) -> None:
    task = replace(make_task("generate", []), metrics=(MetricUse("share", "share", options),))
    with pytest.raises(TaskError, match=reason):
        metric_names(task)


def test_a_name_of_tenbin_is_refused(install: Install) -> None:
    install("greedy", "0.1", SHARE.format(name="acc"), acc="greedy_code:share")
    with pytest.raises(PluginError) as caught:
        find_metric("acc")
    assert "greedy 0.1 provides a metric 'acc', and tenbin has a metric" in caught.value.message
    assert find_metric("acc_norm").name == "acc_norm"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def value(answer, references): return 1.0", "not a function under"),
        (SHARE.format(name="other").replace("def share", "def value"), "calls itself 'other'"),
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    ],
)
def test_a_broken_metric_is_named(install: Install, code: str, reason: str) -> None:
    install("poor", "0.1", code, value="poor_code:value")
    sys.modules.pop("poor_code", None)
    with pytest.raises(PluginError) as caught:
        find_metric("value")
    sys.modules.pop("poor_code", None)
    assert "poor 0.1: the entry point value = poor_code:value" in caught.value.message
    assert reason in caught.value.message


def test_choices_and_lengths_of_another_package(install: Install) -> None:
    code = """
from tenbin.metrics import metric

@metric("longest", "choice", needs_likelihoods=True)
def longest(choices):
    return max(range(len(choices.texts)), key=lambda at: len(choices.texts[at]))

@metric("line_perplexity", "perplexity")
def lines(text):
    return text.count("\\n") + 1
"""
    install("more", "1.0", code, longest="more_code:longest", line_perplexity="more_code:lines")
    (chosen,) = judge(
        make_task("choice", ["longest"]), make_choice_prompt("a", "bcd"), make_scores(-1, -9)
    )
    assert (chosen.predicted, chosen.answer, chosen.value) == (1, "bcd", 0.0)
    (rolled,) = judge(
        make_task("perplexity", ["line_perplexity"]),
        make_prompt(kind="perplexity", text="one\ntwo", target=None),
        Rolled(-3.0, 2),
    )
    assert (rolled.value, rolled.weight) == (-3.0, 2.0)
