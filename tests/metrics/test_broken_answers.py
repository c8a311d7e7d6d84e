"""Answers of any content are judged: nothing in a text raises, nothing takes for ever."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tenbin.backends.text.thinking import cut_at_stops, split_thinking
from tenbin.metrics.choice import find_label, named_choice
from tenbin.metrics.japanese import (
    _parse,
    _parse_in_pieces,
    count_words,
    cut_into_words,
    japanese_exact_match,
    japanese_f1,
    normalise,
    tokenise,
)
from tenbin.metrics.judge import judge
from tenbin.metrics.registry import METRICS
from tenbin.metrics.steps import FILTERS
from tenbin.records import FilterUse, MetricUse, Picked, Text, Thinking

from .samples import make_prompt, make_task
from .watchdog import watchdog

BROKEN = [
    "", "\0", "東京\0大阪", "\ud800", "東京\udfff大阪", "\ud83d", "\ud83d\ude00", "\uffff",
    "\u202e", "\x1b[31m", "\r\n", "A\0", "A\ud800", "\ufeffB", "a\u0301" * 50, "\u0f73" * 50,
    "{'answer': '\ud800'}", "<think>\ud800</think>A", "\\boxed{\ud800}", "𝐀", "\U000e0041",
    "\u2028", "~" * 50, "ー" * 50,
]  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {"take_first_k": {"k": 1}}
CHAINS = tuple(FilterUse(name, ((name, OPTIONS.get(name, {})),)) for name in FILTERS)
# Metrics with a check judge by references of their own kind; their tests are in `instructions`.
WRITTEN = [n for n, metric in METRICS.items() if metric.kind == "generate" and not metric.check]
IGNORING = MetricUse(
    "exact_match",
    "ignoring",
    {"ignore_case": True, "ignore_punctuation": True, "regexes_to_ignore": [r"\s+", "[0-9]"]},
)


def judged(text: str) -> None:
    task = make_task("generate", WRITTEN, CHAINS)
    task = replace(task, metrics=(*task.metrics, IGNORING))
    prompt = make_prompt(
        references=("東京", "\ud800", "\0"),
        num_choices=4,
        language="ja",
        fields={"choices": ["東京", "\ud800", "\0", ""]},
    )
    outcomes = judge(task, prompt, Text(text, "length", 1))
    assert len(outcomes) == len(CHAINS) * (len(WRITTEN) + 1)
    assert all(outcome.value is not None for outcome in outcomes)


@pytest.mark.parametrize("text", BROKEN, ids=ascii)
def test_broken_texts_are_judged(text: str) -> None:
    judged(text)
    for end in ("A", "東京", "です"):
        judged(text + end)


@pytest.mark.parametrize(
    "text",
    [
        "A, " * 333_334,
        "東京は" * 333_334,
        "\0" * 1_000_000,
        "\ud800a" * 500_000,
        "<think>" * 142_858,
    ],
    ids=["letters", "Japanese", "null", "surrogates", "thinking"],
)
def test_a_million_characters_are_judged(text: str) -> None:
    with watchdog(120):
        judged(text)


def test_any_characters_are_judged() -> None:
    draw = random.Random(12)
    with watchdog(120):
        for _ in range(60):
            length = draw.choice([1, 5, 40, 300])
            judged("".join(chr(draw.randrange(0x110000)) for _ in range(length)))


def test_a_null_character_does_not_end_an_answer() -> None:
    assert tokenise("東京\0大阪").count("大阪") == 1
    assert japanese_f1("東京\0大阪", ["東京"]) < 100.0
    assert japanese_exact_match("東京\0大阪", ["東京"]) == 0.0


def test_named_choices_are_read_out_of_any_text() -> None:
    for text in (*BROKEN, "1" * 200_000, "\u0301\u0316" * 50_000):
        with watchdog():
            find_label(text, ["1", "2", "\ud800"])
            named_choice(Picked(None, "generated", text, labels=("A", "B")), "en")


UNITS = [
    "あ", "東京", "。", "ア", "1", "가", "ا", "ก", "正解はBです。", "the ", "A. ", "😀", "ー",
    "か゛", "a あ", "私は学生です", "犬と猫", "１２", "~", "\0",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_words_of_a_repetition_are_counted_as_they_are(unit: str) -> None:
    for start, end in (("", ""), ("答え：東京", "です")):
        text = start + unit * (4_000 // len(unit)) + end
        assert count_words(text) == Counter(tokenise(text))
        plain = normalise(text)
        assert japanese_exact_match(text, [plain]) == 100.0
        assert japanese_exact_match(text, [plain + "x", "東京"]) == 0.0


RUNS = {
    "digits": "0123456789",
    "katakana": "アイウエオカキクケコンー",
    "hangul": "가나다라마바사아자한국어",
    "Thai": "กขคงจชดตทนบปมยรลวสหอาเแโ",
    "Arabic": "ابتثجحخدذرزسشعغفقكلمنهوي",
    "symbols": "。、・！？（）「」…",
}


@pytest.mark.parametrize("alphabet", RUNS.values(), ids=RUNS)
def test_long_runs_are_cut_into_the_words_that_mecab_gives(alphabet: str) -> None:
    draw = random.Random(alphabet)
    text = normalise("東京は" + "".join(draw.choice(alphabet) for _ in range(3_000)) + "です")
    assert cut_into_words(text) == _parse_in_pieces(text) == _parse(text)
    with watchdog(120):
        cut_into_words(normalise("".join(draw.choice(alphabet) for _ in range(100_000))))


def test_thoughts_are_told_apart_in_linear_time() -> None:
    with watchdog():
        found = split_thinking("<think>a</think> " * 60_000 + "B", Thinking(), "")
        assert (found.answer, found.end) == ("B", "closed")
        assert split_thinking("<think>" * 100_000, Thinking(), "").end == "open"
        assert cut_at_stops("a" * 1_000_000, ["\n", "b"]) == ("a" * 1_000_000, False)
