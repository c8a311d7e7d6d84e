"""Answers in letters: how long, and whether one begins another."""

from __future__ import annotations

from typing import Any

from tenbin.analysis.doctor.choice_tokens import Labels, judge_labels, measure_labels
from tenbin.records import Prompt
from tests.analysis.doctor.written import prompt, reader


def measured(*prompts: Prompt, encoding: Any = "joint", **options: Any) -> Labels:
    opened = reader(encoding, **options)
    found = measure_labels(prompts, opened.tokenize(prompts))
    assert found is not None
    return found


def codes(found: Labels, *metrics: str) -> list[tuple[str, str]]:
    return [(f.code, f.severity) for f in judge_labels(found, metrics or ("acc", "acc_norm"))]


def test_even_labels() -> None:
    found = measured(prompt("x:", "abc", "def"), prompt("y:", "abc", "def"))
    assert (found.shortest, found.longest, found.mean_ratio) == (3, 3, 1.0)
    assert found.fixed == {"abc": 3, "def": 3}
    assert codes(found) == []


def test_white_space_of_the_prompt_is_no_part_of_a_label() -> None:
    # Joint encoding scores "\nabc"; the label is abc.
    found = measured(prompt("x:\n", "abc", "de"))
    assert found.fixed == {"abc": 3, "de": 2}
    assert found.same_first == 0


def test_one_answer_begins_another() -> None:
    pairs = [prompt("x:", "ab", "cd"), prompt("x:", "ab", "abc", "cde", document="d1")]
    found = measured(*pairs)
    assert found.begun == 1 and found.fixed is None
    assert codes(found) == [("begun_answer", "warning")]
    assert found.examples["begun"][0].seen == "'ab' begins 'abc'"
    assert codes(measured(*pairs, *[pairs[0]] * 9)) == [("begun_answer", "note")]
    # In tokens, not letters: `bc` is one token, so that a·b does not begin a·bc.
    assert measured(*pairs, merges=["bc"]).begun == 0


def test_uneven_labels_point_to_normed_accuracy() -> None:
    found = measured(prompt("x:", "ab", "cdef"))
    assert (found.uneven, found.mean_ratio) == (1, 2.0)
    assert codes(found) == [("uneven_labels", "note")]
    assert "read acc_norm beside acc" in judge_labels(found, ["acc", "acc_norm"])[0].remedy
    assert "--extra_metrics acc_norm" in judge_labels(found, ["acc"])[0].remedy
    assert codes(measured(prompt("x:", "ab", "cdefgh"))) == [("uneven_labels", "warning")]


def test_a_few_uneven_documents_are_normal() -> None:
    even = prompt("x:", "ab", "cd")
    assert codes(measured(even, even, prompt("x:", "ab", "cdefgh", document="d1"))) == []


def test_the_same_first_token() -> None:
    found = measured(prompt("x:", "ab", "ac", "ad"))
    assert found.same_first == 1 and codes(found) == [("same_first_token", "note")]
    assert measured(prompt("x:", "ab", "ac", "bd")).same_first == 0


def test_generation_has_no_labels() -> None:
    opened = reader()
    prompts = [prompt("abc")]
    assert measure_labels(prompts, opened.tokenize(prompts)) is None
