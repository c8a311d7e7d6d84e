"""The metrics by name, and what a task says of its metrics and filters, checked before all else.

Metrics of other packages are entry points of the group `tenbin.metrics`: their names are known
without an import, and the code of one is loaded when a task uses it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import ModuleType

from tenbin import plugins
from tenbin.errors import TaskError
from tenbin.metrics import (
    choice,
    classes,
    filters,
    instruction_following,
    japanese,
    lm_eval,
    perplexity,
    squad,
    text,
    translation,
)
from tenbin.metrics.base import OVER_CLASSES, OWN_FUNCTION, Metric, declared_metric
from tenbin.metrics.options import check_options
from tenbin.records import FilterUse, Kind, MetricUse, Outcome, Task, TaskFunction

NO_CHOICE = "no_choice"
"""The metric that counts documents to which a model named no choice."""


def _metrics_in(module: ModuleType) -> list[Metric]:
    found = (declared_metric(value) for value in vars(module).values())
    return [one for one in found if one and one.function.__module__ == module.__name__]


METRICS: Mapping[str, Metric] = {
    one.name: one
    for module in (choice, japanese, text, squad, instruction_following, perplexity)
    for one in _metrics_in(module)
}
"""Tenbin's own."""

_BY_KIND: Mapping[tuple[str, str], Metric] = {
    (one.kind, one.name): one
    for module in (lm_eval, translation, classes)
    for one in _metrics_in(module)
}
"""Those of lm-eval's task files that tenbin's own tasks do not use, and those over classes of
generated answers, by kind and name: some names mean something else in another kind of task."""

_REFUSED = {
    "bypass": "it measures nothing; answers are always written down",
    "rouge": "it stands for several: name rouge1, rouge2, rougeL or rougeLsum",
    "wer": "lm-eval loads it from the `evaluate` library, by network",
}
"""Names that lm-eval's files can hold and tenbin does not serve, with the reason."""
_ALIASES = {"matthews_corrcoef": "mcc"}
_OVER_VALUES = ("mean", "nanmean", "median")
_NAMED = (
    *_OVER_VALUES,
    *OVER_CLASSES,
    *("perplexity", "weighted_perplexity", "bits_per_byte", "brier_score"),
    *translation.TRANSLATION,
)
"""Aggregations that a task file may name for what its own functions give."""


@lru_cache
def find_metric(name: str, kind: Kind | None = None) -> Metric:
    """Look a metric up, among tenbin's own, lm-eval's and those of installed packages.

    Args:
        name: As task files call it.
        kind: The kind of task that it is to judge; some names mean another metric in each.

    Raises:
        TaskError: There is none of that name; the hint gives the closest ones.
        PluginError: The package that provides it is broken, or the name is one of tenbin's own.
    """
    added = plugins.entry_points(plugins.METRICS)
    if name in METRICS and name in added:
        added[name].refuse_clash("metric")
    if name in METRICS and kind in (None, METRICS[name].kind):
        return METRICS[name]
    if name in added:
        return _load(added[name])
    for (of, known), found in _BY_KIND.items():
        if known == name and kind in (None, of):
            return found
    if name in METRICS:
        return METRICS[name]
    others = [found for (_, known), found in _BY_KIND.items() if known == name]
    if others:
        return others[0]
    if name in _REFUSED:
        raise TaskError(f"metric {name!r} is not served: {_REFUSED[name]}", "use another metric")
    names = list(dict.fromkeys([*METRICS, *(known for _, known in _BY_KIND), *added]))
    close = difflib.get_close_matches(name, names, n=3)
    guess = f"did you mean {', '.join(close)}? " if close else ""
    raise TaskError(f"unknown metric {name!r}", f"{guess}metrics: {', '.join(names)}")


def used_metric(task: Task, use: MetricUse) -> Metric:
    """A metric as a task uses it: with the aggregation and the direction that the task gives it.

    Raises:
        TaskError: There is no such metric, or its values cannot be aggregated so.
    """
    own_function = use.function or task.process_results
    if use.aggregation is None and use.higher_is_better is None and own_function is None:
        found = find_metric(use.metric, task.kind)
        if found.aggregation != OWN_FUNCTION:
            return found
    base = None if own_function else _registered(task, use)
    better = use.higher_is_better
    if better is None:
        better = True if base is None else base.higher_is_better
    aggregation = _aggregation(use, base)
    own = use.aggregation if isinstance(use.aggregation, TaskFunction) else None
    if base is not None and own is not None and base.name in translation.TRANSLATION:
        base = replace(find_metric("acc", "generate"), name=base.name, percent=True)
    if base is not None and (aggregation, better) == (base.aggregation, base.higher_is_better):
        return base
    if base is not None:
        return replace(base, aggregation=aggregation, higher_is_better=better, aggregate=own)
    return Metric(
        use.metric,
        task.kind,
        aggregation,
        better,
        _judged_elsewhere,
        percent=aggregation in translation.TRANSLATION,
        needs_likelihoods=task.kind != "generate",
        aggregate=own,
    )


