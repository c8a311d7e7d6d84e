"""What an instruction is: an id, the arguments of its rows, and one pure check of a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tenbin.metrics.extraction.clean import normalise_unicode

Edition: TypeAlias = Literal["corrected", "published", "original"]
"""Whose rules decide: those without the known faults; those of shisa-ai/M-IFEval at 06f08ff3b268;
or those of lightblue-tech/M-IFEval, which differ from the latter in Japanese alone."""

LANGUAGES = ("ja", "en", "es", "fr")

AT_LEAST, BELOW, AT_MOST = "at least", "below", "at most"
RELATIONS: Mapping[str, Mapping[str, str]] = {
    "ja": {"以上": AT_LEAST, "未満": BELOW},
    "en": {"at least": AT_LEAST, "less than": BELOW},
    "es": {"al menos": AT_LEAST, "como máximo": AT_MOST},
    "fr": {"au moins": AT_LEAST, "moins de": BELOW},
}
"""How rows of each language word a comparison."""


@dataclass(frozen=True, slots=True)
class Rules:
    """By which rules a text is checked."""

    language: str
    """Of the prompt: one of `LANGUAGES`."""
    edition: Edition = "corrected"
    published_tools: bool = False
    """Whether sentences and words are those of NLTK and spaCy, as published; else of tenbin's own
    splitters, which need no data."""

    @property
    def corrected(self) -> bool:
        """Whether the known faults are left out."""
        return self.edition == "corrected"


Kwargs: TypeAlias = Mapping[str, Any]
"""The arguments of an instruction, as its row has them."""
Check: TypeAlias = Callable[[str, Kwargs, Rules], bool]


@dataclass(frozen=True, slots=True)
class Argument:
    """What one argument of an instruction may be."""

    accepts: str
    """In words, for messages."""
    fits: Callable[[Any, str], bool]
    """Whether a value can be used, in a language."""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of one or more languages."""

    name: str
    """Its id without the language: `letters:kanji`."""
    languages: tuple[str, ...]
    check: Check
    arguments: Mapping[str, Argument]
    needs: str
    """The tool that decides: `language`, `sentences`, `words`, `nouns`, or nothing."""


def _is_text(value: Any, _: str) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: Any, language: str) -> bool:
    return isinstance(value, list | tuple) and all(_is_text(one, language) for one in value)


def _is_count(value: Any, _: str) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_relation(value: Any, language: str) -> bool:
    return isinstance(value, str) and value in RELATIONS[language]


TEXT = Argument("text that is not blank", _is_text)
TEXTS = Argument(
    "a list of texts that are not blank", lambda value, at: bool(value) and _are_texts(value, at)
)
LETTER = Argument(
    "one character", lambda value, at: _is_text(value, at) and len(_composed(value)) == 1
)
COUNT = Argument("a whole number from 0", _is_count)
PLACE = Argument("a whole number from 1", lambda value, at: _is_count(value, at) and value > 0)
RELATION = Argument("a relation of the row's language", _is_relation)
IGNORED = Argument("a relation, which has no effect", _is_relation, required=False)
WORDS = Argument(
    "a mapping of words to words",
    lambda value, at: (
        isinstance(value, Mapping) and bool(value) and _are_texts([*value, *value.values()], at)
    ),
)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def instruction(
    name: str, languages: str, *, needs: str = "", **arguments: Argument
) -> Callable[[Check], Check]:
    """Declare the check of an instruction.

    Args:
        name: The id without the language.
        languages: Those that have it, divided by blanks.
        needs: The tool that decides, if one does.
        **arguments: What rows carry, by name.
    """

    def declare(check: Check) -> Check:
        found = Instruction(name, tuple(languages.split()), check, arguments, needs)
        check.__dict__.setdefault("__tenbin_instructions__", []).append(found)
        return check

    return declare


def declared_in(functions: Sequence[object]) -> list[Instruction]:
    """The instructions that `instruction` has declared among some objects."""
    return [
        one for function in functions for one in getattr(function, "__tenbin_instructions__", ())
    ]


def limit(kwargs: Kwargs, name: str) -> int:
    """The number that a row asks for."""
    return int(kwargs[name])


def compare(count: int, relation: str, limit: int, language: str) -> bool:
    """Whether a count is what a row asks for."""
    meaning = RELATIONS[language][relation]
    if meaning == AT_LEAST:
        return count >= limit
    return count < limit if meaning == BELOW else count <= limit


def without_quotes(text: str) -> str:
    """A text without the shortest quotations that begin and end within a line.

    Written as a walk, because a pattern is slow on many opening marks without a closing one.
    """
    for opening, closing in (("「", "」"), ("『", "』")):
        if opening not in text:
            continue
        text = "\n".join(_unquoted(line, opening, closing) for line in text.split("\n"))
    return text


def _unquoted(line: str, opening: str, closing: str) -> str:
    kept: list[str] = []
    at = 0
    while True:
        start = line.find(opening, at)
        end = line.find(closing, start + 1) if start >= 0 else -1
        if end < 0:
            return "".join((*kept, line[at:]))
        kept.append(line[at:start])
        at = end + 1


def without_accents(text: str) -> str:
    """A text without combining marks, after compatibility decomposition."""
    apart = normalise_unicode("NFKD", text)
    return "".join(one for one in apart if not unicodedata.combining(one))


WORD_RUN = re.compile(r"\w+")
