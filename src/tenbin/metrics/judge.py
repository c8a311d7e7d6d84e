"""Judge: the response to one document becomes outcomes, one for each reported metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

from tenbin.errors import TaskError
from tenbin.metrics import filters, functions
from tenbin.metrics.base import LANGUAGE, OVER_CLASSES, Choices, Metric
from tenbin.metrics.choice import acc, named_choice
from tenbin.metrics.functions import Reading
from tenbin.metrics.patterns import UnjudgedError
from tenbin.metrics.registry import (
    find_metric,
    metric_of,
    reported_names,
    used_metric,
)
from tenbin.metrics.steps import shown
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
    TaskFunction,
    Text,
)

_NO_GOLD = Failure("no_gold", "the right answer is not one of the choices")


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
    if task.process_results is not None:
        return _judge_by_function(task, prompt, sampled)
    if task.kind == "choice" and isinstance(response, Picked):
        named = named_choice(response, prompt.language)
        return [_judge_named(use, prompt, named) for use in task.metrics]
    if task.kind == "choice" and isinstance(response, Scores):
        choices = _choices(prompt, _joined(prompt, sampled) if prompt.contexts else response)
        return [_judge_choices(use, prompt, choices, unconditional) for use in task.metrics]
    if task.kind == "loglikelihood" and isinstance(response, Scores):
        one = Choices((prompt.target or "",), response.logprobs, (0,), response.greedy)
        return [_judge_one(use, prompt, one) for use in task.metrics]
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


def _joined(prompt: Prompt, sampled: Sequence[Response]) -> Scores:
    """The scores of all choices, of which each context has one."""
    scores = [one for one in sampled if isinstance(one, Scores)]
    if len(scores) != len(prompt.contexts):
        raise TaskError(
            f"{prompt.cell.id}: document {prompt.document} has {len(prompt.contexts)} texts to"
            f" score, but {len(scores)} answers"
        )
    return Scores(
        tuple(one.logprobs[0] for one in scores),
        tuple(one.token_counts[0] for one in scores),
        tuple(one.greedy[0] for one in scores),
    )


def _judge_choices(
    use: MetricUse, prompt: Prompt, choices: Choices, unconditional: Response | None
) -> Outcome:
    metric = find_metric(use.metric, "choice")
    if metric.needs_unconditional:
        if isinstance(unconditional, Failure):
            return _unscored(prompt, use.name)
        if not isinstance(unconditional, Scores):
            raise TaskError(
                f"{prompt.cell.id}: {use.metric} needs the choices' unconditional scores"
            )
        _check_count(prompt, choices.texts, unconditional)
        choices = replace(choices, unconditional=unconditional.logprobs)
    if metric.needs_golds:
        return _judge_against_golds(use, metric, prompt, choices)
    if prompt.gold is None and metric.aggregation in OVER_CLASSES:
        return _unscored(prompt, use.name, _NO_GOLD)
    predicted = metric.function(choices, **use.options)
    outcome = _choice_outcome(use, metric, prompt, predicted)
    if not isinstance(use.aggregation, TaskFunction):
        return outcome
    over_classes = metric.aggregation in OVER_CLASSES
    return replace(outcome, item=(prompt.gold, predicted) if over_classes else outcome.value)


def _judge_against_golds(
    use: MetricUse, metric: Metric, prompt: Prompt, choices: Choices
) -> Outcome:
    """Where the value depends on more than which choice is taken."""
    golds = _golds(prompt)
    if not golds and metric.name != "exact_match":
        return _unscored(prompt, use.name, _NO_GOLD)
    item = metric.item(choices, golds) if metric.item else None
    value = metric.function(choices, golds) if item is None else metric.function(item)
    outcome = _choice_outcome(use, metric, prompt, acc(choices))
    if item is None and isinstance(use.aggregation, TaskFunction):
        item = value
    return replace(outcome, value=value, item=item)


def _judge_one(use: MetricUse, prompt: Prompt, choices: Choices) -> Outcome:
    """A given answer, by its log-likelihood or by whether greedy decoding would write it."""
    value = find_metric(use.metric, "loglikelihood").function(choices)
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=use.name,
        value=value,
        group=prompt.group,
        item=value if isinstance(use.aggregation, TaskFunction) else None,
    )


def _judge_named(use: MetricUse, prompt: Prompt, named: int | None) -> Outcome:
    """The outcome where a model names a choice; None if it named none, which is wrong."""
    metric = find_metric(use.metric, "choice")
    if metric.needs_likelihoods:
        raise TaskError(
            f"{prompt.cell.id}: {use.name} needs the log-likelihoods of the choices, and this model"
            " names one of them"
        )
    return _choice_outcome(use, metric, prompt, named)


def _choice_outcome(
    use: MetricUse, metric: Metric, prompt: Prompt, predicted: int | None
) -> Outcome:
    assert prompt.choices is not None
    if prompt.gold is not None and not prompt.golds:
        value = metric.value(predicted, prompt.gold)
    else:
        value = max((metric.value(predicted, gold) for gold in _golds(prompt)), default=0.0)
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=use.name,
        value=value,
        answer=None if predicted is None else prompt.choices[predicted],
        predicted=predicted,
        gold=prompt.gold,
        group=prompt.group,
    )


def _golds(prompt: Prompt) -> tuple[int, ...]:
    """The right choices; none where lm-eval counts every answer as wrong."""
    if prompt.gold is None:
        return ()
    return prompt.golds or (prompt.gold,)


def _judge_rolled(use: MetricUse, prompt: Prompt, rolled: Rolled) -> Outcome:
    length = find_metric(use.metric, "perplexity").function(prompt.text, **use.options)
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=use.name,
        value=rolled.logprob,
        group=prompt.group,
        weight=float(length),
    )


def _judge_texts(task: Task, prompt: Prompt, texts: Sequence[str]) -> list[Outcome]:
    readings = _readings(task, prompt, texts)
    return [
        outcome
        for use in task.metrics
        for name, reading in zip(reported_names(task, use), readings, strict=True)
        for outcome in _judge_reading(task, use, name, prompt, reading)
    ]


def _readings(task: Task, prompt: Prompt, texts: Sequence[str]) -> list[Reading | Failure]:
    """What each filter reads out of the texts; the texts themselves where there is none."""
    if not task.filters:
        return [Reading(texts)]
    return [_read(filter_use, prompt, texts) for filter_use in task.filters]


def _read(use: FilterUse, prompt: Prompt, texts: Sequence[str]) -> Reading | Failure:
    try:
        return Reading(
            filters.apply(use.steps, texts, prompt.language, prompt.num_choices, prompt.fields),
            any(name == "take_first" for name, _ in use.steps),
        )
    except UnjudgedError as error:
        return replace(error.failure, message=f"filter {use.name}: {error.failure.message}")


def _judge_reading(
    task: Task, use: MetricUse, name: str, prompt: Prompt, reading: Reading | Failure
) -> list[Outcome]:
    if isinstance(reading, Failure):
        return [_unscored(prompt, name, reading)]
    try:
        if use.function is not None:
            return _judge_by_metric_function(task, use, name, prompt, reading)
        return [_judge_answers(task, use, name, prompt, reading)]
    except UnjudgedError as error:
        message = f"metric {use.name}: {error.failure.message}"
        return [_unscored(prompt, name, replace(error.failure, message=message))]


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


def _judge_by_function(task: Task, prompt: Prompt, sampled: Sequence[Response]) -> list[Outcome]:
    """What the task's `process_results` says, once for each filter."""
    if task.kind != "generate":
        return _processed(task, prompt, sampled, functions.results_of(sampled), "", None)
    texts = [one.text for one in sampled if isinstance(one, Text)]
    outcomes = []
    readings = _readings(task, prompt, texts)
    endings = [f",{use.name}" for use in task.filters] or [""]
    for ending, reading in zip(endings, readings, strict=True):
        if isinstance(reading, Failure):
            outcomes += [_unscored(prompt, f"{use.name}{ending}", reading) for use in task.metrics]
            continue
        outcomes += _processed(task, prompt, sampled, [reading.result], ending, reading.answers[0])
    return outcomes


