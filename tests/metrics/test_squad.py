"""Exact match and F1 of reading comprehension: by hand, and beside plain re-computations."""

from __future__ import annotations

import gzip
import json
import random
import re
import string
import unicodedata
from pathlib import Path

import pytest

from tenbin.metrics.judge import judge
from tenbin.metrics.squad import squad_exact_match, squad_f1, squad_tokens, tokens_of_language
from tenbin.records import Cell, Prompt, Text
from tenbin.tasks.registry import load_registry

from .watchdog import watchdog

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")


# (answer, reference, exact match, F1), each worked out by hand.
BY_SQUAD = [
    ("Paris", "Paris", 1, 1),
    ("paris.", "Paris", 1, 1),
    ("The Paris", "Paris", 1, 1),
    # 1 of 2 words, 1 of 1: 2 · ½ · 1 / 1½.
    ("in Paris", "Paris", 0, 2 / 3),
    ("north west", "west north", 0, 1),
    ("a the an", "the", 1, 1),
    ("", "Paris", 0, 0),
    ("", "the", 1, 1),
    ("an apple", "the apple", 1, 1),
    ("theatre", "atre", 0, 0),
    ("U.S.A", "usa", 1, 1),
    ("3,000", "3000", 1, 1),
    # White space between words is one blank; there is none in a Chinese answer.
    ("308  分", "308 分", 1, 1),
    ("在巴黎", "巴黎", 0, 0),
    # A full stop that is not ASCII stays.
    ("巴黎。", "巴黎", 0, 0),
    # An English article is deleted from any language, one of another language never.
    ("a Coruña", "Coruña", 1, 1),
    ("der Rhein", "Rhein", 0, 2 / 3),
]
BY_LANGUAGE = {
    "ar": [
        ("القاهرة", "قاهرة", 1, 1),
        ("«القاهرة»", "القاهرة؟", 1, 1),
        # Letters of the article inside a word stay, unlike in MLQA.
        ("خالد", "خد", 0, 0),
        ("مدينة القاهرة", "القاهرة", 0, 2 / 3),
        ("في، القاهرة", "في القاهرة", 1, 1),
    ],
    "de": [
        ("der Rhein", "Rhein", 1, 1),
        ("„Die Räuber“", "Räuber", 1, 1),
        ("am Rhein", "den Rhein", 0, 2 / 3),
        ("a", "", 0, 0),
        ("Straße", "STRASSE", 0, 0),
    ],
    "el": [
        ("η Αθήνα", "Αθήνα", 1, 1),
        ("«ο Όμηρος»", "Όμηρος", 1, 1),
        ("ΟΔΟΣ", "οδός", 0, 0),
        ("ΟΔΟΣ", "οδος", 1, 1),
        ("στην Αθήνα", "την Αθήνα", 0, 2 / 3),
    ],
    "en": [
        ("the “Panthers”", "Panthers", 1, 1),
        ("six–seven", "sixseven", 1, 1),
        ("in the north", "the north", 0, 2 / 3),
        ("$5", "5", 1, 1),
    ],
    "es": [
        ("¿El Cairo?", "cairo", 1, 1),
        ("la ciudad de Lima", "Lima", 0, 0.5),
        ("unas 300", "300", 1, 1),
        ("a Lima", "Lima", 0, 2 / 3),
    ],
    "hi": [
        ("दिल्ली।", "दिल्ली", 1, 1),
        ("नई दिल्ली", "दिल्ली", 0, 2 / 3),
        ("a दिल्ली", "दिल्ली", 0, 2 / 3),
    ],
    "ro": [
        ("un „castel”", "castel", 1, 1),
        # The definite article is the word's ending, and stays.
        ("castelul", "castel", 0, 0),
        ("o casă mare", "casă", 0, 2 / 3),
    ],
    "ru": [
        ("«Война и мир»", "Война и мир", 1, 1),
        ("в Москве", "Москве", 0, 2 / 3),
        ("МОСКВА — столица", "москва столица", 1, 1),
    ],
    "th": [
        # 4 of 7 characters, 4 of 4: 2 · 4/7 / (4/7 + 1) = 8/11.
        ("ที่ปารีส"[:3] + "ปารี", "ปารี", 0, 8 / 11),
        ("ปารีส", "ปารีส", 1, 1),
        ("ปา รีส", "ปารีส", 1, 1),
        # A number is one token: 2 characters and it, of which the number is shared.
        ("ปี 2015", "2015", 0, 0.5),
        ("2015", "2016", 0, 0),
        ("กรุงเทพฯ", "กรุงเทพ", 0, 14 / 15),
    ],
    "tr": [
        ("İstanbul", "istanbul", 1, 1),
        ("IRAK", "ırak", 1, 1),
        ("İstanbul'da", "istanbulda", 1, 1),
        ("bir şehir", "şehir", 0, 2 / 3),
    ],
    "vi": [
        ("những con mèo", "con mèo", 1, 1),
        ("thủ đô của Pháp", "thủ đô Pháp", 1, 1),
        # The same letters, decomposed.
        (unicodedata.normalize("NFD", "Hà Nội"), "hà nội", 1, 1),
        ("ở Hà Nội", "Hà Nội", 0, 0.8),
    ],
    "zh": [
        ("巴黎。", "巴黎", 1, 1),
        # 2 of 3 characters, 2 of 2: 2 · ⅔ / (⅔ + 1) = 0.8.
        ("在巴黎", "巴黎", 0, 0.8),
        ("《红楼梦》", "红楼梦", 1, 1),
        ("308 分", "308分", 1, 1),
        ("NFL 联盟", "nfl", 0, 0.5),
        ("the 308", "308", 0, 2 / 3),
    ],
}


