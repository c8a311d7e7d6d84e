"""Judge: the response to one document becomes outcomes, one for each reported metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import fsum

from tenbin.errors import TaskError
from tenbin.metrics import filters
from tenbin.metrics.base import Choices, Metric
from tenbin.metrics.choice import named_choice
from tenbin.metrics.patterns import UnjudgedError
from tenbin.metrics.registry import find_metric, reported_names
from tenbin.metrics.steps import Answers
from tenbin.records import (
    Failure,
    FilterUse,
    MetricUse,
    Outcome,
    Picked,
    Prompt,
    Response,
    Rolled,
    Scores,
    Task,
    Text,
)


def judge(
    task: Task,
    prompt: Prompt,
    response: Response,
    unconditional: Response | None = None,
    further: Sequence[Response] = (),
) -> list[Outcome]:
    """Judge one document.

    Of several sampled answers each is judged, and the document's value is their mean: what one
    answer is expected to get. Answers to one document are no further documents, so an error that is
    computed over documents stays right.

    Args:
        task: What was asked, and how it is judged.
        prompt: The document as it was put.
        response: What came back.
        unconditional: The choices scored without the prompt, where a metric needs them.
        further: The second and later answers that were sampled.

    Returns:
        One outcome for each of `metric_names`, in that order. A failed document has the value None
        under every metric that needed the failed response; one failed answer of several fails it.
        An answer on which a pattern ran out of time fails under that filter or metric.

    Raises:
        TaskError: The response is not of the kind that the task asks for.
    """
    sampled = (response, *further)
    if any(isinstance(one, Failure) for one in sampled):
        return [
            _unscored(prompt, name) for use in task.metrics for name in reported_names(task, use)
        ]
    if task.kind == "choice" and isinstance(response, Picked):
        named = named_choice(response, prompt.language)
        return [_judge_named(use, prompt, named) for use in task.metrics]
    if task.kind == "choice" and isinstance(response, Scores):
        choices = _choices(prompt, response)
        return [_judge_choices(use, prompt, choices, unconditional) for use in task.metrics]
    texts = [one.text for one in sampled if isinstance(one, Text)]
    if task.kind == "generate" and len(texts) == len(sampled):
        return _judge_texts(task, prompt, texts)
    if task.kind == "perplexity" and isinstance(response, Rolled):
        return [_judge_rolled(use, prompt, response) for use in task.metrics]
    raise TaskError(f"{task.name}: a {task.kind} task cannot be judged by {response!r}")


def _choices(prompt: Prompt, scores: Scores) -> Choices:
    if not prompt.choices:
        raise TaskError(
            f"{prompt.cell.id}: document {prompt.document} has no choices to choose from",
            "give the template `doc_to_choice`, or use a metric for generated text",
        )
    _check_count(prompt, prompt.choices, scores)
    return Choices(prompt.choices, scores.logprobs, scores.token_counts, scores.greedy)


def _check_count(prompt: Prompt, choices: Sequence[str], scores: Scores) -> None:
    if len(scores.logprobs) != len(choices):
        raise TaskError(
            f"{prompt.cell.id}: document {prompt.document} has {len(choices)} choices"
            f" but {len(scores.logprobs)} scores"
        )


def _judge_choices(
    use: MetricUse, prompt: Prompt, choices: Choices, unconditional: Response | None
) -> Outcome:
    metric = find_metric(use.metric)
    if metric.needs_unconditional:
        if isinstance(unconditional, Failure):
            return _unscored(prompt, use.name)
        if not isinstance(unconditional, Scores):
            raise TaskError(
                f"{prompt.cell.id}: {use.metric} needs the choices' unconditional scores"
            )
        _check_count(prompt, choices.texts, unconditional)
        choices = replace(choices, unconditional=unconditional.logprobs)
    predicted = metric.function(choices, **use.options)
    return _choice_outcome(use, metric, prompt, predicted)


def _judge_named(use: MetricUse, prompt: Prompt, named: int | None) -> Outcome:
    """The outcome where a model names a choice; None if it named none, which is wrong."""
    metric = find_metric(use.metric)
    if metric.needs_likelihoods:
        raise TaskError(
            f"{prompt.cell.id}: {use.name} needs the log-likelihoods of the choices, and this model"
            " names one of them"
        )
    return _choice_outcome(use, metric, prompt, named)


def _choice_outcome(
    use: MetricUse, metric: Metric, prompt: Prompt, predicted: int | None
) -> Outcome:
    if prompt.gold is None or prompt.choices is None:
        raise TaskError(f"{prompt.cell.id}: document {prompt.document} has no gold choice")
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=use.name,
        value=metric.value(predicted, prompt.gold),
        answer=None if predicted is None else prompt.choices[predicted],
        predicted=predicted,
        gold=prompt.gold,
        group=prompt.group,
    )


def _judge_rolled(use: MetricUse, prompt: Prompt, rolled: Rolled) -> Outcome:
    length = find_metric(use.metric).function(prompt.text, **use.options)
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=use.name,
        value=rolled.logprob,
        group=prompt.group,
        weight=float(length),
    )


def _judge_texts(task: Task, prompt: Prompt, texts: Sequence[str]) -> list[Outcome]:
    readings: list[Answers | Failure] = [
        _read(filter_use, prompt, texts) for filter_use in task.filters
    ] or [texts]
    return [
        _judge_reading(use, name, prompt, reading)
        for use in task.metrics
        for name, reading in zip(reported_names(task, use), readings, strict=True)
    ]


def _read(use: FilterUse, prompt: Prompt, texts: Sequence[str]) -> Answers | Failure:
    try:
        return filters.apply(use.steps, texts, prompt.language, prompt.num_choices)
    except UnjudgedError as error:
        return replace(error.failure, message=f"filter {use.name}: {error.failure.message}")


def _judge_reading(
    use: MetricUse, name: str, prompt: Prompt, reading: Answers | Failure
) -> Outcome:
    if isinstance(reading, Failure):
        return _unscored(prompt, name, reading)
    try:
        return _judge_answers(use, name, prompt, reading)
    except UnjudgedError as error:
        message = f"metric {use.name}: {error.failure.message}"
        return _unscored(prompt, name, replace(error.failure, message=message))


def _judge_answers(use: MetricUse, name: str, prompt: Prompt, answers: Answers) -> Outcome:
    metric = find_metric(use.metric)
    values = [
        metric.unread
        if answer is None
        else metric.function(answer, prompt.references, **use.options)
        for answer in answers
    ]
    several = len(values) > 1
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=name,
        value=fsum(values) / len(values),
        answer=answers[0],
        group=prompt.group,
        values=tuple(values) if several else (),
        answers=tuple(answers) if several else (),
    )


def _unscored(prompt: Prompt, name: str, failure: Failure | None = None) -> Outcome:
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=name,
        value=None,
        gold=prompt.gold,
        group=prompt.group,
        failure=failure,
    )
