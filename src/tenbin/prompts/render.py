"""One document under one template: its question, its choices and its right answer as text.

A document of a perplexity task has none of these: its template gives one text.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tenbin.errors import DataError, TaskError
from tenbin.prompts.environment import language_names_used, names_used, render
from tenbin.prompts.lm_eval import (
    index_as_text,
    lm_eval_target,
    word_example,
    word_question,
)
from tenbin.prompts.rotation import rotate_choices, rotate_own, rotate_row
from tenbin.prompts.worded import Worded, check_choices, check_number, listed, short
from tenbin.records import Document, Source, Task, TaskFunction, Template

_OWN_NAMES: Mapping[str, str] = {
    "labels": "the task's `labels:`",
    "words": "the task's `words:`",
    "system_prompt": "the text of --system_instruction, or of the template's `system_prompt:`",
}
"""What templates can name besides a row's fields."""


def word(
    task: Task,
    template: Template,
    document: Document,
    system_prompt: str | None,
    several_inputs: bool | None = None,
    refuse_missing_gold: bool = True,
) -> Worded:
    """Put a document into a template's words, by the rules of the file that the task is from.

    Args:
        task: The task.
        template: One of its templates.
        document: The row.
        system_prompt: The user's text for `{{ system_prompt }}`; None: the template's own.
        several_inputs: See `lm_eval.word_question`.
        refuse_missing_gold: See `lm_eval.word_question`.

    Raises:
        TaskError: When the template does not fit the document's fields.
        DataError: When the gold answer is not among the choices.
    """
    try:
        if task.origin is not None:
            return word_question(
                task,
                template,
                document,
                several_inputs=several_inputs,
                refuse_missing_gold=refuse_missing_gold,
            )
        row = document.fields
        if template.rotation:
            row = rotate_row(row, template, task.options)
        fields = {**row, **own_fields(task, template, system_prompt)}
        _refuse_shadowed(task, template, document)
        return _word(task, template, document, fields)
    except TaskError as error:
        raise _located(task, template, document, error) from error


def word_as_example(
    task: Task,
    template: Template,
    document: Document,
    system_prompt: str | None,
    several_inputs: bool | None = None,
) -> Worded:
    """Put a document that is shown with its answer into words.

    Raises:
        TaskError: When the template does not fit the document's fields.
        DataError: When it has no answer that can be shown.
    """
    if task.origin is None:
        return word(task, template, document, system_prompt)
    try:
        return word_example(template, document, several_inputs)
    except TaskError as error:
        raise _located(task, template, document, error) from error


def has_several_inputs(
    task: Task, template: Template, documents: Sequence[Document]
) -> bool | None:
    """Whether choices precede the answer, by the first document; None where that cannot be."""
    if task.origin is None or task.kind != "choice" or not len(documents):
        return None
    first = documents[0]
    try:
        return index_as_text(template, first)
    except TaskError as error:
        raise _located(task, template, first, error) from error


def own_fields(task: Task, template: Template, system_prompt: str | None) -> dict[str, Any]:
    """What the template can name besides a row's fields.

    `system_prompt` is left out where neither the user nor the template has one, so that a template
    that names it is refused.
    """
    fields: dict[str, Any] = {"labels": list(task.labels)}
    if task.words:
        fields["words"] = task.words
    text = template.system_prompt if system_prompt is None else system_prompt
    if text is not None:
        fields["system_prompt"] = text
    if template.rotation:
        fields = rotate_own(fields, template, task.options)
    return fields


def whole_text(task: Task, template: Template, document: Document) -> str:
    """The text whose rolling log-likelihood is asked for, byte for byte.

    Raises:
        TaskError: When the template does not fit the document's fields.
        DataError: When there is no text.
    """
    source = template.target
    try:
        if isinstance(source, str) and source not in document.fields and not names_used(source):
            raise TaskError(
                f"doc_to_target names no field: {source!r} is the same text for every document",
                f"fields: {', '.join(map(str, document.fields))}",
            )
        if task.origin is not None:
            text = lm_eval_target(template, document)
        else:
            _refuse_shadowed(task, template, document)
            text = _value(source, document.fields)
    except TaskError as error:
        raise _located(task, template, document, error) from error
    if not isinstance(text, str) or not text.strip():
        raise DataError(
            f"{document.origin}: there is no text to measure: doc_to_target gives {text!r}",
            "leave out rows without text: they have neither words nor bytes to divide by",
        )
    return text


def _located(task: Task, template: Template, document: Document, error: TaskError) -> TaskError:
    return TaskError(f"{place_of(task, template)}, {document.origin}: {error.message}", error.hint)


