"""The reader of choices, on answers as models write them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tenbin.errors import TaskError
from tenbin.metrics import filters
from tenbin.metrics.extraction.clean import strip_thinking
from tenbin.metrics.extraction.explain import explain_flexible
from tenbin.metrics.extraction.flexible import read_flexible
from tenbin.metrics.extraction.phrases import (
    KEYS,
    LANGUAGES,
    check_literals,
    load_literals,
    load_phrases,
    native_letters,
)
from tenbin.metrics.extraction.strict import read_strict

_HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = [
    case
    for name in ("extraction_cases.yaml", "extraction_cases_second.yaml")
    for case in yaml.safe_load((_HERE / name).read_text(encoding="utf-8"))
]
CHATTY: list[dict[str, Any]] = yaml.safe_load(
    (_HERE / "extraction_cases_chatty.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    "case",
    CASES + CHATTY,
    ids=[f"{index}-{case['language']}" for index, case in enumerate(CASES + CHATTY)],
)
def test_reads_as_a_human_reader(case: dict[str, Any]) -> None:
    assert read_flexible(case["text"], case["language"], 4) == case["expected"], case["note"]
    told = explain_flexible(case["text"], case["language"], 4)
    assert told[-1].text == case["expected"], "what is told is what was done"


def test_reading_is_told_step_by_step() -> None:
    told = explain_flexible("<think>C?</think>**A** is wrong. The answer is **B**.", "en", 4)
    assert [(step.name, step.text) for step in told] == [
        ("without thinking", "**A** is wrong. The answer is **B**."),
        ("plain form", "A is wrong. The answer is B."),
        ("letters", "B"),
    ]
    assert told[-1].mentions == (("A", "denied"), ("B", "announced"))
    unended = explain_flexible("<think>hm", "en", 4)
    assert [(step.name, step.text) for step in unended] == [("without thinking", None)]


def test_chains_are_told_step_by_step() -> None:
    steps = (("regex", {"regex_pattern": r"= (\w+)"}), ("lowercase", {}))
    told = filters.explain(steps, "x = ABC", "en")
    assert [(step.name, step.text) for step in told] == [("regex", "ABC"), ("lowercase", "abc")]
    assert [step.text for step in filters.explain(steps, "nothing", "en")] == [None]


@pytest.mark.parametrize(
    ("steps", "choices"),
    [
        ((("nope", {}),), 4),
        ((("regex", {"group_select": "x"}),), 4),
        ((("regex", {"regex_pattern": "("}),), 4),
        ((("choice_letter_flexible", {}),), None),
        ((("choice_letter_flexible", {}),), 10**9),
        ((("choice_letter_strict", {}),), -1),
    ],
)
def test_nothing_is_told_of_chains_that_no_task_has(steps: Any, choices: Any) -> None:
    assert filters.explain(steps, "The answer is B", "en", choices) == []


def test_cases_are_many_even_and_hard() -> None:
    counts = Counter(case["language"] for case in CASES)
    assert set(counts) == set(LANGUAGES)
    assert len(CASES) >= 600
    assert max(counts.values()) <= 1.5 * min(counts.values())
    assert sum(case["note"].startswith("trap:") for case in CASES) * 2 >= len(CASES)
    assert len({(case["language"], case["text"]) for case in CASES}) == len(CASES)


def test_phrases_are_folded_as_texts_are() -> None:
    assert "，" not in load_phrases().announcements
    assert read_flexible("综上，D（其余各项与题干无关）", "zh", 4) == "D"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("letter", "ABCD")
@pytest.mark.parametrize(
    "form",
    ["{}", "({})", "**{}**", "「{}」", "（{}）", "【{}】", "{}.", "{})", "[{}]", r"\boxed{{{}}}"],
)
def test_a_letter_alone_is_read_in_every_dress(language: str, letter: str, form: str) -> None:
    assert read_flexible(form.format(letter), language, 4) == letter
    full_width = chr(ord(letter) + 0xFEE0)
    assert read_flexible(form.format(full_width), language, 4) == letter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'answer': 'A'}", "A"),
        ('{"answer": "B"}', "B"),
        ("{ 'answer' :\n 'C' }", "C"),
        ("{'answer': 'A'} no, {'answer': 'D'}", "D"),
        ('```json\n{"answer": "B"}\n```', "B"),
        ("<think>{'answer': 'A'}</think>{'answer': 'B'}", "B"),
        ("<think>{'answer': 'A'}", None),
        ("{'answer': 'E'}", None),
        ("{'answer': 'a'}", None),
        ("{'answer': 'A. Foo'}", None),
        ("{'answer': '[A]'}", None),
        ("{'answer\": 'A'}", None),
        ("The answer is A.", None),
        ("", None),
    ],
)
def test_strict_form(text: str, expected: str | None) -> None:
    assert read_strict(text, 4) == expected


def test_strict_form_wins_over_what_is_said_after_it() -> None:
    assert read_flexible("{'answer': 'B'} since the answer is not A but C is close", "en", 4) == "B"


def test_choice_count_bounds_the_letters() -> None:
    assert read_flexible("The answer is E.", "en", 4) is None
    assert read_flexible("The answer is E.", "en", count=5) == "E"
    assert read_strict("{'answer': 'C'}", count=2) is None


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("<think>a", None),
        ("<think>a</think>b<think>c", None),
        ("<THINKING>a</THINKING>b", "b"),
        ("b", "b"),
    ],
)
def test_thinking_is_dropped(text: str, spoken: str | None) -> None:
    assert strip_thinking(text) == spoken


def test_letters_of_other_scripts_belong_to_their_language() -> None:
    assert native_letters("ar") == ("أ", "ب", "ج", "د")
    assert native_letters("xx") == ()
    assert read_flexible("(ب)", "en", 4) is None


@pytest.mark.parametrize("key", KEYS)
def test_a_missing_key_fails_loudly(key: str) -> None:
    content: dict[str, Any] = {name: [] for name in KEYS if name != key}
    with pytest.raises(TaskError, match=key):
        check_literals("en", {"language": "en", **content})


def test_a_wrong_literal_file_fails_loudly() -> None:
    with pytest.raises(TaskError, match="no phrases"):
        load_literals("tlh")
    with pytest.raises(TaskError, match="language: en"):
        check_literals("en", {"language": "fr"})
    empty: dict[str, Any] = {name: [] for name in KEYS}
    with pytest.raises(TaskError, match="list of strings"):
        check_literals("en", {"language": "en", **empty, "fillers": [False]})


@given(st.text(max_size=80), st.sampled_from(LANGUAGES))
def test_any_text_gives_a_letter_or_nothing(text: str, language: str) -> None:
    assert read_flexible(text, language, 4) in {None, "A", "B", "C", "D"}


@given(st.text(alphabet=st.characters(categories=["Ll", "Lo", "Nd"], exclude_characters="abcd")))
def test_text_without_choice_letters_gives_nothing(text: str) -> None:
    assert read_flexible(text, "en", 4) is None


def calls_to_read(sentences: int) -> int:
    """Functions that are called to read an answer of so many sentences."""
    text = "The answer to the question is that option A and option B say so. " * sentences
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        read_flexible(text, "en", 4)
    finally:
        sys.setprofile(None)
    return calls


def test_the_work_of_reading_grows_with_the_answer_and_no_faster() -> None:
    calls_to_read(1)  # patterns are compiled once
    assert calls_to_read(200) < 5 * calls_to_read(50)
