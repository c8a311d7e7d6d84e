"""Judge by the Python functions of a trusted task, called as lm-eval calls them.

An exception in one of them fails the document with a reason, and is never a wrong answer.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.errors import TaskError
from tenbin.metrics.base import OVER_CLASSES, Metric
from tenbin.metrics.filters import Steps
from tenbin.metrics.patterns import UnjudgedError
from tenbin.metrics.steps import MISS, shown
from tenbin.metrics.translation import TRANSLATION, segment_statistics, sentence_score
from tenbin.records import Failure, Outcome, Prompt, Response, Rolled, Scores, TaskFunction, Text
from tenbin.records.quick import quick

_LONGEST_MESSAGE = 500


@quick
@dataclass(frozen=True, slots=True)
class Reading:
    """What a filter has read out of the texts of one document."""

    answers: Sequence[Any]
    """None where nothing could be read."""
    steps: Steps | None = None
    """Of the filter; None: there is none, and the texts stand as they are."""

    @property
    def single(self) -> bool:
        """Whether the filter takes one of the answers; else functions get the list."""
        return self.steps is None or any(name == "take_first" for name, _ in self.steps)

    @property
    def texts(self) -> list[Any]:
        """The answers as lm-eval has them, where a miss is a text."""
        return [MISS if answer is None else answer for answer in self.answers]

    @property
    def result(self) -> Any:
        """What lm-eval gives to a function."""
        return self.texts[0] if self.single else self.texts


def call(function: TaskFunction, *arguments: Any, **options: Any) -> Any:
    """Call a function of the task.

    Raises:
        UnjudgedError: It raised an exception.
    """
    try:
        return function(*arguments, **options)
    except Exception as error:
        raise _failed(function, f"{type(error).__name__}: {error}") from error


def _failed(function: object, reason: str) -> UnjudgedError:
    return UnjudgedError(Failure("task_function", f"{function}: {reason}"[:_LONGEST_MESSAGE]))


def call_metric(
    function: TaskFunction, options: Mapping[str, Any], prompt: Prompt, reading: Reading
) -> Any:
    """What a metric of the task says of an answer: a value, or values by name.

    It gets lists of one reference and one prediction; a function that takes other arguments gets
    the pair. Where the target is a list, the value is 1 if any of its entries gives something that
    is true.
    """
    references = prompt.references
    if not prompt.golds and len(references) <= 1:
        return _call_with(function, options, references[0] if references else "", reading.result)
    scores = []
    for reference in references:
        score = _call_with(function, options, reference, reading.result)
        scores.append(score.get(function.name) if isinstance(score, Mapping) else score)
    return 1.0 if any(scores) else 0.0


def _call_with(
    function: TaskFunction, options: Mapping[str, Any], reference: Any, result: Any
) -> Any:
    try:
        return function(references=[reference], predictions=[result], **options)
    except TypeError:
        return call(function, [reference, result])
    except Exception as error:
        raise _failed(function, f"{type(error).__name__}: {error}") from error


def results_of(sampled: Sequence[Response]) -> list[Any]:
    """The answers to a document without generated text, as `process_results` gets them."""
    if isinstance(sampled[0], Rolled):
        return [one.logprob for one in sampled if isinstance(one, Rolled)]
    return [
        pair
        for one in sampled
        if isinstance(one, Scores)
        for pair in zip(one.logprobs, one.greedy, strict=True)
    ]


def process(
    function: TaskFunction, prompt: Prompt, sampled: Sequence[Response], results: list[Any]
) -> Mapping[str, Any]:
    """What `process_results` says of a document, by metric.

    Raises:
        UnjudgedError: It raised an exception, or gave no mapping.
        TaskError: The model's answer is of a kind that it cannot be given.
    """
    if prompt.fields is None:
        raise TaskError(f"{prompt.cell.id}: document {prompt.document} was planned without its row")
    if not all(isinstance(one, Scores | Text | Rolled) for one in sampled):
        raise TaskError(
            f"{prompt.cell.id}: {function} needs log-likelihoods or texts, and this model names a"
            " choice"
        )
    given = call(function, dict(prompt.fields), results)
    if not isinstance(given, Mapping):
        raise _failed(function, f"gave {type(given).__name__}, not a value for each metric")
    return given


def outcome_of(
    metric: Metric, name: str, prompt: Prompt, raw: Any, answer: Any = None
) -> Outcome | None:
    """What a function said of a document, as the aggregation of its metric takes it.

    Args:
        metric: With the aggregation that the task gives it.
        name: The name it is reported under.
        prompt: The document.
        raw: What the function gave.
        answer: What was read as the model's answer.

    Returns:
        None where the aggregation leaves such a document out.
    """
    try:
        entries = _entries(metric, raw)
    except UnjudgedError as error:
        entries = {"value": None, "failure": error.failure}
    if entries is None:
        return None
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=name,
        answer=shown(answer),
        group=prompt.group,
        source=metric.name,
        **{"gold": prompt.gold, **entries},
    )


def _entries(metric: Metric, raw: Any) -> dict[str, Any] | None:
    """The entries of an outcome that the metric's aggregation takes."""
    aggregation = metric.aggregation
    if metric.aggregate is not None:
        _check_stored(metric, raw)
        return {"value": float(raw) if _is_number(raw) else 0.0, "item": raw}
    if aggregation == "nanmean" and _is_nan(raw):
        return None
    try:
        if aggregation in ("weighted_perplexity", "bits_per_byte"):
            logprob, weight = raw
            return {"value": _number(metric, logprob), "weight": _number(metric, weight)}
        if aggregation in OVER_CLASSES:
            gold, predicted = (int(one) for one in raw)
            return {"value": float(gold == predicted), "item": (gold, predicted)}
        if aggregation in TRANSLATION:
            return _translated(aggregation, *raw)
        if aggregation == "brier_score":
            gold, shares = raw
            return {"value": math.fsum((s - (at == gold)) ** 2 for at, s in enumerate(shares))}
    except (TypeError, ValueError) as error:
        raise _failed(metric.name, f"{aggregation} cannot use {raw!r}: {error}") from error
    return {"value": _number(metric, raw)}


def _translated(name: str, references: Any, answer: Any) -> dict[str, Any]:
    several = [references] if isinstance(references, str) else list(references)
    text = answer if isinstance(answer, str) else answer[0]
    item = segment_statistics(name, text, several)
    return {"value": sentence_score(name, item), "item": item}


def _check_stored(metric: Metric, raw: Any) -> None:
    """Refuse what could not be kept until all documents are judged."""
    try:
        pickle.dumps(raw)
    except Exception as error:
        raise _failed(metric.name, f"a {type(raw).__name__} cannot be stored: {error}") from error


def _is_number(raw: Any) -> bool:
    try:
        return not isinstance(raw, str) and math.isfinite(float(raw))
    except (TypeError, ValueError, OverflowError):
        return False


def _is_nan(raw: Any) -> bool:
    return isinstance(raw, float) and math.isnan(raw)


def _number(metric: Metric, raw: Any) -> float:
    if not _is_number(raw):
        raise _failed(metric.name, f"{metric.aggregation} of documents needs numbers, not {raw!r}")
    return float(raw)
