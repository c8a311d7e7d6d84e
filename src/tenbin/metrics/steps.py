"""The steps of filters, each a function under `step` or `selector` with the options it takes.

A step takes a text and returns a text, or None if nothing can be read. A selector chooses among the
answers sampled for one document, None among them. Names that lm-eval has too mean the same here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tenbin.errors import TaskError
from tenbin.metrics.extraction import MOST_CHOICES, read_flexible, read_strict
from tenbin.metrics.options import COUNT, PATTERN, TEXT, TEXT_OR_NULL, WHOLE_NUMBER, Option
from tenbin.metrics.patterns import find_all, substitute

Answers = Sequence[str | None]

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


FILTERS: dict[str, Step] = {}
"""All steps by name."""

_Changes = TypeVar("_Changes", bound=Callable[..., str | None])
_Selects = TypeVar("_Selects", bound=Callable[..., Answers])


def step(
    name: str, *, letters: int | None = None, **options: Option
) -> Callable[[_Changes], _Changes]:
    """Make a step of a function from a text and the question's setting to a text or None."""

    def declare(function: _Changes) -> _Changes:
        FILTERS[name] = Step(name, function, options, letters)
        return function

    return declare


def selector(name: str, **options: Option) -> Callable[[_Selects], _Selects]:
    """Make a step of a function from all answers of a document to those that are judged."""

    def declare(function: _Selects) -> _Selects:
        FILTERS[name] = Step(name, function, options, selects=True)
        return function

    return declare


@dataclass(frozen=True, slots=True)
class Setting:
    """What a step may need to know of the question."""

    language: str
    choices: int | None
    """How many options it offers, where that is known."""

    @property
    def known_choices(self) -> int:
        """How many options it offers; an error where that is not known."""
        if self.choices is None:
            raise TaskError("nothing says how many options the question offers", SAY_COUNT)
        return self.choices


@step("choice_letter_strict", letters=26)
def _read_strict(text: str, setting: Setting) -> str | None:
    return read_strict(text, setting.known_choices)


@step("choice_letter_flexible", letters=MOST_CHOICES)
def _read_flexible(text: str, setting: Setting) -> str | None:
    return read_flexible(text, setting.language, setting.known_choices)


@step("regex", regex_pattern=PATTERN, group_select=WHOLE_NUMBER, fallback=TEXT_OR_NULL)
def _match_regex(
    text: str,
    setting: Setting,
    *,
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)",
    group_select: int = 0,
    fallback: str | None = "[invalid]",
) -> str | None:
    # lm-eval marks a miss by a text; here a miss is None, so that it counts as unread.
    found = find_all(regex_pattern, text)
    if not -len(found) <= group_select < len(found):
        return None if fallback == "[invalid]" else fallback
    match = found[group_select]
    if isinstance(match, tuple):
        match = next((group for group in match if group), "")
    return str(match).strip()


@step("lowercase")
def _lowercase(text: str, setting: Setting) -> str:
    return text.lower()


@step("uppercase")
def _uppercase(text: str, setting: Setting) -> str:
    return text.upper()


@step("remove_whitespace")
def _remove_whitespace(text: str, setting: Setting) -> str:
    # lm-eval's filter of this name strips the left end only.
    return text.lstrip()


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
