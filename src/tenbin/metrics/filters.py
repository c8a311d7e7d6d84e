"""The steps a task may chain to read an answer out of generated text.

Knows lm-eval's names for the steps it shares with it; does not know tasks, metrics or gold answers.
A step takes a text and gives a text, or None once nothing can be read; later steps then rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tenbin.errors import TaskError
from tenbin.metrics.extraction import read_flexible, read_strict
from tenbin.metrics.extraction.explain import ReadingStep, explain_flexible

Steps = tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class _Setting:
    language: str
    choices: int


def _read_strict(text: str, setting: _Setting) -> str | None:
    return read_strict(text, setting.choices)


def _read_flexible(text: str, setting: _Setting) -> str | None:
    return read_flexible(text, setting.language, setting.choices)


def _match_regex(
    text: str,
    setting: _Setting,
    *,
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)",
    group_select: int = 0,
    fallback: str | None = "[invalid]",
) -> str | None:
    # lm-eval marks a miss by a text; here a miss is None, so that it counts as unread.
    found = re.findall(regex_pattern, text)
    if not -len(found) <= group_select < len(found):
        return None if fallback == "[invalid]" else fallback
    match = found[group_select]
    if isinstance(match, tuple):
        match = next((group for group in match if group), "")
    return str(match).strip()


def _take_first(text: str, setting: _Setting) -> str:
    # One answer is generated per prompt, so the first is the one there is.
    return text


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
    text: str, setting: _Setting, *, regex_pattern: str = r"^\s+|\s+$", replacement: str = ""
) -> str:
    return re.sub(regex_pattern, replacement, text)


_STEPS: dict[str, tuple[Callable[..., str | None], frozenset[str]]] = {
    "choice_letter_strict": (_read_strict, frozenset()),
    "choice_letter_flexible": (_read_flexible, frozenset()),
    "regex": (_match_regex, frozenset({"regex_pattern", "group_select", "fallback"})),
    "take_first": (_take_first, frozenset()),
    "lowercase": (_lowercase, frozenset()),
    "uppercase": (_uppercase, frozenset()),
    "remove_whitespace": (_remove_whitespace, frozenset()),
    "strip": (_strip, frozenset({"characters"})),
    "regex_strip": (_substitute, frozenset({"regex_pattern", "replacement"})),
}

FILTERS = tuple(_STEPS)
"""The names of all steps."""


def check(steps: Steps) -> None:
    """Refuse steps that could not be run.

    Raises:
        TaskError: A step or one of its options is unknown, or a pattern does not compile.
    """
    for name, options in steps:
        if name not in _STEPS:
            raise TaskError(f"unknown filter {name!r}", f"known: {', '.join(FILTERS)}")
        unknown = sorted(set(options) - _STEPS[name][1])
        if unknown:
            known = ", ".join(sorted(_STEPS[name][1])) or "none"
            raise TaskError(f"filter {name!r} has no option {', '.join(unknown)}", f"has: {known}")
        try:
            re.compile(options.get("regex_pattern", ""))
        except re.error as error:
            raise TaskError(f"filter {name!r}: regex_pattern does not compile: {error}") from error


def apply(steps: Steps, text: str, language: str, choices: int = 4) -> str | None:
    """Run a chain of steps over a generated text.

    Args:
        steps: (function, options) pairs, as in `FilterUse.steps`.
        text: What the model wrote.
        language: The prompt's language.
        choices: How many choices the prompt offered.

    Returns:
        The answer as read, or None when nothing could be read.
    """
    setting = _Setting(language, choices)
    current: str | None = text
    for name, options in steps:
        if current is None:
            break
        current = _STEPS[name][0](current, setting, **options)
    return current


def explain(steps: Steps, text: str, language: str, choices: int = 4) -> list[ReadingStep]:
    """What each step of a chain makes of a text, for a reader who wonders how it was read.

    The last entry's text is what `apply` gives. Steps that rest because nothing is left to read are
    not listed.
    """
    setting = _Setting(language, choices)
    current: str | None = text
    told: list[ReadingStep] = []
    for name, options in steps:
        if current is None:
            break
        if name == "choice_letter_flexible":
            told += explain_flexible(current, language, choices)
        else:
            told.append(ReadingStep(name, _STEPS[name][0](current, setting, **options)))
        current = told[-1].text
    return told
