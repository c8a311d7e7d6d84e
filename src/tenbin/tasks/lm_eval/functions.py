"""The functions of a task: under which keys of its file they stand, and how to replace them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tenbin.records import Task, TaskFunction


def named_functions(task: Task) -> list[tuple[str, TaskFunction]]:
    """Every function that a run of the task calls, with the key of the task file that names it."""
    parts: list[tuple[str, Any]] = [
        ("custom_dataset", task.dataset.custom_dataset),
        ("process_docs", task.dataset.process_docs),
        ("fewshot_config.process_docs", task.fewshot.process_docs),
        ("fewshot_config.samples", task.fewshot.samples),
        ("process_results", task.process_results),
    ]
    for template in task.templates.values():
        parts += [
            ("doc_to_text", template.text),
            ("doc_to_choice", template.choices),
            ("doc_to_target", template.target),
        ]
        example = template.example
        if example is not None:
            parts += [
                ("fewshot_config.doc_to_text", example.text),
                ("fewshot_config.doc_to_choice", example.choices),
                ("fewshot_config.doc_to_target", example.target),
            ]
    for use in task.metrics:
        parts.append((f"metric_list.{use.name}", use.function))
        parts.append((f"metric_list.{use.name}.aggregation", use.aggregation))
        parts += [(f"metric_list.{use.name}.{key}", value) for key, value in use.options.items()]
    for chain in task.filters:
        for function, options in chain.steps:
            parts.append((f"filter_list.{chain.name}", function))
            parts += [(f"filter_list.{chain.name}.{key}", one) for key, one in options.items()]
    return [(key, found) for key, part in parts for found in _inside(part)]


def _inside(value: Any) -> Iterator[TaskFunction]:
    if isinstance(value, TaskFunction):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _inside(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _inside(one)


def replace_functions(value: Any, change: Callable[[TaskFunction], TaskFunction]) -> Any:
    """A task, or a part of one, with every function replaced by what `change` gives for it."""
    if isinstance(value, TaskFunction):
        return change(value)
    if isinstance(value, Mapping):
        return {key: replace_functions(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(replace_functions(one, change) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            one.name: replace_functions(getattr(value, one.name), change) for one in fields(value)
        }
        return replace(value, **changed)
    return value
