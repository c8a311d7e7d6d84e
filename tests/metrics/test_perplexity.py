"""Lengths of texts and outcomes of rolls, by hand."""

from __future__ import annotations

import re

import pytest

from tenbin.errors import TaskError
from tenbin.metrics.judge import judge
from tenbin.metrics.perplexity import count_bytes, count_characters, count_words
from tenbin.metrics.registry import METRICS, metric_names
from tenbin.records import Failure, Rolled, Text
from tests.metrics.samples import make_prompt, make_task

ROLLS = ["word_perplexity", "byte_perplexity", "bits_per_byte", "char_perplexity"]


@pytest.mark.parametrize(
    ("text", "words", "size", "characters"),
    [
        ("one two  three", 3, 14, 14),
        ("one\ntwo\t three\u3000four", 4, 21, 19),
        (" both ends ", 4, 11, 11),
        ("吾輩は猫である。", 1, 24, 8),
        ("naïve", 1, 6, 5),
        ("🙂", 1, 4, 1),
    ],
)
def test_lengths(text: str, words: int, size: int, characters: int) -> None:
    assert count_words(text) == words == len(re.split(r"\s+", text))
    assert count_bytes(text) == size
    assert count_characters(text) == characters


def test_lower_is_better_in_every_metric_of_whole_texts() -> None:
    rolls = [metric for metric in METRICS.values() if metric.kind == "perplexity"]
    assert [metric.name for metric in rolls] == ROLLS
    assert not any(metric.higher_is_better for metric in rolls)


def test_outcomes_hold_likelihood_and_length() -> None:
    task = make_task("perplexity", ROLLS)
    prompt = make_prompt(kind="perplexity", text="naïve cat", target=None)
    outcomes = judge(task, prompt, Rolled(-12.5, 4))
    assert [outcome.metric for outcome in outcomes] == [name for name, _ in metric_names(task)]
    assert [outcome.value for outcome in outcomes] == [-12.5] * 4
    assert [outcome.weight for outcome in outcomes] == [2, 10, 10, 9]


def test_a_failure_has_no_value() -> None:
    task = make_task("perplexity", ROLLS)
    outcomes = judge(task, make_prompt(kind="perplexity"), Failure("out_of_memory", "no room"))
    assert [outcome.value for outcome in outcomes] == [None] * 4


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TaskError, match="cannot be judged"):
        judge(make_task("perplexity", ROLLS), make_prompt(kind="perplexity"), Text("a", "end", 1))
    with pytest.raises(TaskError, match="judges perplexity tasks, but this is a choice task"):
        metric_names(make_task("choice", ["bits_per_byte"]))
    with pytest.raises(TaskError, match="judges choice tasks, but this is a perplexity task"):
        metric_names(make_task("perplexity", ["acc"]))