def _judged_elsewhere() -> None:
    """In place of a metric's function where one of the task judges: it is never called."""


def metric_of(task: Task, outcome: Outcome) -> Metric:
    """The metric that an outcome is of, also where a function of the task has named it.

    What a function of the task names without the task's naming it is aggregated by the mean, as in
    lm-eval.
    """
    for use in task.metrics:
        names = {outcome.metric, outcome.metric.partition(",")[0], outcome.source}
        if {use.name, use.metric} & names:
            return used_metric(task, use)
    name = outcome.metric.partition(",")[0]
    return Metric(name, task.kind, "mean", True, _judged_elsewhere)


def _registered(task: Task, use: MetricUse) -> Metric:
    found = find_metric(use.metric, task.kind)
    if task.kind == "generate" and use.metric == "f1" and use.aggregation == "mean":
        # `evaluate`'s F1 of a single document, over classes: 1 where the answer is right.
        return replace(find_metric("accuracy", "generate"), name="f1")
    return found


def _aggregation(use: MetricUse, base: Metric | None) -> str:
    given = use.aggregation
    if isinstance(given, TaskFunction):
        return f"{OWN_FUNCTION} {given.name}"
    name = _ALIASES.get(given, given) if given else None
    if base is None:
        if name is not None and name not in _NAMED:
            raise TaskError(
                f"metric {use.metric!r}: unknown aggregation {given!r}",
                f"known: {', '.join(_NAMED)}",
            )
        return "mean" if name is None else name
    own = base.aggregation
    if name is None and own == OWN_FUNCTION:
        raise TaskError(
            f"metric {use.metric!r} of a {base.kind} task gives a pair of answers, and nothing says"
            " how pairs become one number",
            "give it an `aggregation:` function, or use exact_match",
        )
    if name in (None, own) or (own == "mean" and name in _OVER_VALUES):
        return name or own
    if own in OVER_CLASSES and name in OVER_CLASSES:
        return str(name)
    if base.name == "brier_score" and name == "brier_score":
        return "mean"
    raise TaskError(
        f"metric {use.metric!r}: its values cannot be aggregated by {given!r}",
        f"leave `aggregation` out: it is {own}",
    )


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
            task's kind, and the message names the task's file; or a package that a metric needs is
            not installed.
    """
    found = problems(task)
    if found:
        file = f"{task.source}: " if task.source else ""
        raise TaskError(f"{file}{found[0].message}", found[0].hint) from found[0]
    for use in task.metrics:
        if use.function is None and task.process_results is None:
            lm_eval.check_installed(use.metric)
        if isinstance(use.aggregation, str):
            lm_eval.check_installed(use.aggregation)
    return [
        (name, used_metric(task, use)) for use in task.metrics for name in reported_names(task, use)
    ]


def tools_of(task: Task) -> dict[str, str]:
    """What a task's metrics leave to other programs: what is decided → the program, its version.

    Raises:
        TaskError: A program is not installed.
    """
    found: dict[str, str] = {}
    for use in task.metrics:
        if use.function is not None or task.process_results is not None:
            continue
        tools = used_metric(task, use).tools
        if tools is None:
            continue
        try:
            found.update(tools(task.language, use.options))
        except TaskError as error:
            raise TaskError(f"{task.name}: {error.message}", error.hint) from error
    return found


def problems(task: Task) -> list[TaskError]:
    """All that is wrong with a task's metrics, filters and their options, each with its remedy."""
    found: list[TaskError] = []
    for use in task.metrics:
        try:
            _check_metric(task, use)
        except TaskError as error:
            found.append(error)
    for filter_use in task.filters:
        for number in range(len(filter_use.steps)):
            try:
                filters.check(filter_use.steps[number : number + 1], task.repeats)
            except TaskError as error:
                where = f"{task.name}: {filter_use.name}"
                found.append(TaskError(f"{where}: {error.message}", error.hint))
        if not _choices_by_document(task):
            try:
                _check_choices(filter_use, task.num_choices, task.name)
            except TaskError as error:
                found.append(error)
    return found


def _check_metric(task: Task, use: MetricUse) -> None:
    metric = used_metric(task, use)
    if metric.kind != task.kind:
        raise TaskError(
            f"{task.name}: metric {use.metric!r} judges {metric.kind} tasks,"
            f" but this is a {task.kind} task"
        )
    if use.function is None and task.process_results is None:
        check_options(f"{task.name}: metric {use.metric!r}", use.options, metric.options)


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


def reference_checks(task: Task) -> list[Callable[[Sequence[str], str], None]]:
    """Checks of a document's references, which raise a DataError where a metric cannot use them."""
    checks = (used_metric(task, use).check for use in task.metrics)
    return list(dict.fromkeys(one for one in checks if one is not None))


def _choices_by_document(task: Task) -> bool:
    return bool(task.templates) and all(t.choices is not None for t in task.templates.values())


def _check_choices(use: FilterUse, num_choices: int | None, where: str) -> None:
    try:
        filters.check_choices(use.steps, num_choices)
    except TaskError as error:
        raise TaskError(f"{where}: {use.name}: {error.message}", error.hint) from error
