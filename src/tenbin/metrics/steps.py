"""The steps of filters, each a function under `step` or `selector` with the options it takes.

A step takes a text and returns a text, or None if nothing can be read. A selector chooses among the
answers sampled for one document, None among them. Names that lm-eval has too mean the same here. A
few of lm-eval's steps give lists or numbers, for functions of the task.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tenbin.errors import TaskError
from tenbin.metrics.extraction import MOST_CHOICES
from tenbin.metrics.options import (
    ANYTHING,
    COUNT,
    MAPPING,
    PATTERN,
    PATTERNS_OR_NULL,
    SWITCH,
    TEXT,
    TEXT_OR_NULL,
    WHOLE_NUMBER,
    Option,
)
from tenbin.metrics.patterns import UnjudgedError, find_all, substitute
from tenbin.records import Failure
from tenbin.records.quick import quick

Answers = Sequence[Any]
"""Texts, None where nothing could be read; lists or numbers after a few of lm-eval's steps."""

MISS = "[invalid]"
"""What lm-eval has in place of an answer that could not be read."""

ENDS = r"^\s+|\s+$"
"""White space at both ends."""
SAY_COUNT = (
    "say it in the task file: `num_choices: 5`, or `doc_to_choice`, which says it by document"
)
"""The remedy where nothing says how many options there are."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a filter."""

    name: str
    function: Callable[..., Any]
    options: Mapping[str, Option]
    letters: int | None = None
    """How many letters of options it can read; None if it reads no letters."""
    selects: bool = False
    """Whether it chooses among several answers instead of changing each."""
    reads_misses: bool = False
    """Whether it takes lm-eval's text for a miss where an earlier step could read nothing."""


FILTERS: dict[str, Step] = {}
"""All steps by name."""

_Changes = TypeVar("_Changes", bound=Callable[..., Any])
_Selects = TypeVar("_Selects", bound=Callable[..., Answers])


def step(
    name: str, *, letters: int | None = None, reads_misses: bool = False, **options: Option
) -> Callable[[_Changes], _Changes]:
    """Make a step of a function from a text and the question's setting to a text or None."""

    def declare(function: _Changes) -> _Changes:
        FILTERS[name] = Step(name, function, options, letters, reads_misses=reads_misses)
        return function

    return declare


def selector(name: str, **options: Option) -> Callable[[_Selects], _Selects]:
    """Make a step of a function from all answers of a document to those that are judged."""

    def declare(function: _Selects) -> _Selects:
        FILTERS[name] = Step(name, function, options, selects=True)
        return function

    return declare


@quick
@dataclass(frozen=True, slots=True)
class Setting:
    """What a step may need to know of the question."""

    language: str
    choices: int | None
    """How many options it offers, where that is known."""
    row: Mapping[str, Any] | None = None
    """The document's row, where a step looks at it."""

    @property
    def known_choices(self) -> int:
        """How many options it offers; an error where that is not known."""
        if self.choices is None:
            raise TaskError("nothing says how many options the question offers", SAY_COUNT)
        return self.choices


@step("choice_letter_strict", letters=26)
def _read_strict(text: str, setting: Setting) -> str | None:
    from tenbin.metrics.extraction.strict import read_strict

    return read_strict(text, setting.known_choices)


@step("choice_letter_flexible", letters=MOST_CHOICES)
def _read_flexible(text: str, setting: Setting) -> str | None:
    from tenbin.metrics.extraction.flexible import read_flexible

    return read_flexible(text, setting.language, setting.known_choices)


@step("label_flexible", labels=MAPPING)
def _read_label(
    text: str, setting: Setting, *, labels: Mapping[str, Sequence[str]] | None = None
) -> str | None:
    from tenbin.metrics.extraction.labels import read_label

    return read_label(text, labels or {})


@step("short_answer")
def _read_short_answer(text: str, setting: Setting) -> str | None:
    from tenbin.metrics.extraction.short_answer import read_short_answer

    return read_short_answer(text)


@step("pmmeval_letter", guess=SWITCH)
def _read_pmmeval_letter(text: str, setting: Setting, *, guess: bool = True) -> str | None:
    from tenbin.metrics.extraction.pmmeval import read_pmmeval_letter

    return read_pmmeval_letter(text, setting.language, guess)


@step("pmmeval_number")
def _read_pmmeval_number(text: str, setting: Setting) -> str | None:
    from tenbin.metrics.extraction.pmmeval import read_pmmeval_number

    return read_pmmeval_number(text)


@step("number_flexible")
def _read_number(text: str, setting: Setting) -> str | None:
    from tenbin.metrics.extraction.numbers import read_number

    return read_number(text, setting.language)


@step(
    "regex",
    reads_misses=True,
    regex_pattern=PATTERN,
    group_select=WHOLE_NUMBER,
    fallback=TEXT_OR_NULL,
)
def _match_regex(
    text: str,
    setting: Setting,
    *,
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)",
    group_select: int = 0,
    fallback: str | None = MISS,
) -> str | None:
    match = _selected(find_all(regex_pattern, text), group_select)
    # lm-eval marks a miss by a text; here a miss is None, so that it counts as unread.
    return match if match is not None else None if fallback == MISS else fallback


def _selected(found: Sequence[Any], at: int) -> str | None:
    """One of the matches, and of its groups the first that is not empty; None where none is."""
    if not -len(found) <= at < len(found):
        return None
    match = found[at]
    if isinstance(match, tuple):
        match = next((group for group in match if group), None)
    return None if match is None else str(match).strip()


