"""Answers of models that have lost their way: long, repetitive, broken. Read in linear time."""

from __future__ import annotations

import random
import re
import sys
import unicodedata
from itertools import product
from typing import Any

import pytest

from tenbin.metrics.extraction.alternation import WITHIN_CLAUSE, _symbols, alternation
from tenbin.metrics.extraction.clean import fold, normalise_unicode, simplify, strip_thinking
from tenbin.metrics.extraction.flexible import read_flexible, read_part, shorten_repetition
from tenbin.metrics.extraction.phrases import KEYS, LANGUAGES, load_literals
from tenbin.metrics.extraction.sections import parts_to_read
from tenbin.metrics.extraction.strict import read_strict
from tenbin.metrics.repetition import find_repetition, shorten

from .test_extraction import CASES
from .watchdog import watchdog

REPEATED = [
    "A. ", "A, ", "B and ", "A\n", "(A)", "**A** ", "A ", "Answer: B\n", "The answer is C. ",
    "正解はBです。", "答えは", "可能是", "الإجابة ", "คำตอบ", "정답은 ", "no, wait, ", "<think>",
    "<think></thinking>", "\\text{", "\\boxed{A}", "{'answer': ", "{'answer': 'A'} ", "\n", "。\n",
    "Question   ", "( ", '"', "a\u0301", "。", "I think the answer is B, not A. ", "\ud800", "\0",
]  # fmt: skip
IRREGULAR = {
    "letters": ["A", "B", "C", "D", " ", ", ", " and ", "the answer is ", ". ", "\n"],
    "spaces": [" ", "\t", "\u3000"],
    "space before and after": [" ", "\n"],
    "marks": ["\u0301", "\u0316", "\u0323"],
    "Tibetan marks": ["\u0f73", "\u0f71", "\u0f72"],
    "thinking": ["<think>", "<thinking>", " "],
    "brackets": ["(", ")", "「", "」", '"', "A"],
    "fillers": ["可能", "是", "可能是", "选", "项", "选项"],
}


@pytest.mark.parametrize("unit", REPEATED, ids=repr)
def test_ninety_thousand_characters_of_a_repeated_token_are_read(unit: str) -> None:
    text = (unit * 90_000)[:90_000]
    with watchdog():
        found = read_flexible(text, "en", 4)
        read_strict(text, 4)
    short = (unit * 90_000)[: 120 * len(unit)]
    if len(text) % len(unit) == 0:
        assert found == read_flexible(short, "en", 4), "more of the same says the same"


@pytest.mark.parametrize("parts", IRREGULAR.values(), ids=IRREGULAR)
@pytest.mark.parametrize("end", ["", "B", " x B"])
def test_long_texts_without_a_period_are_read(parts: list[str], end: str) -> None:
    draw = random.Random(7)
    text = "答案是" + "".join(draw.choice(parts) for _ in range(8_000)) + end
    with watchdog():
        read_flexible(text, "zh", 4)


def test_rows_of_fillers_are_read_in_one_way() -> None:
    """可能是 is 可能 and 是, too: a row of n was read in 2ⁿ ways where no letter followed."""
    with watchdog():
        for language in LANGUAGES:
            for filler in load_literals(language)["fillers"]:
                for gap, end in product(("", " "), ("x B", "B")):
                    row = gap.join([filler] * 40)
                    read_flexible(f"答案是{row}{gap}{end}", language, 4)
    assert read_flexible("答案是可能是可能是B", "zh", 4) == "B"


