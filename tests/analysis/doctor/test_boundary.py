"""Borders whose tokens were worked out by hand: letters, and `bc` as one token."""

from __future__ import annotations

from typing import Any

from tenbin.analysis.doctor.boundary import Boundary, judge_boundary, measure_boundary
from tenbin.records import Prompt
from tests.analysis.doctor.written import prompt, reader


def measured(encoding: Any, *prompts: Prompt, merges: tuple[str, ...] = ("bc",)) -> Boundary:
    opened = reader(encoding, merges=merges)
    return measure_boundary(prompts, opened.tokenize(prompts), encoding, opened.decode)


def test_clean_borders_have_nothing_to_say() -> None:
    found = measured("joint", prompt("ab:", "cd", "ef"), prompt("xy", "ab", document="d1"))
    assert (found.documents, found.choices) == (2, 3)
    assert found.merged == found.other_tokens == found.other_text == found.lost == 0
    assert judge_boundary(found) == []


def test_a_token_over_the_border_loses_text_in_joint_encoding() -> None:
    # a·bc·d, cut behind two tokens: d alone is scored, and c is lost. a·b·x is clean.
    found = measured("joint", prompt("ab", "cd", "x"))
    assert (found.choices, found.merged, found.merged_documents) == (2, 1, 1)
    assert (found.other_text, found.other_tokens, found.lost) == (1, 0, 0)
    (finding,) = judge_boundary(found)
    assert (finding.code, finding.severity) == ("other_text", "warning")
    assert (finding.count, finding.n) == (1, 2)
    (example,) = finding.examples
    assert example.document == "d0"
    assert example.seen == "…'ab' + 'cd': reads 'bc' · 'd', asked 'b' · 'd'; scored 'd'"
    assert "--encoding separate" in finding.remedy


def test_an_answer_that_merges_wholly_fails_its_document() -> None:
    # a·bc: no token is left for c.
    found = measured("joint", prompt("ab", "c", "x"), prompt("ad", "c", document="d1"))
    assert (found.lost, found.merged, found.other_text) == (1, 1, 0)
    (finding,) = judge_boundary(found)
    assert (finding.code, finding.severity) == ("lost_answer", "problem")
    assert (finding.count, finding.n) == (1, 2)
    assert finding.examples[0].seen.endswith("scored nothing")


def test_separate_encoding_keeps_the_text_but_not_its_tokens() -> None:
    found = measured("separate", prompt("ab", "cd", "c", "x"))
    assert (found.merged, found.other_tokens, found.other_text, found.lost) == (2, 2, 0, 0)
    (finding,) = judge_boundary(found)
    assert (finding.code, finding.severity) == ("other_tokens", "note")
    assert (finding.count, finding.n) == (2, 3)
    assert "joint" in finding.remedy


def test_white_space_moves_in_joint_encoding_only() -> None:
    found = measured("joint", prompt("ab:\n", "cd"), prompt("ab:", "cd", document="d1"))
    assert found.moved_space == 1 and found.merged == 0
    (finding,) = judge_boundary(found)
    assert (finding.code, finding.count, finding.n) == ("moved_space", 1, 2)
    assert measured("separate", prompt("ab:\n", "cd")).moved_space == 0


def test_a_space_that_merges_with_the_answer_is_asked_as_it_stands() -> None:
    # ": " is cut to ":", so that " c" is one token of the answer: merged, and yet exact.
    found = measured("joint", prompt("ab: ", "cd"), merges=(" c",))
    assert (found.merged, found.other_text, found.other_tokens) == (1, 0, 0)
    assert [finding.code for finding in judge_boundary(found)] == ["moved_space"]
    apart = measured("separate", prompt("ab: ", "cd"), merges=(" c",))
    assert (apart.merged, apart.other_tokens) == (1, 1)


def test_a_rare_fault_is_a_note() -> None:
    many = [prompt("ax", "cd", document=f"d{number}") for number in range(200)]
    found = measured("joint", prompt("ab", "cd"), *many[1:])
    assert found.other_text == 1
    assert judge_boundary(found)[0].severity == "note"


def test_generation_has_no_border() -> None:
    found = measured("joint", prompt("ab "))
    assert (found.choices, found.moved_space) == (0, 0)
    assert judge_boundary(found) == []


def test_at_most_three_documents_are_shown() -> None:
    found = measured("joint", *(prompt("ab", "cd", "cx", document=f"d{n}") for n in range(5)))
    assert [example.document for example in found.examples["other_text"]] == ["d0", "d1", "d2"]
