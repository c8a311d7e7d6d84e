"""A format and its id: `f-` and a digit of base 36 for each dimension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tenbin.errors import TaskError
from tenbin.records import FormatGrammar, Task
from tenbin.tasks.prompt_formats.dimensions import (
    BY_NAME,
    DIGITS,
    DIMENSIONS,
    NOT_APPLICABLE,
    Dimension,
    Levels,
)
from tenbin.tasks.prompt_formats.grammar import require_grammar
from tenbin.tasks.prompt_formats.rules import RULES, broken_rule
from tenbin.tasks.rotation import FORMAT

_LENGTH = 18
"""Digits of an id at least. Dimensions that are added later show where they are not 0, so that ids
stay what they are."""


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """One way to word a task."""

    id: str
    """The name of its template."""
    levels: Mapping[str, str]
    """Dimension → level, without dimensions in which the task has one level only; `–` where a
    dimension has no effect."""
    choices: Mapping[str, str]
    """Every dimension → level; the first level where a dimension has no effect."""


def is_format(template: str) -> bool:
    """Whether a template's name is the id of a format."""
    digits = template.removeprefix(FORMAT)
    whole = _LENGTH <= len(digits) <= len(DIMENSIONS)
    return digits != template and whole and digits.isascii() and digits.isalnum()


def made_format(grammar: FormatGrammar, choices: Levels) -> PromptFormat:
    """The format of these choices, which must be canonical."""
    digits = "".join(
        DIGITS[dimension.levels(grammar).index(choices[dimension.name])] for dimension in DIMENSIONS
    )
    digits = digits[:_LENGTH] + digits[_LENGTH:].rstrip("0")
    levels = {
        dimension.name: choices[dimension.name]
        if dimension.applies(grammar, choices)
        else NOT_APPLICABLE
        for dimension in DIMENSIONS
        if has_levels(grammar, dimension)
    }
    return PromptFormat(FORMAT + digits, levels, choices)


def has_levels(grammar: FormatGrammar, dimension: Dimension) -> bool:
    """Whether formats of a task differ in a dimension."""
    if dimension.name == "language":
        return len(grammar.wordings) > 1
    return len(dimension.levels(grammar)) > 1


def usable_levels(grammar: FormatGrammar, name: str, language: str) -> tuple[str, ...]:
    """The levels of a dimension that a task can have at all in one language of the wording."""
    first = {dimension.name: dimension.levels(grammar)[0] for dimension in DIMENSIONS}
    base = {**first, "language": language}
    dimension = BY_NAME[name]
    if not dimension.applies(grammar, {**base, "instruction": "1"}):
        return (base[name],)
    return tuple(
        level
        for level in dimension.levels(grammar)
        if not any(rule.alone and rule.excludes(grammar, {**base, name: level}) for rule in RULES)
    )


def read_format(task: Task, id: str) -> PromptFormat:
    """The format that an id names.

    Raises:
        TaskError: The task has no formats, or none of this id.
    """
    grammar = require_grammar(task)
    digits = id.removeprefix(FORMAT)
    if not is_format(id):
        raise TaskError(
            f"{id!r} is not the id of a prompt format",
            f"an id is {FORMAT} and {_LENGTH} digits or more; "
            f"`tenbin preview --tasks {task.name} --formats 5` shows some",
        )
    choices: dict[str, str] = {}
    for dimension, digit in zip(DIMENSIONS, digits.ljust(len(DIMENSIONS), "0"), strict=True):
        levels = dimension.levels(grammar)
        at = DIGITS.find(digit)
        if not 0 <= at < len(levels):
            raise TaskError(
                f"{task.name}: {id}: {dimension.name} has no level {digit!r}",
                f"levels: {', '.join(f'{DIGITS[n]} {level}' for n, level in enumerate(levels))}",
            )
        choices[dimension.name] = levels[at]
    rule = broken_rule(grammar, choices)
    if rule is not None:
        raise TaskError(f"{task.name}: {id} is excluded: {rule.name}", rule.reason)
    found = made_format(grammar, canonical(grammar, choices))
    if found.id != id:
        raise TaskError(
            f"{task.name}: {id} differs from {found.id} in dimensions that have no effect there",
            f"name {found.id}",
        )
    return found


def canonical(grammar: FormatGrammar, choices: Levels) -> dict[str, str]:
    """The choices with the first level in every dimension that has no effect."""
    found = dict(choices)
    for dimension in DIMENSIONS:
        if not dimension.applies(grammar, found):
            found[dimension.name] = dimension.levels(grammar)[0]
    return found