@pytest.mark.parametrize(("answer", "reference", "match", "f1"), BY_SQUAD)
def test_the_rule_of_squad(answer: str, reference: str, match: float, f1: float) -> None:
    assert squad_exact_match(answer, [reference]) == match
    assert squad_f1(answer, [reference]) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("language", "answer", "reference", "match", "f1"),
    [(language, *case) for language, cases in BY_LANGUAGE.items() for case in cases],
)
def test_the_rule_of_a_language(
    language: str, answer: str, reference: str, match: float, f1: float
) -> None:
    assert squad_exact_match(answer, [reference], by_language=True, language=language) == match
    given = squad_f1(answer, [reference], by_language=True, language=language)
    assert given == pytest.approx(f1)


def test_every_language_of_xquad_has_cases() -> None:
    assert tuple(BY_LANGUAGE) == LANGUAGES


def test_the_best_reference_counts() -> None:
    assert squad_exact_match("b", ["x", "b"]) == 1
    assert squad_f1("b c", ["x", "b"]) == pytest.approx(2 / 3)
    assert squad_f1("b", []) == squad_exact_match("b", []) == 0


def plain_squad(text: str) -> list[str]:
    """SQuAD's normalisation, written from its description."""
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def plain_mlqa(text: str, language: str) -> list[str]:
    """MLQA's normalisation of the languages in which the rule here is the same."""
    articles = {
        "en": "a an the",
        "es": "un una unos unas el la los las",
        "de": "ein eine einen einem eines einer der die das den dem des",
        "vi": "của là cái chiếc những",
    }
    kept = "".join(
        character
        for character in text.lower()
        if character not in string.punctuation
        and unicodedata.category(character) not in ("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po")
    )
    if language in articles:
        kept = re.sub(rf"\b({'|'.join(articles[language].split())})\b", " ", kept)
    if language == "zh":
        kept = "".join(f" {c} " if "\u4e00" <= c <= "\u9fa5" else c for c in kept)
    return kept.split()


def plain_f1(given: list[str], wanted: list[str]) -> float:
    if not given or not wanted:
        return float(given == wanted)
    left = list(wanted)
    shared = 0
    for token in given:
        if token in left:
            left.remove(token)
            shared += 1
    # The harmonic mean of shared / given and shared / wanted.
    return 2 * shared / (len(given) + len(wanted))


def answers(language: str, folder: Path) -> list[tuple[str, str]]:
    """Pairs of a right answer and what a model might have written in its place."""
    path = folder / "xquad" / language / "validation.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream][::35]
    draw = random.Random(language)
    pairs = []
    for row in rows:
        right, context = row["answers"]["text"][0], row["context"]
        start = row["answers"]["answer_start"][0]
        pairs.append((context[max(0, start - 9) : start + len(right) + draw.randrange(9)], right))
        pairs.append((right.upper() + ".", right))
        pairs.append((context[: draw.randrange(60)], right))
    return pairs


@pytest.mark.real_data
@pytest.mark.parametrize("language", LANGUAGES)
def test_beside_plain_computations_on_real_answers(language: str, real_data: Path) -> None:
    pairs = answers(language, real_data)
    assert len(pairs) == 102
    for given, right in pairs:
        assert squad_tokens(given) == plain_squad(given)
        expected = plain_f1(plain_squad(given), plain_squad(right))
        assert squad_f1(given, [right]) == pytest.approx(expected)
        if language not in ("en", "es", "de", "vi", "hi", "zh"):
            continue
        given, right = (unicodedata.normalize("NFC", text) for text in (given, right))
        assert tokens_of_language(given, language) == plain_mlqa(given, language)
        expected = plain_f1(plain_mlqa(given, language), plain_mlqa(right, language))
        options = {"by_language": True, "language": language}
        assert squad_f1(given, [right], **options) == pytest.approx(expected)


@pytest.mark.parametrize(("version", "expected"), [("1.0", 0.0), ("1.1", 0.8)])
def test_the_task_gives_the_metric_its_language(version: str, expected: float) -> None:
    task = load_registry().task("xquad_zh", version)
    cell = Cell(task.name, version, "lm-eval", 0, 1234)
    prompt = Prompt(
        cell, "1", task.language, None, "generate", "?", None, None, None, ("巴黎",), "巴黎", (), 9
    )
    found = {one.metric: one.value for one in judge(task, prompt, Text("在巴黎。", "stop", 4))}
    assert found == {"exact_match": 0.0, "f1": pytest.approx(expected)}


@pytest.mark.parametrize("unit", ["a ", "the", "ال", "\u0323\u0301", "。", "ปา", "在 ", "i\u0307"])
@pytest.mark.parametrize("language", ["ar", "th", "tr", "vi", "zh"])
def test_long_answers_are_judged(unit: str, language: str) -> None:
    with watchdog():
        squad_f1(unit * 50_000, ["巴黎 x"], by_language=True, language=language)
        squad_exact_match(unit * 50_000, ["巴黎 x"])