@step(
    "multi_choice_regex",
    reads_misses=True,
    regex_pattern=PATTERN,
    group_select=WHOLE_NUMBER,
    fallback=TEXT_OR_NULL,
    ignore_case=SWITCH,
    ignore_punctuation=SWITCH,
    regexes_to_ignore=PATTERNS_OR_NULL,
)
def _match_choice(
    text: str,
    setting: Setting,
    *,
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)",
    group_select: int = 0,
    fallback: str | None = MISS,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    regexes_to_ignore: Sequence[str] | None = None,
) -> str | None:
    """What the pattern matches, else a choice's text as `(A)`, else the letter after a colon."""

    def reduced(part: str) -> str:
        for pattern in regexes_to_ignore or ():
            part = substitute(pattern, "", part)
        part = part.lower() if ignore_case else part
        if ignore_punctuation:
            part = "".join(c for c in part if not unicodedata.category(c).startswith("P"))
        return part

    match = _selected(find_all(regex_pattern, text), group_select)
    if not match:
        named = [reduced(str(choice).strip()) for choice in _row(setting)["choices"]]
        letters = [chr(ord("A") + at) for at in range(len(named))]
        # Of choices with the same text the last one counts, and of two that match the longer.
        by_text = {name: f"({letter})" for name, letter in zip(named, letters, strict=True)}
        texts = "|".join(sorted(map(re.escape, named), key=len, reverse=True))
        match = _selected(find_all(texts, reduced(text)), group_select)
        match = by_text.get(match, match) if match else None
    if not match:
        alone = "|".join(map(re.escape, letters))
        letter = _selected(find_all(rf":[\s]*({alone})", text), group_select)
        match = f"({letter})" if letter else None
    return match or (None if fallback == MISS else fallback)


def _row(setting: Setting) -> Mapping[str, Any]:
    if setting.row is None or "choices" not in setting.row:
        raise UnjudgedError(
            Failure("no_choices", "multi_choice_regex needs the field `choices`: the row has none")
        )
    return setting.row


_TAGGED = re.compile(r"\('([^']*)', '([^']*)'\)")


@step(
    "regex_pos",
    reads_misses=True,
    regex_pattern=PATTERN,
    group_select=WHOLE_NUMBER,
    fallback=ANYTHING,
)
def _part_of_speech_tags(
    text: str,
    setting: Setting,
    *,
    regex_pattern: str = "",
    group_select: int = 0,
    fallback: Any = None,
) -> Any:
    """The tags of a written list of ('word', 'TAG') pairs; lm-eval looks at no other option."""
    tags = [tag for _, tag in _TAGGED.findall(text)]
    return tags or (["invalid"] if fallback is None else fallback)


_ENTITY_LABELS = {
    **dict.fromkeys(("person", "people", "persons", "per"), "PER"),
    **dict.fromkeys(("location", "counties", "places", "country", "continent", "loc"), "LOC"),
    **dict.fromkeys(("organization", "company", "org"), "ORG"),
    **dict.fromkeys(("time", "date"), "DATE"),
}
_LABELLED = re.compile(rf"\b({'|'.join(_ENTITY_LABELS)})\s*:")
_ENTITIES = re.compile(r"\b(PER|LOC|ORG|DATE):\s*([^$]+)")


@step("format_span")
def _format_span(text: str, setting: Setting) -> str:
    """Named entities as `label: entity $ label: entity`, however the answer lists them."""
    labelled = _LABELLED.sub(lambda match: f"{_ENTITY_LABELS[match[1]]}:", text.lower())
    # Both separators of entities, and ends of lines, become one.
    joined = labelled.replace("$$", "$").rstrip("$").replace("\n", "$").strip()
    entities = [
        f"{label.lower()}: {entity.strip()}"
        for label, several in _ENTITIES.findall(joined)
        for entity in several.split(",")
        if entity.strip().lower() != "none"
    ]
    return " $ ".join(entities)


@step("map", reads_misses=True, mapping_dict=MAPPING, default_value=ANYTHING)
def _map(
    text: Any,
    setting: Setting,
    *,
    mapping_dict: Mapping[Any, Any] | None = None,
    default_value: Any = None,
) -> Any:
    return (mapping_dict or {}).get(text, default_value)


@step("lowercase")
def _lowercase(text: str, setting: Setting) -> str:
    return text.lower()


@step("uppercase")
def _uppercase(text: str, setting: Setting) -> str:
    return text.upper()


@step("remove_whitespace")
def _remove_whitespace(text: str, setting: Setting) -> str:
    # Both ends, as lm-eval's filter of this name does since 0.4.13.
    return text.strip()


@step("strip", characters=TEXT_OR_NULL)
def _strip(text: str, setting: Setting, *, characters: str | None = None) -> str:
    return text.strip(characters)


@step("regex_strip", regex_pattern=PATTERN, replacement=TEXT)
def _substitute(
    text: str, setting: Setting, *, regex_pattern: str = ENDS, replacement: str = ""
) -> str:
    if regex_pattern == ENDS and not replacement:
        # The same, and linear on long rows of white space.
        return text.strip()
    return substitute(regex_pattern, replacement, text)


@selector("take_first")
def _take_first(answers: Answers) -> Answers:
    return answers[:1]


@selector("take_first_k", k=COUNT)
def _take_first_k(answers: Answers, *, k: int) -> Answers:
    return answers[:k]


@selector("majority_vote")
def _majority_vote(answers: Answers) -> Answers:
    # As in lm-eval an unread answer has a vote, and of equally frequent answers the first wins.
    return [Counter(answers).most_common(1)[0][0]]


def shown(answer: Any) -> str | None:
    """An answer as text: lists and numbers as JSON."""
    if answer is None or isinstance(answer, str):
        return answer
    return json.dumps(answer, ensure_ascii=False, default=str)
