"""Judge: the response to one document becomes outcomes, one for each reported metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenbin.errors import TaskError
from tenbin.metrics import functions
from tenbin.metrics.base import unscored
from tenbin.metrics.choice_outcomes import judge_given_answer, judge_picked, judge_scores
from tenbin.metrics.patterns import UnjudgedError
from tenbin.metrics.registry import find_metric, metric_of, reported_names
from tenbin.metrics.text_outcomes import judge_texts, read_texts
from tenbin.records import (
    Failure,
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
    if any([isinstance(one, Failure) for one in sampled]):  # noqa: C419, a third of the time
        return [
            unscored(prompt, name) for use in task.metrics for name in reported_names(task, use)
        ]
    kind = task.kind
    if task.process_results is not None:
        return _judge_by_function(task, prompt, sampled)
    if kind == "choice" and isinstance(response, Scores):
        return judge_scores(task, prompt, sampled, unconditional)
    if kind == "choice" and isinstance(response, Picked):
        return judge_picked(task, prompt, response)
    if kind == "loglikelihood" and isinstance(response, Scores):
        return judge_given_answer(task, prompt, response)
    if kind == "perplexity" and isinstance(response, Rolled):
        return [_judge_rolled(use, prompt, response) for use in task.metrics]
    texts = [one.text for one in sampled if isinstance(one, Text)]
    if kind == "generate" and len(texts) == len(sampled):
        return judge_texts(task, prompt, texts)
    raise TaskError(f"{task.name}: a {kind} task cannot be judged by {response!r}")


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


def _judge_by_function(task: Task, prompt: Prompt, sampled: Sequence[Response]) -> list[Outcome]:
    """What the task's `process_results` says, once for each filter."""
    if task.kind != "generate":
        return _processed(task, prompt, sampled, functions.results_of(sampled), "", None)
    texts = [one.text for one in sampled if isinstance(one, Text)]
    outcomes = []
    readings = read_texts(task, prompt, texts)
    endings = [f",{use.name}" for use in task.filters] or [""]
    for ending, reading in zip(endings, readings, strict=True):
        if isinstance(reading, Failure):
            outcomes += [unscored(prompt, f"{use.name}{ending}", reading) for use in task.metrics]
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
        return [unscored(prompt, f"{use.name}{ending}", error.failure) for use in task.metrics]
    outcomes = []
    for key, raw in given.items():
        name = f"{key}{ending}"
        metric = metric_of(task, Outcome(prompt.cell, prompt.document, name, None, source=key))
        outcome = functions.outcome_of(metric, name, prompt, raw, answer)
        if outcome is not None:
            outcomes.append(outcome)
    return outcomes