def operations(text: str) -> int:
    """Python-level and C-level calls that reading takes."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        read_flexible(text, "en", 4)
    finally:
        sys.setprofile(None)
    return calls


def test_operations_grow_with_the_text_alone() -> None:
    draw = random.Random(3)
    letters = [draw.choice("ABCD") + draw.choice([" ", ", ", " and ", "\n"]) for _ in range(8_000)]
    few, many = operations("".join(letters[:1_000])), operations("".join(letters))
    assert many < 12 * few, "eight times the text"
    repeated = operations("B, " * 1_000), operations("B, " * 30_000)
    assert repeated[1] < 1.5 * repeated[0], "a repetition is read a few times only"


def whole_reading(plain: str, language: str, count: int) -> str | None:
    """As `read_flexible` reads, nothing shortened."""
    letters = (read_part(part, language, count, LANGUAGES) for part in parts_to_read(plain))
    return next((letter for letter in letters if letter is not None), None)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_shortened_repetition_reads_as_the_whole(language: str) -> None:
    draw = random.Random(language)
    literals = load_literals(language)
    phrases = [phrase.replace("…", " ") for key in KEYS for phrase in literals[key]]
    words = [*phrases, *"ABCDAB", *[" ", ", ", ". ", "\n", ": ", " and ", "、", "。", "("]]
    shortened = 0
    for _ in range(12):
        unit = " ".join(draw.choice(words) for _ in range(draw.randint(1, 5)))
        ends = [draw.choice(CASES)["text"] if draw.random() < 0.4 else "" for _ in range(2)]
        plain = simplify(ends[0] + unit * (3_500 // len(unit)) + ends[1])
        short = shorten_repetition(plain)
        shortened += len(short) < len(plain)
        assert whole_reading(short, language, 4) == whole_reading(plain, language, 4), unit
    assert shortened >= 6


@pytest.mark.parametrize("key", ["announcements", "fillers", "denials_after", "refusals"])
def test_shared_beginnings_match_what_the_phrases_match(key: str) -> None:
    phrases = sorted({fold(one) for code in LANGUAGES for one in load_literals(code)[key]})
    quick = re.compile(alternation(phrases, WITHIN_CLAUSE), re.IGNORECASE)
    ordered = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    each = [re.compile("".join(_symbols(one, WITHIN_CLAUSE)), re.IGNORECASE) for one in ordered]
    draw = random.Random(key)
    for _ in range(60):
        text = "".join(
            draw.choice([draw.choice(phrases).replace("…", " x "), " ", "\n", "A", ", ", "the"])
            for _ in range(draw.randint(1, 8))
        )
        found = {at for at in range(len(text) + 1) if quick.match(text, at)}
        wanted = {at for at in range(len(text) + 1) if any(one.match(text, at) for one in each)}
        assert found == wanted, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc" * 500, (0, 1500, 3)),
        ("some words " + "xy" * 600 + " end", (11, 1211, 2)),
        ("x" * 399, None),
        ("".join(map(str, range(3_000))), None),
    ],
)
def test_repetitions_are_found(text: str, expected: tuple[int, int, int] | None) -> None:
    found = find_repetition(text)
    assert (found and (found.start, found.end, found.period)) == expected


def test_shortening_takes_out_whole_periods() -> None:
    text = "<" + "abc" * 3_000 + ">"
    short = shorten(text, 512, 12)
    assert len(short) < 1_200 and (len(text) - len(short)) % 36 == 0
    assert short[:513] == text[:513] and short[-513:] == text[-513:]
    assert shorten("abc" * 10, 512, 12) == "abc" * 10


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_normalisation_is_the_librarys(form: Any) -> None:
    draw = random.Random(form)
    marks = "\u0301\u0316\u0323\u0344\u0f73\u0f71\u064b\u0651\u3099\u05b0。、①﷐é"
    for _ in range(40):
        row = "".join(draw.choice(marks) for _ in range(draw.choice([3, 31, 32, 33, 100])))
        text = draw.choice(["a", "", "か", "각"]) + row + "e\u0301x"
        assert normalise_unicode(form, text) == unicodedata.normalize(form, text)


def test_thinking_is_dropped_as_before() -> None:
    """Beside an expression that says the same and is quadratic."""
    blocks = re.compile(r"<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
    draw = random.Random(1)
    parts = [
        "<think>",
        "</think>",
        "<thinking>",
        "</thinking>",
        "<THINK>",
        "</Think>",
        "a",
        "<",
        " ",
    ]
    for _ in range(500):
        text = "".join(draw.choice(parts) for _ in range(draw.randint(1, 12)))
        spoken = blocks.sub("", text)
        spoken = re.split(r"</think(?:ing)?>", spoken, flags=re.IGNORECASE)[-1]
        opened = re.search(r"<think(?:ing)?>", spoken, re.IGNORECASE)
        assert strip_thinking(text) == (None if opened else spoken)
