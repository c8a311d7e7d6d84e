"""P-MMEval's own reading of letters and numbers, beside what a reader would say."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tenbin.metrics.extraction.flexible import read_flexible
from tenbin.metrics.extraction.numbers import read_number
from tenbin.metrics.extraction.pmmeval import read_pmmeval_letter, read_pmmeval_number
from tenbin.metrics.judge import judge
from tenbin.records import Cell, Prompt, Text
from tenbin.tasks.registry import load_registry

from .watchdog import watchdog

LETTERS = yaml.safe_load((Path(__file__).parent / "pmmeval_cases.yaml").read_text("utf-8"))
LANGUAGES = ("ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh")


def test_there_are_cases_in_every_language() -> None:
    assert len(LETTERS) >= 60
    count = Counter(language for language, *_ in LETTERS)
    assert sorted(count) == list(LANGUAGES)
    assert min(count.values()) >= 5


@pytest.mark.parametrize(("language", "published", "stated", "flexible", "text"), LETTERS)
def test_letters(
    language: str, published: str | None, stated: str | None, flexible: str | None, text: str
) -> None:
    assert read_pmmeval_letter(text, language) == published
    assert read_pmmeval_letter(text, language, guess=False) == stated
    assert read_flexible(text, language, 4) == flexible


# (language, as published, as a reader would, text)
NUMBERS = [
    ("en", "18", "18", "The answer is 18"),
    ("en", "18", "18", "The answer is 18."),
    ("en", "18", "18", "The answer is +18"),
    ("en", "-3", "-3", "The answer is -3"),
    ("en", "2125", "2125", "The answer is 2,125"),
    ("en", "276000", "276000", "The answer is $276,000."),
    # Not 18 as published, which compares texts.
    ("en", "18.0", "18", "The answer is 18.0"),
    # A remark after the answer.
    ("en", "2", "18", "The answer is 18.\nI checked it in 2 ways."),
    ("en", "60", "48", "The answer is 48, not 60."),
    ("en", None, None, "I do not know."),
    # A comma that does not part groups of three.
    ("en", "34", "12", "The answer is 12 (and not 5,34)"),
    ("ja", "48", "48", "答えは 48"),
    ("ja", None, "48", "答えは ４８です。"),
    ("ja", "48", "48", "12×4=48なので、答えは48個です。"),
    ("zh", "9", "9", "答案是 9"),
    ("zh", "9", "9", "30-21=9，答案是9欧元。"),
    ("ko", "240", "240", "답변은 240"),
    ("ko", "13", "13", "15-6+4=13이므로 답변은 13마리입니다."),
    ("fr", "500", "2500", "La réponse est 2 500"),
    ("fr", "12", "12", "La réponse est 12"),
    ("es", "2.500", "2500", "La respuesta es 2.500"),
    ("es", "48", "48", "La respuesta es 48 huevos."),
    ("pt", "2.500", "2500", "A resposta é 2.500"),
    ("pt", "9", "9", "A resposta é 9 euros"),
    ("vi", "2.500", "2500", "Câu trả lời là 2.500"),
    ("vi", "13", "13", "Câu trả lời là 13"),
    ("th", "12", "12", "คำตอบคือ 12"),
    ("th", None, "12", "คำตอบคือ ๑๒"),
    ("ar", "2500", "2500", "الجواب هو 2,500"),
    ("ar", None, "2500", "الجواب هو ٢٥٠٠"),
]


@pytest.mark.parametrize(("language", "published", "flexible", "text"), NUMBERS)
def test_numbers(language: str, published: str | None, flexible: str | None, text: str) -> None:
    assert read_pmmeval_number(text) == published
    assert read_number(text, language) == flexible


def prompt_of(name: str, version: str, reference: str) -> Prompt:
    task = load_registry().task(name, version)
    cell = Cell(task.name, version, "p-mmeval", 0, 1234)
    return Prompt(
        cell, "1", task.language, None, "generate", "?", None, None, None, (reference,), reference,
        (), 9, num_choices=task.num_choices,
    )  # fmt: skip


def outcomes(name: str, version: str, reference: str, answer: str) -> dict[str, float | None]:
    prompt = prompt_of(name, version, reference)
    task = load_registry().task(name, version)
    return {one.metric: one.value for one in judge(task, prompt, Text(answer, "stop", 4))}


@pytest.mark.parametrize("subset", ["mmmlu", "mhellaswag", "xnli"])
def test_how_often_the_guess_is_reached_is_reported(subset: str) -> None:
    name = f"pmmeval_{subset}_en"
    assert outcomes(name, "1.0", "A", "At least it could be.") == {
        "exact_match,p-mmeval": 1.0,
        "exact_match,stated": 0.0,
        "format_failure,p-mmeval": 0.0,
        "format_failure,stated": 1.0,
    }
    assert outcomes(name, "1.1", "A", "At least it could be.") == {
        "exact_match,strict-match": 0.0,
        "exact_match,flexible-extract": 0.0,
        "format_failure,strict-match": 1.0,
        "format_failure,flexible-extract": 1.0,
    }


def test_an_option_that_is_not_there_is_read_as_published() -> None:
    read = outcomes("pmmeval_xnli_en", "1.0", "A", '{"answer": "D"}')
    assert read["exact_match,stated"] == read["format_failure,stated"] == 0.0
    assert outcomes("pmmeval_xnli_en", "1.1", "A", '{"answer": "D"}')[
        "format_failure,flexible-extract"
    ]


def test_numbers_of_the_task() -> None:
    name = "pmmeval_mgsm_fr"
    assert outcomes(name, "1.0", "2500", "La réponse est 2 500")["exact_match,p-mmeval"] == 0.0
    read = outcomes(name, "1.1", "2500", "La réponse est 2 500")
    assert read["exact_match,flexible-extract"] == 1.0


UNITS = [
    '{"answer": "A',
    "{'answer': 'A' ",
    '"answer":',
    "the answer is ",
    "1,234",
    "1,",
    "{ ",
    "}",
]


@pytest.mark.parametrize("unit", UNITS)
def test_long_answers_are_read(unit: str) -> None:
    text = unit * 20_000
    with watchdog():
        read_pmmeval_letter(text, "en")
        read_pmmeval_letter(text + "}", "en")
        read_pmmeval_number(text)


def plain_letter(text: str, phrases: list[str]) -> str | None:
    """The published order of reading, written as patterns over the whole text."""
    objects = [
        r"""\{\s*"answer"\s*:\s*"?([ABCD]).*?\}""",
        r"""\{\s*['"]answer['"]\s*:\s*['"]([ABCD]).*?['"]\s*\}""",
        r""""answer"\s*:\s*"?([ABCD])"?""",
        r"""['"]answer['"]\s*:\s*['"]([ABCD])['"]""",
    ]
    for pattern in objects:
        found = re.findall(pattern, text, re.DOTALL)
        if found:
            return found[-1]
    for phrase in phrases:
        if phrase in text and phrase != text:
            behind = text.split(phrase)[-1].strip()
            return behind[0].upper() if behind and behind[0] in "ABCDabcd" else None
    return None


@pytest.mark.parametrize(("language", "published", "stated", "flexible", "text"), LETTERS)
def test_beside_plain_patterns(
    language: str, published: str | None, stated: str | None, flexible: str | None, text: str
) -> None:
    phrases = ["the answer is", "The answer is"] if language == "en" else []
    if language == "fr":
        phrases = ["La réponse est", "la réponse est"]
    for part in (text, text * 2, text[:-1], text.replace('"', "'"), text.replace("}", "")):
        if phrases:
            stated = plain_letter(part, phrases)
            assert read_pmmeval_letter(part, language, guess=False) == stated
        guess = next((letter for letter in "ABCD" if letter in part), None)
        without = read_pmmeval_letter(part, language, guess=False)
        assert read_pmmeval_letter(part, language) == (without or guess)
