"""The steps a task may chain to read an answer out of generated text.

Knows lm-eval's names for the steps it shares with it; does not know tasks, metrics or gold answers.
A step of `_STEPS` takes a text and gives a text, or None once nothing can be read; later ones then
rest. One of `_SELECTORS` chooses among the answers drawn to one document, None among them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.errors import TaskError, guess_at
from tenbin.metrics.extraction import MOST_CHOICES, read_flexible, read_strict
from tenbin.metrics.extraction.explain import ReadingStep, explain_flexible
from tenbin.metrics.matching import UnjudgedError, find_all, substitute
from tenbin.metrics.options import (
    COUNT,
    PATTERN,
    TEXT,
    TEXT_OR_NULL,
    WHOLE_NUMBER,
    Option,
    check_options,
)
from tenbin.patterns import compile_pattern

Steps = tuple[tuple[str, Mapping[str, Any]], ...]

_MOST_CHOICES = {"choice_letter_strict": 26, "choice_letter_flexible": MOST_CHOICES}
"""The steps that read letters of options, and how many letters each knows."""
_ENDS = r"^\s+|\s+$"
"""White space at both ends."""
_SAY_COUNT = (
    "say it in the task file: `num_choices: 5`, or `doc_to_choice`, which says it by document"
)


@dataclass(frozen=True, slots=True)
class _Setting:
    language: str
    choices: int | None

    @property
    def known_choices(self) -> int:
        if self.choices is None:
            raise TaskError("nothing says how many options the question offers", _SAY_COUNT)
        return self.choices


def _read_strict(text: str, setting: _Setting) -> str | None:
    return read_strict(text, setting.known_choices)


def _read_flexible(text: str, setting: _Setting) -> str | None:
    return read_flexible(text, setting.language, setting.known_choices)


def _match_regex(
    text: str,
    setting: _Setting,
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


def _lowercase(text: str, setting: _Setting) -> str:
    return text.lower()


def _uppercase(text: str, setting: _Setting) -> str:
    return text.upper()


def _remove_whitespace(text: str, setting: _Setting) -> str:
    # lm-eval's filter of this name strips the left end only.
    return text.lstrip()


def _strip(text: str, setting: _Setting, *, characters: str | None = None) -> str:
    return text.strip(characters)


def _substitute(
    text: str, setting: _Setting, *, regex_pattern: str = _ENDS, replacement: str = ""
) -> str:
    if regex_pattern == _ENDS and not replacement:
        # The same, and linear on long rows of white space.
        return text.strip()
    return substitute(regex_pattern, replacement, text)


_STEPS: dict[str, tuple[Callable[..., str | None], Mapping[str, Option]]] = {
    "choice_letter_strict": (_read_strict, {}),
    "choice_letter_flexible": (_read_flexible, {}),
    "regex": (
        _match_regex,
        {"regex_pattern": PATTERN, "group_select": WHOLE_NUMBER, "fallback": TEXT_OR_NULL},
    ),
    "lowercase": (_lowercase, {}),
    "uppercase": (_uppercase, {}),
    "remove_whitespace": (_remove_whitespace, {}),
    "strip": (_strip, {"characters": TEXT_OR_NULL}),
    "regex_strip": (_substitute, {"regex_pattern": PATTERN, "replacement": TEXT}),
}

Answers = Sequence[str | None]


def _take_first(answers: Answers) -> Answers:
    return answers[:1]


def _take_first_k(answers: Answers, *, k: int) -> Answers:
    return answers[:k]


def _majority_vote(answers: Answers) -> Answers:
    # As in lm-eval an unread answer has a vote, and of equally frequent answers the first wins.
    return [Counter(answers).most_common(1)[0][0]]


_SELECTORS: dict[str, tuple[Callable[..., Answers], Mapping[str, Option]]] = {
    "take_first": (_take_first, {}),
    "take_first_k": (_take_first_k, {"k": COUNT}),
    "majority_vote": (_majority_vote, {}),
}

FILTERS = (*_STEPS, *_SELECTORS)
"""The names of all steps."""


def check(steps: Steps, repeats: int = 1) -> None:
    """Refuse steps that could not be run.

    Args:
        steps: (function, options) pairs, as in `FilterUse.steps`.
        repeats: Answers drawn to each document.

    Raises:
        TaskError: A step or one of its options is unknown, a pattern does not compile, or more
            answers are taken than there are.
    """
    for name, options in steps:
        if name not in FILTERS:
            known = f"{guess_at(name, FILTERS)}known: {', '.join(FILTERS)}"
            raise TaskError(f"unknown filter {name!r}", known)
        taken = _STEPS[name][1] if name in _STEPS else _SELECTORS[name][1]
        what = f"filter {name!r}"
        check_options(what, options, taken)
        if "replacement" in options:
            pattern = compile_pattern(options.get("regex_pattern", _ENDS), what)
            pattern.check_replacement(options["replacement"])
        if name == "take_first_k" and options["k"] > repeats:
            raise TaskError(
                f"{what} takes {options['k']} answers, but {repeats} are drawn",
                f"set repeats to {options['k']} or more, in the task file or with --repeats",
            )


def check_choices(steps: Steps, choices: int | None) -> None:
    """Refuse to read letters of options where it is not known how many there are, or of too many.

    Args:
        steps: (function, options) pairs, as in `FilterUse.steps`.
        choices: How many options a question offers; None where nothing says it.

    Raises:
        TaskError: A step needs the number and cannot use this one.
    """
    for name, _ in steps:
        if name not in _MOST_CHOICES:
            continue
        if choices is None:
            raise TaskError(
                f"filter {name!r} reads the letter of an option, and nothing says how many options"
                " a question offers",
                _SAY_COUNT,
            )
        if not 2 <= choices <= _MOST_CHOICES[name]:
            raise TaskError(
                f"filter {name!r} knows 2 to {_MOST_CHOICES[name]} options, not {choices}",
                "read the letter with a `regex` filter",
            )


def apply(steps: Steps, texts: Sequence[str], language: str, choices: int | None = None) -> Answers:
    """Run a chain of steps over the texts generated for one document.

    Args:
        steps: (function, options) pairs, as in `FilterUse.steps`.
        texts: What the model wrote: one text, or several that were drawn.
        language: The prompt's language.
        choices: How many options the question offers; steps that read their letters need it.

    Raises:
        UnjudgedError: A pattern ran out of time on a text.

    Returns:
        The answers as read, None where nothing could be read: as many as the texts, unless a step
        chooses among them.
    """
    setting = _Setting(language, choices)
    answers: Answers = texts
    for name, options in steps:
        if name in _SELECTORS:
            answers = _SELECTORS[name][0](answers, **options)
        else:
            step = _STEPS[name][0]
            answers = [None if a is None else step(a, setting, **options) for a in answers]
    return answers


def explain(
    steps: Steps, text: str, language: str, choices: int | None = None
) -> list[ReadingStep]:
    """What each step of a chain makes of a text, for a reader who wonders how it was read.

    The last entry's text is what `apply` gives for this text alone. Steps that rest because nothing
    is left to read are not listed. Nothing is told of a chain that no task could have: steps come
    from stored runs here.
    """
    try:
        check(steps, sys.maxsize)
        check_choices(steps, choices)
    except TaskError:
        return []
    setting = _Setting(language, choices)
    current: str | None = text
    told: list[ReadingStep] = []
    for name, options in steps:
        if current is None:
            break
        if name == "choice_letter_flexible":
            told += explain_flexible(current, language, setting.known_choices)
        elif name in _SELECTORS:
            # Of several answers one is told about, and among one there is no choice.
            told.append(ReadingStep(name, current))
        else:
            told.append(ReadingStep(name, _told(name, options, current, setting)))
        current = told[-1].text
    return told


def _told(name: str, options: Mapping[str, Any], text: str, setting: _Setting) -> str | None:
    """What a step makes of a text; nothing where its pattern runs out of time."""
    try:
        return _STEPS[name][0](text, setting, **options)
    except UnjudgedError:
        return None
