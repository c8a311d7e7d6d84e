"""Judged documents as samples, samples back into outcomes, and the lengths of answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, get_args

from tenbin.records import (
    Cell,
    Failure,
    Outcome,
    Picked,
    Prompt,
    Response,
    Rolled,
    Scores,
    Text,
    ThinkingEnd,
)
from tenbin.results.schema import GenerationLengths, Sample, SampledAnswer, SampleOutcome

T = TypeVar("T")
Outcomes: TypeAlias = Mapping[tuple[str, str], Sequence[Outcome]]
"""The outcomes of a run, by task id and metric."""


def make_sample(
    prompt: Prompt,
    response: Response,
    bare: Response | None,
    outcomes: Sequence[Outcome],
    further: Sequence[Response] = (),
    aggregations: Mapping[str, str] | None = None,
) -> Sample:
    """One judged document as a row of samples.parquet.

    Args:
        prompt: The document as it was asked.
        response: Its answer.
        bare: The answer without the prompt, if one was asked for.
        outcomes: What the metrics say.
        further: The second and later sampled answers.
        aggregations: How each metric makes one number of the values of documents.
    """
    answers, cell = (response, *further), prompt.cell
    failure = failure_of((*answers, bare), outcomes)
    scores = _joined(answers) if prompt.contexts else response
    picked = response if isinstance(response, Picked) else None
    first = _answer(prompt, response)
    logprobs, token_counts = _likelihoods(scores)
    return Sample(
        id=cell.id,
        task=cell.task,
        version=cell.version,
        template=cell.template,
        language=prompt.language,
        shots=cell.shots,
        seed=cell.seed,
        document=prompt.document,
        row=prompt.row,
        item=prompt.item,
        group=prompt.group,
        prompt=prompt.text,
        contexts=list(prompt.contexts) or None,
        continuations=_listed(prompt.continuations),
        choices=_listed(prompt.choices),
        num_choices=prompt.num_choices,
        rotation=prompt.rotation or None,
        logprobs=logprobs,
        token_counts=token_counts,
        greedy=_listed(scores.greedy if isinstance(scores, Scores) else None),
        unconditional_logprobs=_listed(bare.logprobs if isinstance(bare, Scores) else None),
        picked_by=picked.way if picked else None,
        labels=_listed(picked.labels if picked else None),
        label_logprobs=_listed(picked.logprobs if picked else None),
        added=picked.added if picked else None,
        generated=picked.text if picked else first.text,
        finish=first.finish,
        generated_tokens=first.tokens,
        thinking=first.thinking,
        thinking_tokens=first.thinking_tokens,
        thinking_end=first.thinking_end,
        samples=[_answer(prompt, one) for one in answers] if prompt.sampling else None,
        truncated_tokens=getattr(response, "truncated", 0),
        stop=list(prompt.stop),
        max_gen_toks=prompt.max_gen_toks if prompt.kind == "generate" else None,
        gold=prompt.gold,
        golds=list(prompt.golds) or None,
        target=prompt.target,
        references=list(prompt.references),
        examples=list(prompt.examples),
        dropped_examples=prompt.dropped_examples,
        parts=list(prompt.parts),
        outcomes=[_outcome(one, aggregations or {}) for one in outcomes],
        failure_kind=failure.kind if failure else None,
        failure_message=failure.message if failure else None,
    )


def _listed(values: Sequence[T] | None) -> list[T] | None:
    """The same type that a file gives back, so that a fresh sample equals a stored one."""
    return list(values) if values is not None else None


def _joined(answers: Sequence[Response]) -> Response:
    """The scores of all contexts as one answer; the first answer where one of them has failed."""
    scores = [one for one in answers if isinstance(one, Scores)]
    if len(scores) < len(answers):
        return answers[0]
    return Scores(
        tuple(value for one in scores for value in one.logprobs),
        tuple(count for one in scores for count in one.token_counts),
        tuple(greedy for one in scores for greedy in one.greedy),
    )


def failure_of(
    responses: Sequence[Response | None], outcomes: Sequence[Outcome] = ()
) -> Failure | None:
    """Why a document failed: an answer that did not come, else one that could not be judged."""
    failed = (one for one in responses if isinstance(one, Failure))
    unjudged = (one.failure for one in outcomes if one.failure is not None)
    return next(failed, None) or next(unjudged, None)


def _likelihoods(response: Response) -> tuple[Sequence[float] | None, Sequence[int] | None]:
    """Log-likelihoods and token counts: one for each continuation, or one for a whole text."""
    if isinstance(response, Scores):
        return list(response.logprobs), list(response.token_counts)
    if isinstance(response, Rolled):
        return [response.logprob], [response.token_count]
    return None, None


def _answer(prompt: Prompt, response: Response) -> SampledAnswer:
    """A generated answer; all null if there is none.

    Thinking is null if it was not kept apart. Some servers keep it apart without being asked.
    """
    if not isinstance(response, Text):
        return SampledAnswer()
    if prompt.thinking is None and response.thinking_end == "none":
        return SampledAnswer(response.text, response.finish, response.token_count)
    return SampledAnswer(
        response.text,
        response.finish,
        response.token_count,
        response.thinking,
        response.thinking_tokens,
        response.thinking_end,
    )


def _outcome(outcome: Outcome, aggregations: Mapping[str, str]) -> SampleOutcome:
    return SampleOutcome(
        outcome.metric,
        outcome.value,
        outcome.answer,
        outcome.predicted,
        aggregations.get(outcome.metric),
        outcome.weight,
        list(outcome.values) or None,
        list(outcome.answers) or None,
        _item_text(outcome.item),
    )


def _item_text(item: Any) -> str | None:
    """As JSON; what JSON does not have is written as Python would print it."""
    if item is None:
        return None
    try:
        return json.dumps(item, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(repr(item), ensure_ascii=False)


def _plain(value: Any) -> Any:
    # NumPy's arrays and numbers.
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def outcomes_of(samples: Iterable[Sample]) -> dict[tuple[str, str], list[Outcome]]:
    """The outcomes of every task id and metric, in the order of the samples."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for sample in samples:
        cell = _cell(sample)
        for outcome in sample.outcomes:
            found.setdefault((sample.id, outcome.metric), []).append(
                Outcome(
                    cell,
                    sample.document,
                    outcome.metric,
                    outcome.value,
                    outcome.answer,
                    outcome.predicted,
                    sample.gold,
                    sample.group,
                    outcome.weight,
                    tuple(outcome.values or ()),
                    tuple(outcome.answers or ()),
                    item=json.loads(outcome.item) if outcome.item is not None else None,
                )
            )
    return found