def _processed(
    task: Task,
    prompt: Prompt,
    sampled: Sequence[Response],
    results: list[Any],
    ending: str,
    answer: Any,
) -> list[Outcome]:
    assert task.process_results is not None
    try:
        given = functions.process(task.process_results, prompt, sampled, results)
    except UnjudgedError as error:
        return [_unscored(prompt, f"{use.name}{ending}", error.failure) for use in task.metrics]
    outcomes = []
    for key, raw in given.items():
        name = f"{key}{ending}"
        metric = metric_of(task, Outcome(prompt.cell, prompt.document, name, None, source=key))
        outcome = functions.outcome_of(metric, name, prompt, raw, answer)
        if outcome is not None:
            outcomes.append(outcome)
    return outcomes


def _judge_answers(
    task: Task, use: MetricUse, name: str, prompt: Prompt, reading: Reading
) -> Outcome:
    metric = used_metric(task, use)
    if metric.item is not None:
        return _judge_item(metric, name, prompt, reading)
    answers = reading.answers
    options = use.options
    if LANGUAGE in metric.options:
        options = {LANGUAGE: prompt.language, **options}
    values = [
        metric.unread
        if answer is None
        else metric.function(shown(answer), prompt.references, **options)
        for answer in answers
    ]
    several = len(values) > 1
    value = fsum(values) / len(values)
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=name,
        value=value,
        answer=shown(answers[0]),
        group=prompt.group,
        values=tuple(values) if several else (),
        answers=tuple(map(shown, answers)) if several else (),
        item=value if metric.aggregate is not None else None,
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
