"""The metrics by name, and what a task says of its metrics and filters, checked before all else.

Metrics of other packages are entry points of the group `tenbin.metrics`: their names are known
without an import, and the code of one is loaded when a task uses it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import ModuleType

from tenbin import plugins
from tenbin.errors import TaskError
from tenbin.metrics import choice, filters, japanese, perplexity, text
from tenbin.metrics.base import Metric, declared_metric
from tenbin.metrics.options import check_options
from tenbin.records import FilterUse, MetricUse, Task

NO_CHOICE = "no_choice"
"""The metric that counts documents to which a model named no choice."""


def _metrics_in(module: ModuleType) -> list[Metric]:
    found = (declared_metric(value) for value in vars(module).values())
    return [one for one in found if one and one.function.__module__ == module.__name__]


METRICS: Mapping[str, Metric] = {
    one.name: one for module in (choice, japanese, text, perplexity) for one in _metrics_in(module)
}
"""Tenbin's own."""


@lru_cache
def find_metric(name: str) -> Metric:
    """Look a metric up, among tenbin's own and those of installed packages.

    Raises:
        TaskError: There is none of that name; the hint gives the closest ones.
        PluginError: The package that provides it is broken, or the name is one of tenbin's own.
    """
    added = plugins.entry_points(plugins.METRICS)
    if name in METRICS:
        if name in added:
            added[name].refuse_clash("metric")
        return METRICS[name]
    if name in added:
        return _load(added[name])
    known = [*METRICS, *added]
    close = difflib.get_close_matches(name, known, n=3)
    guess = f"did you mean {', '.join(close)}? " if close else ""
    raise TaskError(f"unknown metric {name!r}", f"{guess}metrics: {', '.join(known)}")


def _load(plugin: plugins.Plugin) -> Metric:
    found = declared_metric(plugin.load())
    if found is None:
        raise plugin.error("it is not a function under tenbin.metrics.metric")
    if found.name != plugin.name:
        raise plugin.error(f"the metric calls itself {found.name!r}")
    return replace(found, plugin=plugin)


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
        check_options(f"{task.name}: metric {use.metric!r}", use.options, metric.options)
        names += [(name, metric) for name in reported_names(task, use)]
    for filter_use in task.filters:
        try:
            filters.check(filter_use.steps, task.repeats)
        except TaskError as error:
            where = f"{task.name}: {filter_use.name}"
            raise TaskError(f"{where}: {error.message}", error.hint) from error
        if not _choices_by_document(task):
            _check_choices(filter_use, task.num_choices, task.name)
    return names


def reported_names(task: Task, use: MetricUse) -> list[str]:
    """The names that one metric of a task is reported under: one for each filter."""
    if task.kind != "generate" or not task.filters:
        return [use.name]
    return [f"{use.name},{filter_use.name}" for filter_use in task.filters]


def check_question(task: Task, num_choices: int | None, where: str) -> None:
    """Refuse a question whose answer the task's filters could not read.

    Args:
        task: What is asked.
        num_choices: The options that the question offers.
        where: The row, for messages.

    Raises:
        TaskError: It has too many options for a filter.
    """
    for filter_use in task.filters:
        _check_choices(filter_use, num_choices, f"{task.name}, {where}")


def _choices_by_document(task: Task) -> bool:
    return bool(task.templates) and all(t.choices is not None for t in task.templates.values())


def _check_choices(use: FilterUse, num_choices: int | None, where: str) -> None:
    try:
        filters.check_choices(use.steps, num_choices)
    except TaskError as error:
        raise TaskError(f"{where}: {use.name}: {error.message}", error.hint) from error
