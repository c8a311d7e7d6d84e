"""Outcomes of generated texts: what filters read out of them, judged by metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum

from tenbin.metrics import filters, functions
from tenbin.metrics.base import CLASSES, LANGUAGE, OVER_CLASSES, POOLED, Metric, unscored
from tenbin.metrics.functions import Reading
from tenbin.metrics.patterns import UnjudgedError
from tenbin.metrics.registry import reported_names, used_metric
from tenbin.metrics.steps import shown
from tenbin.records import Failure, FilterUse, MetricUse, Outcome, Prompt, Task

NO_CLASS = -1
"""In place of a class where none could be read, as `tenbin.statistics` counts it."""


def judge_texts(task: Task, prompt: Prompt, texts: Sequence[str]) -> list[Outcome]:
    """Judge the texts that a model wrote: one, or several that were sampled."""
    readings = read_texts(task, prompt, texts)
    return [
        outcome
        for use in task.metrics
        for name, reading in zip(reported_names(task, use), readings, strict=True)
        for outcome in _judge_reading(task, use, name, prompt, reading)
    ]


def read_texts(task: Task, prompt: Prompt, texts: Sequence[str]) -> list[Reading | Failure]:
    """What each filter reads out of the texts; the texts themselves where there is none."""
    if not task.filters:
        return [Reading(texts)]
    return [_read(filter_use, prompt, texts) for filter_use in task.filters]


def _read(use: FilterUse, prompt: Prompt, texts: Sequence[str]) -> Reading | Failure:
    try:
        return Reading(
            filters.apply(use.steps, texts, prompt.language, prompt.num_choices, prompt.fields),
            use.steps,
        )
    except UnjudgedError as error:
        return replace(error.failure, message=f"filter {use.name}: {error.failure.message}")


def _judge_reading(
    task: Task, use: MetricUse, name: str, prompt: Prompt, reading: Reading | Failure
) -> list[Outcome]:
    if isinstance(reading, Failure):
        return [unscored(prompt, name, reading)]
    try:
        if use.function is not None:
            return _judge_by_metric_function(task, use, name, prompt, reading)
        return [_judge_answers(task, use, name, prompt, reading)]
    except UnjudgedError as error:
        message = f"metric {use.name}: {error.failure.message}"
        return [unscored(prompt, name, replace(error.failure, message=message))]


def _judge_by_metric_function(
    task: Task, use: MetricUse, name: str, prompt: Prompt, reading: Reading
) -> list[Outcome]:
    """The outcome of the task's own metric; several where it gives values by name."""
    assert use.function is not None
    metric = used_metric(task, use)
    given = functions.call_metric(use.function, use.options, prompt, reading)
    _, comma, filter_name = name.partition(",")
    values = given if isinstance(given, Mapping) else {use.name: given}
    found = (
        functions.outcome_of(metric, f"{key}{comma}{filter_name}", prompt, raw, reading.answers[0])
        for key, raw in values.items()
    )
    return [one for one in found if one is not None]


def _judge_answers(
    task: Task, use: MetricUse, name: str, prompt: Prompt, reading: Reading
) -> Outcome:
    metric = used_metric(task, use)
    if metric.aggregation == POOLED:
        return _judge_parts(use, metric, name, prompt, reading)
    if metric.item is not None:
        return _judge_item(metric, name, prompt, reading)
    if metric.aggregation in OVER_CLASSES and metric.aggregate is None:
        return _judge_class(use, name, prompt, reading)
    answers = [shown(answer) for answer in reading.answers]
    options = use.options
    if LANGUAGE in metric.options:
        options = {LANGUAGE: prompt.language, **options}
    values = [
        metric.unread if answer is None else metric.function(answer, prompt.references, **options)
        for answer in answers
    ]
    value = fsum(values) / len(values)
    several = len(values) > 1
    return Outcome(
        prompt.cell,
        prompt.document,
        name,
        value,
        answers[0],
        group=prompt.group,
        values=tuple(values) if several else (),
        answers=tuple(answers) if several else (),
        item=value if metric.aggregate is not None else None,
    )


def _judge_class(use: MetricUse, name: str, prompt: Prompt, reading: Reading) -> Outcome:
    """The class that an answer gives; of several sampled answers, which make no class, the first.

    What is none of the classes counts as unread.
    """
    classes = list(use.options[CLASSES])
    if prompt.references[0] not in classes:
        listed = ", ".join(classes)
        message = f"the right answer {prompt.references[0]!r} is none of the classes: {listed}"
        return unscored(prompt, name, Failure("no_gold", message))
    gold = classes.index(prompt.references[0])
    answer = shown(reading.answers[0])
    predicted = classes.index(answer) if answer in classes else NO_CLASS
    return Outcome(
        prompt.cell,
        prompt.document,
        name,
        float(predicted == gold),
        answer,
        group=prompt.group,
        item=(gold, predicted),
    )


def _judge_item(metric: Metric, name: str, prompt: Prompt, reading: Reading) -> Outcome:
    """Where a corpus-level aggregation takes more of a document than a value."""
    assert metric.item is not None
    over_texts = metric.aggregate is None
    result = reading.texts[0] if over_texts else reading.result
    item = metric.item(result, prompt.references)
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=name,
        value=metric.function(item),
        answer=shown(reading.answers[0]),
        group=prompt.group,
        item=item,
    )


def _judge_parts(
    use: MetricUse, metric: Metric, name: str, prompt: Prompt, reading: Reading
) -> Outcome:
    """Where parts of a document are judged; of several answers, each part has its mean value."""
    assert metric.item is not None
    answers = [shown(answer) for answer in reading.answers]
    judged = [metric.item(answer or "", prompt.references, **use.options) for answer in answers]
    parts = [
        (of_part[0][0], fsum(value for _, value in of_part) / len(of_part))
        for of_part in zip(*judged, strict=True)
    ]
    several = len(answers) > 1
    return Outcome(
        prompt.cell,
        prompt.document,
        name,
        metric.function(parts, **use.options),
        answers[0],
        group=prompt.group,
        values=tuple(metric.function(one, **use.options) for one in judged) if several else (),
        answers=tuple(answers) if several else (),
        item=parts,
    )
