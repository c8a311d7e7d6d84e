"""Check what a task says of its metrics and filters, before anything is asked.

Knows tasks, metrics and filters; judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from tenbin.errors import TaskError
from tenbin.metrics import filters
from tenbin.metrics.options import PATTERNS, SWITCH, Option, check_options
from tenbin.metrics.registry import Metric, find_metric
from tenbin.records import FilterUse, MetricUse, Task

_OPTIONS: Mapping[str, Mapping[str, Option]] = {
    "exact_match": {
        "ignore_case": SWITCH,
        "ignore_punctuation": SWITCH,
        "ignore_numbers": SWITCH,
        "regexes_to_ignore": PATTERNS,
    }
}


def metric_names(task: Task) -> list[tuple[str, Metric]]:
    """The names a task's scores are reported under, in order, each with its metric.

    Raises:
        TaskError: A metric, filter or option is unknown, of a wrong type, or does not suit the
            task's kind; the message names the task's file.
    """
    try:
        return _checked_names(task)
    except TaskError as error:
        file = f"{task.source}: " if task.source else ""
        raise TaskError(f"{file}{error.message}", error.hint) from error


def _checked_names(task: Task) -> list[tuple[str, Metric]]:
    names = []
    for use in task.metrics:
        metric = find_metric(use.metric)
        if metric.kind != task.kind:
            raise TaskError(
                f"{task.name}: metric {use.metric!r} judges {metric.kind} tasks,"
                f" but this is a {task.kind} task"
            )
        what = f"{task.name}: metric {use.metric!r}"
        check_options(what, use.options, _OPTIONS.get(use.metric, {}))
        names += [(name, metric) for name in reported_names(task, use)]
    for filter_use in task.filters:
        try:
            filters.check(filter_use.steps, task.repeats)
        except TaskError as error:
            where = f"{task.name}: {filter_use.name}"
            raise TaskError(f"{where}: {error.message}", error.hint) from error
        if not _choices_by_document(task):
            _check_choices(task, filter_use, task.num_choices, task.name)
    return names


def check_question(task: Task, num_choices: int | None, where: str) -> None:
    """Refuse a question whose answer the task's filters could not read.

    Args:
        task: What is asked.
        num_choices: The options that the question offers.
        where: The row, for messages.

    Raises:
        TaskError: Its options are too many for a filter.
    """
    for filter_use in task.filters:
        _check_choices(task, filter_use, num_choices, f"{task.name}, {where}")


def _choices_by_document(task: Task) -> bool:
    return bool(task.templates) and all(t.choices is not None for t in task.templates.values())


def _check_choices(task: Task, use: FilterUse, num_choices: int | None, where: str) -> None:
    try:
        filters.check_choices(use.steps, num_choices)
    except TaskError as error:
        raise TaskError(f"{where}: {use.name}: {error.message}", error.hint) from error


def reported_names(task: Task, use: MetricUse) -> list[str]:
    """The names that one metric of a task is reported under: one for each filter."""
    if task.kind != "generate" or not task.filters:
        return [use.name]
    return [f"{use.name},{filter_use.name}" for filter_use in task.filters]
