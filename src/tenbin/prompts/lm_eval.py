"""One document as an lm-eval task file words it: lm-eval's rules for texts, choices and targets.

They differ from those of tenbin's own files in small things that move prompts: the items of a list
of choices are not rendered, digits are an index only where a template wrote them, and a target is
looked up among the choices as it is. Functions of the task get the row as one mutable dict.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tenbin.errors import DataError, TaskError
from tenbin.prompts.environment import render
from tenbin.prompts.worded import Worded, check_choices, check_number, listed, short
from tenbin.records import Document, ExampleWording, Source, Task, TaskFunction, Template

Fields = dict[str, Any]
_NOT_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_OWN = ExampleWording()


def word_question(
    task: Task,
    template: Template,
    document: Document,
    *,
    several_inputs: bool | None = None,
    refuse_missing_gold: bool = True,
) -> Worded:
    """Word a document that is asked.

    Args:
        task: The task, which came from an lm-eval file.
        template: One of its templates.
        document: The row.
        several_inputs: Whether the choices are what precedes the answer, as in winogrande; None: as
            this document's doc_to_text says.
        refuse_missing_gold: Whether a document whose gold answer is not among its choices is an
            error; lm-eval counts every answer to it as wrong.

    Raises:
        TaskError: When the template does not fit the row.
        DataError: When a function fails on it, or no gold answer is among the choices.
    """
    fields = dict(document.fields)
    prefix = _resolved(template.gen_prefix, fields, document)
    description = _resolved(template.description, fields, document)
    has_choices = template.choices is not None
    text = _text(template.text, fields, document, has_choices)
    choices = None if template.choices is None else choices_of(template.choices, fields, document)
    target = _target(template.target, fields, document, has_choices)
    if task.kind == "choice":
        assert choices is not None  # a choice task without choices is refused when it is translated
        strict = refuse_missing_gold and task.process_results is None
        if isinstance(text, int) and several_inputs is not False:
            worded = _several_inputs(text, choices, target, document, strict)
        else:
            worded = _choice(str(text), choices, target, document, strict)
    elif task.kind == "loglikelihood":
        answer = str(target)
        worded = Worded(str(text), (answer,), 0, (answer,), answer)
    else:
        accepted = _accepted(target, choices, document, task.process_results is None)
        number = task.num_choices if choices is None else len(choices)
        shown = _shown(target, choices, document) if accepted else ""
        several = tuple(range(len(accepted))) if isinstance(target, list | tuple) else ()
        worded = Worded(str(text), None, None, accepted, shown, number, several)
    return replace(worded, prefix=prefix, description=description, fields=fields)


def word_example(
    template: Template, document: Document, several_inputs: bool | None = None
) -> Worded:
    """Word a document that is shown with its answer, by the wording of examples.

    Raises:
        TaskError: When the template does not fit the row.
        DataError: When a function fails on it, or it has no answer that can be shown.
    """
    fields = dict(document.fields)
    own = template.example or _OWN
    source = template.choices if own.choices is None else own.choices
    has_choices = template.choices is not None
    text = _text(_or(own.text, template.text), fields, document, has_choices)
    choices = None if source is None else choices_of(source, fields, document)
    target = _target(_or(own.target, template.target), fields, document, has_choices)
    prefix = _resolved(_or(own.gen_prefix, template.gen_prefix), fields, document)
    if isinstance(text, int) and choices is not None and several_inputs is not False:
        text, choices = choices[_index(text, choices, document)], None
    answered = target is not None and target != ""
    shown = _shown(target, choices, document) if answered else ""
    return Worded(str(text), None, None, (), shown, prefix=prefix, answered=answered)


def index_as_text(template: Template, document: Document) -> bool:
    """Whether doc_to_text gives an index, so that the choices precede the answer."""
    if template.choices is None:
        return False
    return isinstance(_text(template.text, dict(document.fields), document, True), int)


def lm_eval_target(template: Template, document: Document) -> Any:
    """What doc_to_target gives, for tasks that score whole texts."""
    return _target(template.target, dict(document.fields), document, has_choices=False)


def choices_of(
    source: str | tuple[str, ...] | TaskFunction, fields: Fields, document: Document
) -> tuple[str, ...]:
    """The choices of a row; the items of a list stand as they were written."""
    if isinstance(source, tuple):
        return source
    value = _given(source, fields, document)
    if isinstance(value, str) and source not in fields:
        try:
            value = ast.literal_eval(value)
        except _NOT_LITERAL as error:
            raise TaskError(
                f"doc_to_choice gives no list: {value[:80]!r}",
                "write Jinja that gives a list, such as {{[first, second]}}, or a field's name",
            ) from error
    if isinstance(value, dict):
        value = list(value.values())
    return check_choices(value, least=1)


def _several_inputs(
    gold: int, choices: tuple[str, ...], target: Any, document: Document, strict: bool
) -> Worded:
    """The choices are what precedes one answer, and doc_to_text is the index of the right one."""
    golds = _golds(gold, choices, document, strict)
    answer = str(target)
    right = golds[0] if golds else None
    return Worded(
        choices[0], choices, right, (answer,), answer, len(choices), golds, contexts=choices
    )


def _choice(
    text: str, choices: tuple[str, ...], target: Any, document: Document, strict: bool
) -> Worded:
    golds = _golds(target, choices, document, strict)
    references = tuple(choices[at] for at in golds)
    shown = references[0] if references else ""
    if isinstance(target, str):
        shown = target
    several = golds if isinstance(target, list | tuple) else ()
    return Worded(
        text, choices, golds[0] if golds else None, references, shown, len(choices), several
    )


def _golds(
    value: Any, choices: tuple[str, ...], document: Document, strict: bool
) -> tuple[int, ...]:
    """The indices of the right choices that there are.

    Raises:
        DataError: There is none, and `strict` says that there must be.
    """
    values = list(value) if isinstance(value, list | tuple) else [value]
    found = [_found(one, choices) for one in values]
    golds = tuple(dict.fromkeys(at for at in found if at is not None))
    if not golds and strict:
        raise _not_among(value, choices, document)
    return golds


def _found(value: Any, choices: tuple[str, ...]) -> int | None:
    if isinstance(value, str):
        return choices.index(value) if value in choices else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and 0 <= value < len(choices):
        return int(value)
    return None


def _not_among(value: Any, choices: tuple[str, ...], document: Document) -> DataError:
    return DataError(
        f"{document.origin}: the gold answer {short(value)} is not one of the {len(choices)} "
        "choices",
        f"an index from 0 to {len(choices) - 1}, or the text of one of: {listed(choices)}; with "
        "--profile lm-eval such a document counts as answered wrongly, as in lm-eval",
    )


def _index(value: int, choices: Sequence[str], document: Document) -> int:
    """An index as Python takes it: lm-eval shows the last choice for a label of -1."""
    if -len(choices) <= value < len(choices):
        return value
    raise _not_among(value, tuple(choices), document)


def _accepted(
    value: Any, choices: tuple[str, ...] | None, document: Document, strict: bool
) -> tuple[str, ...]:
    """The accepted answers of a generation task; an index stands for its choice."""
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values and strict:
        raise DataError(f"{document.origin}: doc_to_target gives an empty list: there is no answer")
    return tuple(_shown(one, choices, document) for one in values)


def _shown(value: Any, choices: tuple[str, ...] | None, document: Document) -> str:
    """An answer as an example shows it: of several the first, of an index its choice."""
    if isinstance(value, list | tuple):
        if not value:
            raise DataError(
                f"{document.origin}: doc_to_target gives an empty list: there is no answer"
            )
        value = value[0]
    if isinstance(value, int) and choices:
        return choices[_index(value, choices, document)]
    return str(value)


def _text(source: Source, fields: Fields, document: Document, has_choices: bool) -> str | int:
    value = _given(source, fields, document)
    if isinstance(value, str):
        rendered = isinstance(source, str) and source not in fields
        return _number(value) if rendered and has_choices else value
    if value is None:
        raise DataError(f"{document.origin}: doc_to_text gives nothing: {short(source)}")
    return int(value) if isinstance(value, int) and has_choices else str(value)


def _target(
    source: Source | tuple[str, ...], fields: Fields, document: Document, has_choices: bool
) -> Any:
    value = list(source) if isinstance(source, tuple) else _given(source, fields, document)
    if not isinstance(value, str) or not isinstance(source, str) or source in fields:
        return value
    if has_choices and value.isdigit():
        return _number(value)
    if len(value) >= 2 and value[0] == "[" and value[-1] == "]":
        try:
            return ast.literal_eval(value)
        except _NOT_LITERAL:
            return value
    return value


def _number(text: str) -> str | int:
    return int(text) if text.isdecimal() and len(text) < 10 else text


def _resolved(source: str | None, fields: Fields, document: Document) -> str:
    """The text of a template or of the field that it names; empty without one."""
    if not source:
        return ""
    value = _given(source, fields, document)
    return "" if value is None else str(value)


def _given(source: Source, fields: Fields, document: Document) -> Any:
    """What a number, a function, a field's name or a template stands for."""
    if isinstance(source, int):
        return source
    if isinstance(source, TaskFunction):
        return _called(source, fields, document)
    if source in fields:
        return check_number(source, fields[source])
    # Jinja writes every line end as one character, also where there is nothing else to render.
    return render(source.replace("\r\n", "\n").replace("\r", "\n"), fields)


def _called(function: TaskFunction, fields: Fields, document: Document) -> Any:
    try:
        return _plain(function(fields))
    except Exception as error:
        # Somebody's code may raise anything.
        said = str(error).strip().splitlines()
        raise DataError(
            f"{document.origin}: {function} failed: {type(error).__name__}"
            + (f": {said[0][:200]}" if said else ""),
            "the function belongs to the task file; mend it there, or leave the row out",
        ) from error


def _plain(value: Any) -> Any:
    """A function's value with numbers and arrays of numpy as Python's own: `np.int32(1)` as 1."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    as_python = getattr(value, "tolist", None)
    return as_python() if callable(as_python) else value


def _or(own: Any, template: Any) -> Any:
    return template if own is None else own
