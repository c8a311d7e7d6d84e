"""Load the phrases that answers are read by, and compile them into patterns.

They stand in `catalog/literals`, one file for each language; `mention`, `stance` and `sections` use
them. Answers to prompts of ten languages are read by the phrases of all ten. Further languages have
files in `catalog/literals/further`: answers are read by their own phrases and the English ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from tenbin.errors import TaskError
from tenbin.metrics.extraction.alternation import (
    WITHIN_CLAUSE,
    WITHIN_SENTENCE,
    WORD,
    alternation,
    repeatable,
)
from tenbin.metrics.extraction.clean import fold

LANGUAGES = ("ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh")

Pool = tuple[str, ...]
"""The languages whose phrases an answer is read by."""

KEYS = (
    "announcements",
    "headings",
    "fillers",
    "connectors",
    "denials_before",
    "denials_after",
    "doubts",
    "conditions",
    "discussions",
    "confirmations",
    "approvals",
    "right_marks",
    "wrong_marks",
    "refusals",
    "retractions",
    "questions",
    "reviews",
    "names_before",
    "names_after",
    "followers",
    "letters",
)
"""What the files of the ten languages must give; `en.yaml` says what each is for."""

_ALSO = ("also_called", "beside", "prefixes", "suffixes")
"""What files of further languages may give besides: other codes of the language, which of the ten
its speakers also answer in, and what is written to a letter (ngu-B, B'dir)."""

_ARABIC = ("acm_Arab", "apc_Arab", "ars_Arab", "ary_Arab", "arz_Arab")
"""Dialects whose speakers answer examinations in the Arabic of the ten languages."""

_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Phrases:
    """One alternation per key, over all languages, ready to be put into a pattern."""

    announcements: str
    headings: str
    fillers: str
    connectors: str
    denials_before: str
    denials_after: str
    doubts: str
    conditions: str
    discussions: str
    confirmations: str
    approvals: str
    right_marks: str
    wrong_marks: str
    refusals: str
    retractions: str
    questions: str
    reviews: str
    names_before: str
    names_after: str
    followers: str


def load_literals(language: str) -> dict[str, tuple[str, ...]]:
    """Read one language's phrases.

    Raises:
        TaskError: The file is missing, lacks a key, has an unknown one, or a phrase is no string.
    """
    import yaml

    further = language not in LANGUAGES
    source = _folder(further) / f"{language}.yaml"
    if not source.is_file():
        raise TaskError(f"no phrases for language {language!r}", f"known: {', '.join(LANGUAGES)}")
    return check_literals(language, yaml.safe_load(source.read_text(encoding="utf-8")), further)


def _folder(further: bool) -> Traversable:
    literals = resources.files("tenbin") / "catalog" / "literals"
    return literals / "further" if further else literals


def check_literals(
    language: str, content: object, further: bool = False
) -> dict[str, tuple[str, ...]]:
    """Check the content of a language file and give its phrases by key.

    Args:
        language: As its file is called.
        content: What the file holds.
        further: Whether it is none of the ten: it may then leave keys out, and give a few more.
    """
    if not isinstance(content, dict) or content.get("language") != language:
        raise TaskError(f"literals/{language}.yaml does not say `language: {language}`")
    keys = (*KEYS, *_ALSO) if further else KEYS
    missing = [key for key in keys if key not in content and not further]
    unknown = sorted(set(content) - set(keys) - {"language"})
    if missing or unknown:
        raise TaskError(
            f"literals/{language}.yaml: missing keys {missing}, unknown keys {unknown}",
            "every file of the ten languages gives the same keys; an empty list is allowed",
        )
    for key in keys:
        entries = content.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise TaskError(
                f"literals/{language}.yaml: {key} must be a list of strings",
                "quote words such as no, yes, on and off",
            )
    return {key: tuple(content.get(key, ())) for key in keys}


@cache
def further_languages() -> Mapping[str, str]:
    """Codes of languages besides the ten, each with the name of its file."""
    import yaml

    codes = dict.fromkeys(_ARABIC, "ar")
    for source in sorted(_folder(True).iterdir(), key=lambda one: one.name):
        name = source.name.removesuffix(".yaml")
        # Only the head of each file: the phrases of one language are enough to read its answers.
        head = source.read_text(encoding="utf-8").partition("\nannouncements:")[0]
        codes.update(dict.fromkeys((name, *yaml.safe_load(head).get("also_called", ())), name))
    return codes


def pool_of(language: str, text: str) -> Pool:
    """The languages whose phrases the answer to a prompt is read by.

    Models answer in the prompt's language, in English or in a mixture; Chinese ones now and then in
    Chinese. Prompts of the ten languages, and those of languages that have no phrases, are read by
    all ten. Where a prompt's language is another, more than the phrases that are needed would be
    too many: a word of one language denies or joins in another.

    Args:
        language: The prompt's.
        text: A simplified answer.
    """
    if language in LANGUAGES:
        return LANGUAGES
    own = further_languages().get(language)
    if own is None or own in LANGUAGES:
        return LANGUAGES
    chinese = ("zh",) if _HAN.search(text) else ()
    return tuple(dict.fromkeys((own, "en", *_literals(own)["beside"], *chinese)))


@cache
def _literals(language: str) -> Mapping[str, tuple[str, ...]]:
    return load_literals(language)


@cache
def load_phrases(pool: Pool = LANGUAGES) -> Phrases:
    """Compile the phrases of some languages together.

    Models answer in the prompt's language, in English or in a mixture, so the phrases of several
    languages are looked for in every answer.
    """
    literals = [_literals(language) for language in pool]
    return Phrases(
        **{
            key: alternation(
                (phrase for language in literals for phrase in language[key]),
                # "The answer, I think, is B" crosses commas; "B is right, the others are wrong"
                # must not be read as "B is … wrong".
                WITHIN_SENTENCE if key == "announcements" else WITHIN_CLAUSE,
            )
            for key in KEYS
            if key != "letters"
        }
    )


@cache
def repeatable_fillers(between: str, pool: Pool = LANGUAGES) -> str:
    """Fillers for a row of them, with what may stand between two as a character class."""
    literals = (_literals(language) for language in pool)
    return repeatable((phrase for one in literals for phrase in one["fillers"]), between)


@cache
def native_letters(language: str) -> tuple[str, ...]:
    """The letters that stand for A, B, C, D in the language's own script, often none."""
    name = language if language in LANGUAGES else further_languages().get(language)
    return _literals(name)["letters"] if name else ()


@cache
def _affixed(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """What is written to a letter in a language, and what is left of it."""
    literals = _literals(language)
    found: list[tuple[re.Pattern[str], str]] = []
    if literals.get("prefixes"):
        before = rf"(?<![{WORD}])({_any(literals['prefixes'])})-([A-H])(?![{WORD}0-9])"
        found.append((re.compile(before, re.IGNORECASE), r"\1 \2"))
    if literals.get("suffixes"):
        after = rf"(?<![{WORD}0-9])([A-H])['\-:](?:{_any(literals['suffixes'])})(?![{WORD}])"
        found.append((re.compile(after), r"\1"))
    return tuple(found)


def _any(affixes: tuple[str, ...]) -> str:
    return "|".join(sorted(map(re.escape, map(fold, affixes)), key=len, reverse=True))


def without_affixes(plain: str, pool: Pool) -> str:
    """A simplified answer, its letters without what the language writes to them.

    `B'dir` becomes `B`, and `ngu-B` becomes `ngu B`.
    """
    for pattern, kept in () if pool == LANGUAGES else _affixed(pool[0]):
        plain = pattern.sub(kept, plain)
    return plain
