"""One document under one template: its question, its choices and its right answer as text.

A document that is weighed whole has none of these: there the template gives one text.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenbin.errors import DataError, TaskError
from tenbin.prompts.environment import names_used, render
from tenbin.records import Document, Task, Template


@dataclass(frozen=True, slots=True)
class Worded:
    """What a template makes of a document."""

    text: str
    choices: tuple[str, ...] | None
    gold: int | None
    references: tuple[str, ...]
    target: str
    """The right answer as an example shows it."""
    num_choices: int | None = None
    """Options that the question offers, where that is known."""


def word(task: Task, template: Template, document: Document, system_prompt: str) -> Worded:
    """Put a document into a template's words.

    Raises:
        TaskError: When the template does not fit the document's fields.
        DataError: When the gold answer is not among the choices.
    """
    fields = {**document.fields, "labels": list(task.labels), "system_prompt": system_prompt}
    try:
        return _word(task, template, document, fields)
    except TaskError as error:
        raise _located(task, template, document, error) from error


def whole_text(task: Task, template: Template, document: Document) -> str:
    """The text that a rolling task weighs, byte for byte.

    Raises:
        TaskError: When the template does not fit the document's fields.
        DataError: When there is no text.
    """
    source = str(template.target)
    try:
        if source not in document.fields and not names_used(source):
            raise TaskError(
                f"doc_to_target names no field: {source!r} is the same text for every document",
                f"fields: {', '.join(map(str, document.fields))}",
            )
        text = _value(source, document.fields)
    except TaskError as error:
        raise _located(task, template, document, error) from error
    if not isinstance(text, str) or not text.strip():
        raise DataError(
            f"{document.origin}: there is no text to weigh: doc_to_target gives {text!r}",
            "leave out rows without text: they have neither words nor bytes to divide by",
        )
    return text


def _located(task: Task, template: Template, document: Document, error: TaskError) -> TaskError:
    where = f"{task.name} {task.version}, template {template.name}, {document.origin}"
    return TaskError(f"{where}: {error.message}", error.hint)


def _word(task: Task, template: Template, document: Document, fields: Mapping[str, Any]) -> Worded:
    text = _value(template.text, fields)
    if task.kind == "choice":
        choices = _choices(template.choices, fields)
        gold = _gold(_value(template.target, fields), choices, document)
        references: tuple[str, ...] = (choices[gold],)
        target = choices[gold]
        num_choices: int | None = len(choices)
    else:
        choices, gold = None, None
        accepted = _accepted(_value(template.target, fields))
        target = accepted[0]
        references = _references(task, fields) or accepted
        num_choices = task.num_choices
        if template.choices is not None:
            num_choices = len(_choices(template.choices, fields))
    if template.example_target is not None:
        target = render(template.example_target, fields)
    return Worded(str(text), choices, gold, references, target, num_choices)


def _value(source: str | int, fields: Mapping[str, Any]) -> Any:
    """A field's value where the source is just its name, else the rendered template."""
    if isinstance(source, int):
        return source
    if source in fields:
        return fields[source]
    return render(source, fields)


def _accepted(value: Any) -> tuple[str, ...]:
    """The answers a generation task's target stands for: a list is several, as in lm-eval."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return (value,)
    if isinstance(value, list | tuple):
        if not value:
            raise TaskError("doc_to_target gives an empty list")
        return tuple(str(one) for one in value)
    return (str(value),)


def _choices(source: str | tuple[str, ...] | None, fields: Mapping[str, Any]) -> tuple[str, ...]:
    if isinstance(source, tuple):
        return tuple(render(choice, fields) for choice in source)
    assert source is not None  # the loader refuses a choice task without choices
    value = _value(source, fields)
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError) as error:
            raise TaskError(f"doc_to_choice gives no list: {value[:80]!r}") from error
    if not isinstance(value, list | tuple) or len(value) < 2:
        raise TaskError(f"doc_to_choice gives no list of two or more choices: {value!r}")
    return tuple(map(str, value))


def _gold(value: Any, choices: tuple[str, ...], document: Document) -> int:
    if isinstance(value, str):
        stripped = value.strip()
        if stripped in choices and not stripped.isdigit():
            return choices.index(stripped)
        if stripped.isdigit():
            value = int(stripped)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(choices):
        return value
    raise DataError(
        f"{document.origin}: the gold answer {value!r} is not one of the {len(choices)} choices",
        f"it must be an index from 0 to {len(choices) - 1} (digits are an index), or the text of "
        f"one of: {', '.join(choices)}",
    )


def _references(task: Task, fields: Mapping[str, Any]) -> tuple[str, ...]:
    if task.references is None:
        return ()
    value: Any = fields
    for part in task.references.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise TaskError(f"references: no field {task.references!r}")
        value = value[part]
    return tuple(str(reference) for reference in value)
