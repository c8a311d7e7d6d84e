"""Options of a question in another order: rotated by some places, with the gold answer.

A rotation of r shows the options r, r + 1, …, and the first r of them last. Over all rotations each
option stands once at each position, so that what remains of a preference for a position is the
same for all options.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tenbin.errors import TaskError
from tenbin.records import OptionFields, Template

T = TypeVar("T")
OWN_ROOTS = ("labels", "words")
"""Fields of the task itself, which every document shares."""
_ALPHABETS = (
    string.ascii_uppercase, string.ascii_lowercase, string.digits, string.digits[1:],
    "①②③④⑤⑥⑦⑧⑨⑩", "アイウエオカキクケコ", "イロハニホヘト", "一二三四五六七八九", "甲乙丙丁戊",
    "ＡＢＣＤＥＦＧＨＩＪ", "０１２３４５６７８９", "１２３４５６７８９", "가나다라마바사", "กขคง",
)  # fmt: skip
"""Marks that number positions."""
_AROUND = " .．:：、)）(（[]［］"


def shown_position(original: int, rotation: int, count: int) -> int:
    """The position at which an option of the row is shown."""
    return (original - rotation) % count


def rotated(values: Sequence[T], rotation: int) -> list[T]:
    """The values from the one that is shown first."""
    first = rotation % len(values)
    return [*values[first:], *values[:first]]


def rotate_own(
    fields: Mapping[str, Any], template: Template, options: OptionFields | None
) -> dict[str, Any]:
    """The task's own fields, such as `labels`, with options in the template's order."""
    lists = [path for path in _of(template, options).lists if path.split(".")[0] in OWN_ROOTS]
    return dict(_rotate_lists(fields, lists, template.rotation))


def rotate_row(
    fields: Mapping[str, Any], template: Template, options: OptionFields | None
) -> Mapping[str, Any]:
    """A row with its options in the template's order, and the gold answer where it then is.

    Raises:
        TaskError: The row does not have the fields that the task declares.
    """
    declared = _of(template, options)
    lists = [path for path in declared.lists if path.split(".")[0] not in OWN_ROOTS]
    turned = dict(_rotate_lists(fields, lists, template.rotation))
    missing = [name for name in declared.fields if name not in fields]
    if missing:
        raise TaskError(f"options: the row has no field {missing[0]!r}")
    values = [fields[name] for name in declared.fields]
    if values:
        turned.update(zip(declared.fields, rotated(values, template.rotation), strict=True))
    elif lists:
        values = _follow(fields, lists[0])
    count = len(values) or declared.count
    if declared.gold not in fields:
        raise TaskError(f"options: the row has no field {declared.gold!r}")
    turned[declared.gold] = _rotate_gold(fields[declared.gold], values, template.rotation, count)
    return turned


def rotate_choices(
    choices: tuple[str, ...], template: Template, options: OptionFields | None
) -> tuple[str, ...]:
    """What is scored, in the order that is shown.

    Marks of positions (A, B, …) and choices that are made of rotated fields are in that order
    already; others, such as label words that the template writes out, are rotated here.
    """
    sources = template.choices if isinstance(template.choices, tuple) else (template.choices,)
    if marks_positions(choices) or any(map(_of(template, options).named_in, sources)):
        return choices
    return tuple(rotated(choices, template.rotation))


def marks_positions(choices: Sequence[str]) -> bool:
    """Whether choices only number the positions: A, B, C, or (1), (2), (3)."""
    marks = [choice.strip(_AROUND) for choice in choices]
    return any(marks == list(alphabet[: len(marks)]) for alphabet in _ALPHABETS)


def _of(template: Template, options: OptionFields | None) -> OptionFields:
    if options is None:
        raise TaskError(
            f"template {template.name} rotates the options, and the task does not say which fields "
            "hold them",
            "declare them under `options:` in the task file",
        )
    return options


def _rotate_lists(
    fields: Mapping[str, Any], paths: Sequence[str], rotation: int
) -> Mapping[str, Any]:
    for path in paths:
        fields = _replaced(fields, path.split("."), rotated(_follow(fields, path), rotation))
    return fields


def _follow(fields: Mapping[str, Any], path: str) -> list[Any]:
    value: Any = fields
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise TaskError(f"options: there is no field {path!r}")
        value = value[part]
    if not isinstance(value, list | tuple) or len(value) < 2:
        raise TaskError(f"options: field {path!r} is no list of options")
    return list(value)


def _replaced(fields: Mapping[str, Any], path: Sequence[str], value: Any) -> Mapping[str, Any]:
    first, *rest = path
    return {**fields, first: _replaced(fields[first], rest, value) if rest else value}


def _rotate_gold(gold: Any, options: Sequence[Any], rotation: int, count: int) -> Any:
    """The gold answer of a row after rotation, written as it was: an index, a letter, or a text."""
    if isinstance(gold, str):
        if gold in options:
            return gold
        if gold.isdecimal() and len(gold) < 10 and int(gold) < count:
            return str(shown_position(int(gold), rotation, count))
        at = string.ascii_uppercase[:count].find(gold) if len(gold) == 1 else -1
        if at >= 0:
            return string.ascii_uppercase[shown_position(at, rotation, count)]
    elif isinstance(gold, int) and not isinstance(gold, bool) and 0 <= gold < count:
        return shown_position(gold, rotation, count)
    raise TaskError(
        f"options: the gold answer {gold!r} is none of {count} options",
        "it must be an index from 0, a letter from A, or the text of an option",
    )
