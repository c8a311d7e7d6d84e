"""Answers of any content are checked: nothing in a text raises, nothing takes for ever."""

from __future__ import annotations

import random

import pytest

from tenbin.metrics.instructions import (
    INSTRUCTIONS,
    LANGUAGES,
    Asked,
    Edition,
    Rules,
    check_asked,
    judge_instructions,
)
from tests.metrics.instructions.test_cases import GROUPS
from tests.metrics.test_broken_answers import BROKEN
from tests.metrics.watchdog import watchdog

LONG = [
    "<<", "[", "「", "¿", "*", "**a ", "\n", "* \n", "'", "##", "《", "。", ". ", "漢（", "a\u0301",
    "\u0f73", "の\n", "1. ", "p. ", "\ud800", "\0", "  ", "Dr. A. ", "，",
]  # fmt: skip
SLOW = ("language", "nouns")
"""What takes milliseconds for any text: langdetect, and Janome for ten characters."""


def _asked(language: str, slow: bool) -> list[Asked]:
    kwargs = {group["id"]: group["kwargs"] for group in GROUPS}
    return [
        check_asked(id, kwargs[id], "case")
        for id, one in INSTRUCTIONS.items()
        if id.startswith(language) and (one.needs in SLOW) == slow
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("edition", ["corrected", "published"])
def test_broken_texts_are_checked(language: str, edition: Edition) -> None:
    draw = random.Random(5)
    drawn = ["".join(chr(draw.randrange(0x110000)) for _ in range(40)) for _ in range(10)]
    asked, rules = _asked(language, slow=False), Rules(language, edition)
    for text in (*BROKEN, *drawn):
        assert len(judge_instructions(f"{text}。{text}", asked, rules)) == len(asked)


def test_broken_texts_have_a_language_and_words() -> None:
    asked = _asked("ja", slow=True)
    for text in (*BROKEN, *LONG):
        assert len(judge_instructions(f"{text}。", asked, Rules("ja"))) == len(asked)


@pytest.mark.parametrize("language", LANGUAGES)
def test_eight_thousand_characters_of_a_repeated_token_are_checked(language: str) -> None:
    asked = _asked(language, slow=False)
    with watchdog(60):
        for unit in LONG:
            text = "x" + (unit * 8_000)[:8_000] + "x"
            assert len(judge_instructions(text, asked, Rules(language))) == len(asked)
