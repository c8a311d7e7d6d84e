"""The types that options of filters and metrics can have, checked before a model loads."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tenbin.errors import PluginError, TaskError, guess_at
from tenbin.records import TaskFunction
from tenbin.sandbox.patterns import compile_pattern

_MOST_PATTERNS = 100
"""In a list of patterns: each is matched on every answer."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a filter or a metric."""

    accepts: str
    """In words, for messages."""
    fits: Callable[[Any], bool]
    required: bool = False
    is_pattern: bool = False
    """Whether a text in it is a regular expression."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) <= _MOST_PATTERNS
        and all(map(_is_text, value))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


TEXT = Option("text", _is_text)
TEXT_OR_NULL = Option("text or null", lambda value: value is None or isinstance(value, str))
WHOLE_NUMBER = Option("a whole number", _is_whole)
NUMBER = Option("a number", _is_number)
COUNT = Option("a whole number above 0", lambda value: _is_whole(value) and value > 0, True)
SWITCH = Option("true or false", lambda value: isinstance(value, bool))
PATTERN = Option("a regular expression", _is_text, is_pattern=True)
PATTERNS = Option(
    f"a list of at most {_MOST_PATTERNS} regular expressions", _are_texts, is_pattern=True
)

PATTERNS_OR_NULL = Option(
    f"a list of at most {_MOST_PATTERNS} regular expressions, or null",
    lambda value: value is None or _are_texts(value),
    is_pattern=True,
)
MAPPING = Option("a mapping", lambda value: isinstance(value, Mapping))
ANYTHING = Option("any value", lambda value: True)
FUNCTION = Option("a function of the task", lambda value: isinstance(value, TaskFunction), True)

_BY_TYPE: Mapping[type, Option] = {bool: SWITCH, int: WHOLE_NUMBER, float: NUMBER, str: TEXT}


def option_of(declared: Option | type) -> Option:
    """The option that a declaration means: itself, or one of a plain type such as `bool`.

    Raises:
        PluginError: No option has this type.
    """
    if isinstance(declared, Option):
        return declared
    if declared not in _BY_TYPE:
        raise PluginError(
            f"an option cannot be of type {declared!r}",
            "declare it as bool, int, float or str, or by an Option of tenbin.metrics.options",
        )
    return _BY_TYPE[declared]


def check_options(what: str, given: Mapping[str, Any], taken: Mapping[str, Option]) -> None:
    """Refuse options that could not be used.

    Args:
        what: Whose options, for messages: `filter 'regex'`.
        given: As the task file writes them.
        taken: The options that there are.

    Raises:
        TaskError: One is unknown, missing or of a wrong type, or a pattern is not valid.
    """
    for name, value in given.items():
        option = taken.get(name)
        if option is None:
            known = ", ".join(sorted(taken)) or "none"
            raise TaskError(
                f"{what} has no option {reprlib.repr(name)}",
                f"{guess_at(str(name), taken)}it has: {known}",
            )
        if not option.fits(value):
            raise TaskError(f"{what}: {name} must be {option.accepts}, not {reprlib.repr(value)}")
        if option.is_pattern:
            for source in [value] if isinstance(value, str) else value or ():
                compile_pattern(source, f"{what}: {name}")
    for name, option in taken.items():
        if option.required and name not in given:
            raise TaskError(f"{what} needs {name}, {option.accepts}")
