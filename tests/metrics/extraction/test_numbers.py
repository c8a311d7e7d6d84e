"""Numbers read out of answers as a person would read them."""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from tenbin.errors import TaskError
from tenbin.metrics.extraction.explain import explain_number
from tenbin.metrics.extraction.number_words import (
    NUMBER_LANGUAGES,
    check_number_words,
    load_number_words,
)
from tenbin.metrics.extraction.numbers import read_number
from tenbin.metrics.extraction.numerals import canonical, find_numerals, plain_number
from tenbin.metrics.filters import apply, explain
from tenbin.metrics.text import number_match
from tests.conftest import SHARED
from tests.metrics.watchdog import watchdog

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("number_cases.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("language", NUMBER_LANGUAGES)
def test_numbers_are_read_as_a_person_would_read_them(language: str) -> None:
    cases = [case for case in CASES if case["lang"] == language]
    read = {case["text"]: read_number(case["text"], language) for case in cases}
    assert read == {case["text"]: case["answer"] for case in cases}


@pytest.mark.parametrize("language", NUMBER_LANGUAGES)
def test_an_explanation_ends_with_what_is_read(language: str) -> None:
    for case in CASES:
        if case["lang"] == language and case["text"]:
            assert explain_number(case["text"], language)[-1].text == case["answer"], case


def test_there_are_cases_in_every_language_and_of_every_kind() -> None:
    languages = Counter(case["lang"] for case in CASES)
    assert set(languages) == set(NUMBER_LANGUAGES)
    assert min(languages.values()) >= 5
    assert len(CASES) >= 250
    assert sum(case["answer"] is None for case in CASES) >= 30


def test_checked_examples_of_others_are_read() -> None:
    path = SHARED / "cases" / "mgsm_numbers.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        assert read_number(case["text"], case["lang"]) == case["answer"], case


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1500), "1500"),
        (Fraction(-2), "-2"),
        (Fraction(1, 2), "0.5"),
        (Fraction(-5, 4), "-1.25"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 1000), "0.001"),
        (Fraction(0), "0"),
    ],
)
def test_the_canonical_form(value: Fraction, text: str) -> None:
    assert canonical(value) == text
    assert plain_number(text) == value


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("12.0", "12", 1.0),
        ("1080", "1,080", 1.0),
        ("012", "12", 1.0),
        ("+12", "12", 1.0),
        ("12.", "12", 1.0),
        ("35", "3.5", 0.0),
        ("-2", "2", 0.0),
        ("2/4", "0.5", 1.0),
        ("1.2.3", "123", 0.0),
        ("1/0", "1", 0.0),
        ("twelve", "12", 0.0),
        ("9" * 5000, "9", 0.0),
    ],
)
def test_numbers_are_compared_by_value(answer: str, reference: str, value: float) -> None:
    assert number_match(answer, [reference]) == value


def test_marks_are_read_by_the_language() -> None:
    def values(text: str, language: str) -> list[str]:
        return [canonical(one.value) for one in find_numerals(text, language)]

    assert values("1.234,5", "de") == values("1,234.5", "en") == ["1234.5"]
    assert values("1.234", "de") == ["1234"]
    assert values("1.234", "en") == ["1.234"]
    assert values("12 345", "fr") == ["12345"]
    assert values("12 345", "en") == ["12", "345"]
    assert values("1,2,3", "en") == ["1", "2", "3"]
    assert values("3,5", "ja") == ["3", "5"]
    assert values("12,34,567", "bn") == ["1234567"]
    assert values("1" * 40, "en") == []
    assert values("3억 2천만", "ko") == ["320000000"]
    assert values("3/0", "en") == []
    assert values("9" * 5000 + "分の1", "ja") == ["1"]


def test_the_step_of_filters_and_its_explanation() -> None:
    steps = (("number_flexible", {}),)
    assert apply(steps, ["答えは１８です。", "わからない"], "ja") == ["18", None]
    told = explain(steps, "16-3=13。答えは13です。", "ja")
    assert told[-1].text == "13"
    assert ("16", "bare") in told[-1].mentions
    assert told[-1].name == "numbers by phrase"


def test_an_unknown_language_is_read_with_english_words() -> None:
    assert read_number("Vastaus: 12. The answer is 12.", "fi") == "12"


def test_every_language_file_is_whole() -> None:
    for language in NUMBER_LANGUAGES:
        assert load_number_words(language)["answers"]
    with pytest.raises(TaskError, match="no number words for language 'xx'"):
        load_number_words("xx")
    good = load_number_words("sw")
    for bad, word in [
        ({**good, "answers": "jibu"}, "answers must be a list"),
        ({**good, "denials_before": [False]}, "must be a list of strings"),
        ({**good, "scales": {"elfu": "1000"}}, "whole numbers"),
        ({**good, "fillers": [":"]}, "fillers must begin with a letter"),
        ({**good, "extra": []}, r"unknown keys \['extra'\]"),
        ({**good, "language": "en"}, "does not say"),
        ({key: good[key] for key in good if key != "minus"}, r"missing keys \['minus'\]"),
    ]:
        with pytest.raises(TaskError, match=word):
            check_number_words("sw", bad)


UNITS = (
    "12 ",
    "1,",
    "1 000 ",
    "(",
    "not ",
    "the answer ",
    "答えは",
    "= 4 × ",
    "1. x\n",
    "3万",
    "二十",
)


@pytest.mark.parametrize("language", ["ja", "fr"])
def test_a_long_answer_is_read_in_linear_time(language: str) -> None:
    # What repeats is shortened first: numbers that count up do not repeat. A reader that looked at
    # the whole sentence for each number would take minutes.
    text = "".join(f"{UNITS[at // 400 % len(UNITS)]}{at} " for at in range(4_400))
    with watchdog():
        read_number(text, language)


def test_rows_of_marks_are_read_in_linear_time() -> None:
    with watchdog():
        for mark in ":、=-–.,()\"'*# ":
            for language in ("zh", "ja", "th", "en"):
                assert read_number(f"答 {mark * 60}x 32", language) == "32"


def test_digits_of_every_script_are_read() -> None:
    for zero in ("٠", "۰", "०", "০", "౦", "๐", "０", "𝟎"):
        text = "".join(chr(ord(zero) + int(digit)) for digit in "407")
        assert read_number(text, "en") == "407", zero


def test_no_case_is_written_twice() -> None:
    texts = [re.sub(r"\s+", " ", f"{case['lang']} {case['text']}") for case in CASES]
    assert [text for text, count in Counter(texts).items() if count > 1] == []