def place_of(task: Task, template: Template) -> str:
    """Where a template was written: the file, the task and its version, and the template's name."""
    file = f"{task.source}: " if task.source else ""
    return f"{file}{task.name} {task.version}, template {template.name}"


def _refuse_shadowed(task: Task, template: Template, document: Document) -> None:
    """Refuse a field that the template's words would name but never mean."""
    choices = template.choices if isinstance(template.choices, tuple) else (template.choices,)
    sources = (template.text, template.target, template.example_target, *choices)
    named = set(_special_names(tuple(source for source in sources if isinstance(source, str))))
    if task.references is not None:
        named |= {task.references.partition(".")[0]} & _OWN_NAMES.keys()
    if task.kind == "perplexity":
        named -= _OWN_NAMES.keys()
    if not task.words:
        named.discard("words")
    for name in sorted(named & document.fields.keys()):
        meaning = _OWN_NAMES.get(name, "a word of the template language")
        raise TaskError(
            f"the row has a field {name!r}, but in a template {name!r} is {meaning}, "
            "so that the field is never read",
            f"rename the field in the data, such as to `row_{name}`, and in the template",
        )


@lru_cache(maxsize=512)
def _special_names(sources: tuple[str, ...]) -> frozenset[str]:
    """The names in a template that are not looked up in the row."""
    found: set[str] = set()
    for source in sources:
        used = {source} if source in _OWN_NAMES else names_used(source)
        found |= (used & _OWN_NAMES.keys()) | language_names_used(source)
    return frozenset(found)


def _word(task: Task, template: Template, document: Document, fields: Mapping[str, Any]) -> Worded:
    text = _value(template.text, fields)
    if task.kind == "choice":
        choices = _choices(template.choices, fields)
        if template.rotation:
            choices = rotate_choices(choices, template, task.options)
        gold = _gold(_value(template.target, fields), choices, document)
        references: tuple[str, ...] = (choices[gold],)
        target = choices[gold]
        num_choices: int | None = len(choices)
    else:
        choices, gold = None, None
        options = None if template.choices is None else _choices(template.choices, fields)
        if template.rotation and options is not None:
            options = rotate_choices(options, template, task.options)
        accepted = _accepted(_value(template.target, fields), options, document)
        target = accepted[0]
        references = _references(task, fields) or accepted
        num_choices = task.num_choices if options is None else len(options)
    if template.example_target is not None:
        target = render(template.example_target, fields)
    return Worded(str(text), choices, gold, references, target, num_choices)


def _value(source: Source | tuple[str, ...], fields: Mapping[str, Any]) -> Any:
    """A field's value where the source is its name, else what the template or function gives."""
    if isinstance(source, int | tuple):
        return source
    if isinstance(source, TaskFunction):
        return source(fields)
    if source in fields:
        return check_number(source, fields[source])
    return render(source, fields)


def _accepted(value: Any, options: tuple[str, ...] | None, document: Document) -> tuple[str, ...]:
    """The answers a generation task's target stands for: a list is several, as in lm-eval.

    Where the question has options (doc_to_choice), a number is the index of one and stands for its
    text, as in lm-eval.
    """
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return (value,)
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise TaskError("doc_to_target gives an empty list")
    if options is None:
        return tuple(map(str, values))
    return tuple(_option(one, options, document) for one in values)


def _option(value: Any, options: tuple[str, ...], document: Document) -> str:
    if isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal()):
        return options[_gold(value, options, document)]
    return str(value)


def _choices(
    source: str | tuple[str, ...] | TaskFunction | None, fields: Mapping[str, Any]
) -> tuple[str, ...]:
    if isinstance(source, tuple):
        return tuple(render(choice, fields) for choice in source)
    assert source is not None  # the loader refuses a choice task without choices
    value = _value(source, fields)
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise TaskError(f"doc_to_choice gives no list: {value[:80]!r}") from error
    return check_choices(value, least=2)


def _gold(value: Any, choices: tuple[str, ...], document: Document) -> int:
    if isinstance(value, str):
        stripped = value.strip()
        if stripped in choices and not stripped.isdigit():
            return choices.index(stripped)
        if stripped.isdecimal() and len(stripped) < 10:
            value = int(stripped)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(choices):
        return value
    raise DataError(
        f"{document.origin}: the gold answer {short(value)} is not one of the {len(choices)} "
        "choices",
        f"it must be an index from 0 to {len(choices) - 1} (digits are an index), or the text of "
        f"one of: {listed(choices)}",
    )


def _references(task: Task, fields: Mapping[str, Any]) -> tuple[str, ...]:
    if task.references is None:
        return ()
    value: Any = fields
    for part in task.references.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise TaskError(f"references: no field {task.references!r}")
        value = value[part]
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)
