"""Load the phrases of the ten languages and compile them into patterns.

The phrases stand in `catalog/literals`, one file for each language; `mention`, `stance` and
`sections` use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from tenbin.errors import TaskError
from tenbin.metrics.extraction.alternation import (
    WITHIN_CLAUSE,
    WITHIN_SENTENCE,
    alternation,
    repeatable,
)

LANGUAGES = ("ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh")

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
"""What every language file must give; `en.yaml` says what each is for."""


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

    source = resources.files("tenbin") / "catalog" / "literals" / f"{language}.yaml"
    if not source.is_file():
        raise TaskError(f"no phrases for language {language!r}", f"known: {', '.join(LANGUAGES)}")
    return check_literals(language, yaml.safe_load(source.read_text(encoding="utf-8")))


def check_literals(language: str, content: object) -> dict[str, tuple[str, ...]]:
    """Check the content of a language file and give its phrases by key."""
    if not isinstance(content, dict) or content.get("language") != language:
        raise TaskError(f"literals/{language}.yaml does not say `language: {language}`")
    missing = [key for key in KEYS if key not in content]
    unknown = sorted(set(content) - set(KEYS) - {"language"})
    if missing or unknown:
        raise TaskError(
            f"literals/{language}.yaml: missing keys {missing}, unknown keys {unknown}",
            "every language file gives the same keys; an empty list is allowed",
        )
    for key in KEYS:
        entries = content[key]
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise TaskError(
                f"literals/{language}.yaml: {key} must be a list of strings",
                "quote words such as no, yes, on and off",
            )
    return {key: tuple(content[key]) for key in KEYS}


@lru_cache
def load_phrases() -> Phrases:
    """Compile the phrases of all languages together.

    Models answer in the prompt's language, in English or in a mixture, so every language's phrases
    are looked for in every answer.
    """
    literals = [load_literals(language) for language in LANGUAGES]
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


@lru_cache
def repeatable_fillers(between: str) -> str:
    """Fillers for a row of them, with what may stand between two as a character class."""
    literals = (load_literals(language) for language in LANGUAGES)
    return repeatable((phrase for one in literals for phrase in one["fillers"]), between)


@lru_cache
def native_letters(language: str) -> tuple[str, ...]:
    """The letters that stand for A, B, C, D in the language's own script, often none."""
    return load_literals(language)["letters"] if language in LANGUAGES else ()