def _cell(sample: Sample) -> Cell:
    cell = Cell(sample.task, sample.version, sample.template, sample.shots, sample.seed)
    mark = sample.id.removeprefix(cell.id)
    return Cell(cell.task, cell.version, cell.template, cell.shots, cell.seed, mark)


@dataclass(slots=True)
class Lengths:
    """Lengths of the answers of a cell, each sampled one counted; failures are left out."""

    _texts: int = 0
    _cut: int = 0
    _tokens: int = 0
    _thinking_tokens: int = 0
    _uncounted: bool = False
    _ends: Counter[str] = field(default_factory=Counter)

    def add(self, response: Response) -> None:
        """One more answer."""
        if not isinstance(response, Text):
            return
        self._texts += 1
        self._cut += response.finish == "length"
        self._tokens += response.token_count
        self._thinking_tokens += response.thinking_tokens
        self._uncounted |= bool(response.thinking) and not response.thinking_tokens
        self._ends[response.thinking_end] += 1

    def entry(self, thinks: bool) -> GenerationLengths:
        """Means over the answers.

        A server may keep thinking apart and count it among the tokens of the answer: then neither
        length is known.

        Args:
            thinks: Whether thinking was to be kept apart; its entries are null if it was not and
                no server did so by itself.
        """
        thinks = thinks or self._ends["none"] < self._texts
        return GenerationLengths(
            answers=self._texts,
            answer_tokens=self._mean(self._tokens),
            cut_answers=self._cut,
            thinking_tokens=self._mean(self._thinking_tokens) if thinks else None,
            thoughts={end: self._ends[end] for end in get_args(ThinkingEnd)} if thinks else None,
        )

    def _mean(self, total: int) -> float | None:
        return total / self._texts if self._texts and not self._uncounted else None
