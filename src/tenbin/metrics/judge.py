"""Turn a response to one document into outcomes, one for each reported metric.

Knows tasks, prompts and responses; does not know how outcomes are summed up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

from tenbin.errors import TaskError
from tenbin.metrics import choice, filters, rolling
from tenbin.metrics.checking import reported_names
from tenbin.metrics.japanese import japanese_exact_match, japanese_f1
from tenbin.metrics.matching import UnjudgedError
from tenbin.metrics.picking import read_named
from tenbin.metrics.registry import NO_CHOICE, find_metric
from tenbin.metrics.steps import Answers
from tenbin.metrics.text import exact_match, format_failure
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

_CHOOSERS: Mapping[str, Callable[[Prompt, Scores], int]] = {
    "acc": choice.acc,
    "acc_norm": choice.acc_norm,
    "acc_norm_bytes": choice.acc_norm_bytes,
    "acc_norm_tokens": choice.acc_norm_tokens,
    # Metrics of the confusion matrix rest on the plain choice.
    "balanced_acc": choice.acc,
    "mcc": choice.acc,
    "macro_f1": choice.acc,
    # Among weighed choices one is always the likeliest.
    NO_CHOICE: choice.acc,
}


def judge(
    task: Task,
    prompt: Prompt,
    response: Response,
    unconditional: Response | None = None,
    further: Sequence[Response] = (),
) -> list[Outcome]:
    """Judge one document.

    Of several drawn answers each is judged, and the document's value is their mean: what one answer
    is expected to get. Answers to one document are no further documents, so an error that is
    computed over documents stays right.

    Args:
        task: What was asked, and how it is judged.
        prompt: The document as it was put.
        response: What came back.
        unconditional: The choices scored without the prompt, where a metric needs them.
        further: The second and later answers that were drawn.

    Returns:
        One outcome for each of `metric_names`, in that order. A failed document has the value None
        under every metric that needed the failed response; one failed answer of several fails it.
        An answer on which a pattern ran out of time fails under that filter or metric.

    Raises:
        TaskError: The response is not of the kind that the task asks for.
    """
    drawn = (response, *further)
    if any(isinstance(one, Failure) for one in drawn):
        return [
            _unscored(prompt, name) for use in task.metrics for name in reported_names(task, use)
        ]
    if task.kind == "choice" and isinstance(response, Picked):
        named = read_named(prompt, response)
        return [_judge_named(use, prompt, named) for use in task.metrics]
    if task.kind == "choice" and isinstance(response, Scores):
        return [_judge_choice(use, prompt, response, unconditional) for use in task.metrics]
    texts = [one.text for one in drawn if isinstance(one, Text)]
    if task.kind == "generate" and len(texts) == len(drawn):
        return _judge_texts(task, prompt, texts)
    if task.kind == "roll" and isinstance(response, Rolled):
        return [_judge_rolled(use, prompt, response) for use in task.metrics]
    raise TaskError(f"{task.name}: a {task.kind} task cannot be judged by {response!r}")


def _judge_choice(
    use: MetricUse, prompt: Prompt, scores: Scores, unconditional: Response | None
) -> Outcome:
    if prompt.gold is None or prompt.choices is None:
        raise TaskError(f"{prompt.cell.id}: document {prompt.document} has no gold choice")
    if use.metric == "acc_pmi":
        if isinstance(unconditional, Failure):
            return _unscored(prompt, use.name)
        if not isinstance(unconditional, Scores):
            raise TaskError(f"{prompt.cell.id}: acc_pmi needs the choices' unconditional scores")
        predicted = choice.acc_pmi(prompt, scores, unconditional)
    else:
        predicted = _CHOOSERS[find_metric(use.metric).name](prompt, scores)
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=use.name,
        value=0.0 if use.metric == NO_CHOICE else float(predicted == prompt.gold),
        answer=prompt.choices[predicted],
        predicted=predicted,
        gold=prompt.gold,
        group=prompt.group,
    )


def _judge_named(use: MetricUse, prompt: Prompt, named: int | None) -> Outcome:
    """A choice that was named. Where none was, the answer is wrong, and `no_choice` counts it."""
    if find_metric(use.metric).needs_likelihoods:
        raise TaskError(
            f"{prompt.cell.id}: {use.name} needs the likelihoods of the choices, and this model"
            " names one of them"
        )
    if prompt.gold is None or prompt.choices is None:
        raise TaskError(f"{prompt.cell.id}: document {prompt.document} has no gold choice")
    right = named == prompt.gold
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=use.name,
        value=float(named is None if use.metric == NO_CHOICE else right),
        answer=None if named is None else prompt.choices[named],
        predicted=named,
        gold=prompt.gold,
        group=prompt.group,
    )


def _judge_rolled(use: MetricUse, prompt: Prompt, rolled: Rolled) -> Outcome:
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=use.name,
        value=rolled.logprob,
        group=prompt.group,
        weight=float(rolling.UNITS[use.metric](prompt.text)),
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
    values = [_value(use.metric, use.options, answer, prompt.references) for answer in answers]
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


def _value(
    metric: str, options: Mapping[str, Any], answer: str | None, references: tuple[str, ...]
) -> float:
    if metric == "format_failure":
        return format_failure(answer)
    if metric == "exact_match":
        return exact_match(answer, references, **options)
    if answer is None:
        return 0.0
    if metric == "japanese_exact_match":
        return japanese_exact_match(answer, references)
    if metric == "japanese_f1":
        return japanese_f1(answer, references)
    raise TaskError(f"metric {metric!r} cannot judge generated text")


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
