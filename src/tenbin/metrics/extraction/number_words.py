"""Load the words around numbers, one file for each language in `catalog/number_words`.

Distinctive phrases (answer nouns, headings, retractions) are looked for in every answer, whatever
its language. Short words ("no", "a", "o") are only looked for in answers to prompts of their own
language, besides the English ones: models answer in the prompt's language or in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from tenbin.errors import TaskError
from tenbin.metrics.extraction.alternation import SENTENCE_END, alternation
from tenbin.metrics.extraction.clean import fold

NUMBER_LANGUAGES = (
    *("ar", "bn", "de", "en", "es", "fr", "hi", "it", "ja"),
    *("ko", "pt", "ru", "sw", "te", "th", "vi", "zh"),
)

LISTS = (
    *("answers", "results", "copulas", "confirmations", "workings", "steps_before"),
    *("distributives", "steps_after", "questions", "retractions", "refusals", "conditions"),
    *("denials_before", "denials_after", "alternatives", "conclusions", "remarks", "closings"),
    *("reasons", "asides", "exchanges", "money", "months", "minus", "fillers"),
)
TABLES = ("scales", "scales_before", "numerals")
"""Words with their values."""

_EVERYWHERE = frozenset(
    {"answers", "confirmations", "workings", "questions", "retractions", "refusals", "copulas"}
)
_OWN_WORDS = {"fr": ("ans",)}
"""English abbreviations of answer nouns that are other words of the language: "23 ans"."""
_CYRILLIC = "Ѐ-ӿ"
_INDIC = "\u0900-\u0963\u0971-\u0d7f"
"""Without the full stop । and the digits."""
_WITHIN = rf"[^{SENTENCE_END},;、،؛\d]{{0,40}}?"
_NOTHING = "(?!)"


@dataclass(frozen=True, slots=True)
class NumberWords:
    """Expressions for the answers to prompts of one language, and the values of number words."""

    expressions: Mapping[str, str]
    """Key of the language files → an expression that matches any of its phrases."""
    asides: tuple[str, ...]
    scales: Mapping[str, int]
    scales_before: Mapping[str, int]
    numerals: Mapping[str, int]

    def __getitem__(self, key: str) -> str:
        return self.expressions[key]


def load_number_words(language: str) -> dict[str, Any]:
    """Read one language's words.

    Raises:
        TaskError: The file is missing, lacks a key, has an unknown one, or one of a wrong type.
    """
    import yaml

    source = resources.files("tenbin") / "catalog" / "number_words" / f"{language}.yaml"
    if not source.is_file():
        known = ", ".join(NUMBER_LANGUAGES)
        raise TaskError(f"no number words for language {language!r}", f"known: {known}")
    return check_number_words(language, yaml.safe_load(source.read_text(encoding="utf-8")))


def check_number_words(language: str, content: object) -> dict[str, Any]:
    """Check the content of a language file and give it."""
    where = f"number_words/{language}.yaml"
    if not isinstance(content, dict) or content.get("language") != language:
        raise TaskError(f"{where} does not say `language: {language}`")
    known = {*LISTS, *TABLES, "language"}
    if set(content) != known:
        missing, unknown = sorted(known - set(content)), sorted(set(content) - known)
        raise TaskError(
            f"{where}: missing keys {missing}, unknown keys {unknown}",
            "every language file gives the same keys; an empty list or table is allowed",
        )
    for key in LISTS:
        if not isinstance(content[key], list) or not all(isinstance(x, str) for x in content[key]):
            raise TaskError(f"{where}: {key} must be a list of strings", "quote no, yes, on and 1")
    if not all(word[:1].isalpha() for word in content["fillers"]):
        # Marks may stand between fillers anyway: a row of them could be read in 2ⁿ ways.
        raise TaskError(f"{where}: fillers must begin with a letter")
    for key in TABLES:
        table = content[key]
        words = isinstance(table, dict) and all(isinstance(word, str) for word in table)
        if not words or not all(isinstance(value, int) for value in table.values()):
            raise TaskError(f"{where}: {key} must give words with their values as whole numbers")
    return content


@lru_cache
def number_words(language: str) -> NumberWords:
    """The words for answers to prompts of a language; English alone for an unknown one."""
    every = [_read(one) for one in NUMBER_LANGUAGES]
    near = [_read("en")] + ([_read(language)] if language in NUMBER_LANGUAGES else [])
    expressions = {
        key: words_expression(
            phrase
            for one in (every if key in _EVERYWHERE else near)
            for phrase in one[key]
            if phrase not in _OWN_WORDS.get(language, ())
        )
        for key in LISTS
        if key != "asides"
    }
    tables = {key: {fold(w): v for one in near for w, v in one[key].items()} for key in TABLES}
    asides = tuple(phrase for one in near for phrase in one["asides"])
    return NumberWords(expressions, asides, **tables)


_read = lru_cache(load_number_words)


def words_expression(phrases: Iterable[str]) -> str:
    """An expression that matches any of the phrases as whole words, and nothing for none."""
    by_script: dict[str, list[str]] = {}
    for phrase in phrases:
        by_script.setdefault(_script(phrase), []).append(phrase)
    ways = [
        rf"(?<![{script}]){alternation(some, _WITHIN)}(?![{script}])"
        if script
        else alternation(some, _WITHIN)
        for script, some in by_script.items()
    ]
    return f"(?:{'|'.join(ways)})" if ways else _NOTHING


def _script(phrase: str) -> str:
    """The letters that must not stand beside a phrase, where `alternation` does not see to it."""
    beside = (letters for letters in (_CYRILLIC, _INDIC) if re.match(f"[{letters}]", phrase))
    return next(beside, "")
