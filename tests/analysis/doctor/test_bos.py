"""How many BOS tokens a prompt begins with, and how many it should."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.analysis.doctor.bos import Beginning, judge_beginning, measure_beginning
from tenbin.records.tokenized import TokenizedPrompt, Vocabulary
from tests.analysis.doctor.written import prompt, reader


def measured(*texts: str, **options: Any) -> Beginning:
    opened = reader(**options)
    prompts = [prompt(text, "a", document=f"d{at}") for at, text in enumerate(texts)]
    return measure_beginning(opened.tokenize(prompts), opened.vocabulary)


@pytest.mark.parametrize(
    ("adds", "setting", "expected", "own", "codes"),
    [
        (True, None, 1, 1, []),
        (False, None, 0, 0, []),
        (False, True, 1, 0, []),
        (True, False, 0, 1, ["withheld_bos"]),
    ],
)
def test_what_is_expected_is_what_is_there(
    adds: bool, setting: bool | None, expected: int, own: int, codes: list[str]
) -> None:
    found = measured("ab", "cd", add_bos=adds, add_bos_token=setting)
    assert (found.expected, found.own, found.leading) == (expected, own, {expected: 2})
    assert [finding.code for finding in judge_beginning(found)] == codes


def test_a_template_that_writes_bos_is_not_given_another() -> None:
    found = measured("<s>ab", "ab</s><s>cd", add_bos=True)
    assert found.leading == {1: 2} and found.inside == 1
    assert judge_beginning(found) == []
    # Where the tokenizer adds none, the template's own is welcome.
    assert judge_beginning(measured("<s>ab")) == []


def test_two_at_the_beginning_are_a_problem() -> None:
    found = measured("<s><s>ab", "ab", add_bos=True)
    assert found.leading == {2: 1, 1: 1}
    (finding,) = judge_beginning(found)
    assert (finding.code, finding.severity) == ("doubled_bos", "problem")
    assert (finding.count, finding.n) == (1, 2)
    assert [example.document for example in finding.examples] == ["d0"]


def test_one_that_is_expected_and_absent_is_a_problem() -> None:
    vocabulary = Vocabulary("", 3, 8, "joint", 1, (1,), (1,), None)
    found = measure_beginning([TokenizedPrompt("d0", (5, 6), (5, 6))], vocabulary)
    (finding,) = judge_beginning(found)
    assert (finding.code, finding.severity) == ("missing_bos", "problem")


def test_a_tokenizer_without_bos() -> None:
    vocabulary = Vocabulary("", 3, 8, "joint", None, (), (), None)
    found = measure_beginning([TokenizedPrompt("d0", (5, 6), (5, 6))], vocabulary)
    assert not found.has_bos and found.leading == {0: 1}
    assert judge_beginning(found) == []
