"""Outcomes of choice tasks: scored choices, a choice that was named, and one given answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenbin.errors import TaskError
from tenbin.metrics.base import OVER_CLASSES, Choices, Metric, unscored
from tenbin.metrics.choice import acc, named_choice
from tenbin.metrics.registry import find_metric
from tenbin.records import (
    Failure,
    MetricUse,
    Outcome,
    Picked,
    Prompt,
    Response,
    Scores,
    Task,
    TaskFunction,
)

_MISSING_GOLD = -100
"""What lm-eval gives to an aggregation for a right answer that is not among the choices."""
_NO_GOLD = Failure("no_gold", "the right answer is not one of the choices")


def judge_scores(
    task: Task, prompt: Prompt, sampled: Sequence[Response], unconditional: Response | None
) -> list[Outcome]:
    """Judge choices by their log-likelihoods.

    Args:
        task: What was asked.
        prompt: The document as it was put.
        sampled: The scores of all choices, or of one choice for each of the prompt's contexts.
        unconditional: The choices scored without the prompt, where a metric needs them.
    """
    scores = _joined(prompt, sampled) if prompt.contexts else sampled[0]
    assert isinstance(scores, Scores)
    choices = _choices(prompt, scores)
    return [_judge_choices(use, prompt, choices, unconditional) for use in task.metrics]


def judge_picked(task: Task, prompt: Prompt, picked: Picked) -> list[Outcome]:
    """Judge the choice that a model named; to name none is wrong."""
    named = named_choice(picked, prompt.language)
    return [_judge_named(use, prompt, named) for use in task.metrics]


def judge_given_answer(task: Task, prompt: Prompt, scores: Scores) -> list[Outcome]:
    """Judge a given answer by its log-likelihood, or by whether greedy decoding would write it."""
    one = Choices((prompt.target or "",), scores.logprobs, (0,), scores.greedy)
    return [_judge_one(use, prompt, one) for use in task.metrics]


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
            return unscored(prompt, use.name)
        if not isinstance(unconditional, Scores):
            raise TaskError(
                f"{prompt.cell.id}: {use.metric} needs the choices' unconditional scores"
            )
        _check_count(prompt, choices.texts, unconditional)
        choices = replace(choices, unconditional=unconditional.logprobs)
    if metric.needs_golds:
        return _judge_against_golds(use, metric, prompt, choices)
    over_classes = metric.aggregation in OVER_CLASSES
    own_aggregation = isinstance(use.aggregation, TaskFunction)
    if prompt.gold is None and over_classes and not own_aggregation:
        return unscored(prompt, use.name, _NO_GOLD)
    predicted = metric.function(choices, **use.options)
    outcome = _choice_outcome(use, metric, prompt, predicted)
    if not own_aggregation:
        return outcome
    gold = _MISSING_GOLD if prompt.gold is None else prompt.gold
    return replace(outcome, item=(gold, predicted) if over_classes else outcome.value)


def _judge_against_golds(
    use: MetricUse, metric: Metric, prompt: Prompt, choices: Choices
) -> Outcome:
    """Where the value depends on more than which choice is taken."""
    golds = _golds(prompt)
    if not golds and metric.name != "exact_match":
        return unscored(prompt, use.name, _NO_GOLD)
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
    answer = None if predicted is None else prompt.choices[predicted]
    # By position: names would take a fifth of the time that judging a choice takes.
    return Outcome(
        prompt.cell, prompt.document, use.name, value, answer, predicted, prompt.gold, prompt.group
    )


def _golds(prompt: Prompt) -> tuple[int, ...]:
    """The right choices; none where lm-eval counts every answer as wrong."""
    if prompt.gold is None:
        return ()
    return prompt.golds or (prompt.gold,)
