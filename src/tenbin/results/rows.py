"""A judged document as plain values: the row that it is in samples.parquet.

Knows prompts, answers and outcomes; knows no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.records import (
    Failure,
    Outcome,
    Picked,
    Prompt,
    Response,
    Rolled,
    Scores,
    Text,
)


def sample_row(
    prompt: Prompt,
    response: Response,
    bare: Response | None,
    outcomes: Sequence[Outcome],
    further: Sequence[Response] = (),
    aggregations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One document, ready for a table.

    Args:
        prompt: The document as it was put.
        response: Its answer.
        bare: The answer without the prompt, where one was asked for.
        outcomes: What the metrics say.
        further: The second and later answers that were drawn.
        aggregations: How each metric makes one number of the values of documents.
    """
    drawn = (response, *further)
    failure = failure_of((*drawn, bare), outcomes)
    return {
        **_identity(prompt),
        "prompt": prompt.text,
        "continuations": _listed(prompt.continuations),
        "choices": _listed(prompt.choices),
        "num_choices": prompt.num_choices,
        **_chosen(response, bare),
        **_written(prompt, drawn),
        "truncated_tokens": getattr(response, "truncated", 0),
        **_asked(prompt),
        "outcomes": [_outcome(one, aggregations or {}) for one in outcomes],
        "failure_kind": failure.kind if failure else None,
        "failure_message": failure.message if failure else None,
    }


def failure_of(
    responses: Sequence[Response | None], outcomes: Sequence[Outcome] = ()
) -> Failure | None:
    """Why a document failed: an answer that did not come, else one that could not be judged."""
    failed = (one for one in responses if isinstance(one, Failure))
    unjudged = (one.failure for one in outcomes if one.failure is not None)
    return next(failed, None) or next(unjudged, None)


def _identity(prompt: Prompt) -> dict[str, Any]:
    cell = prompt.cell
    return {
        "id": cell.id,
        "task": cell.task,
        "version": cell.version,
        "template": cell.template,
        "language": prompt.language,
        "shots": cell.shots,
        "seed": cell.seed,
        "document": prompt.document,
        "row": prompt.row,
        "item": prompt.item,
        "group": prompt.group,
    }


def _chosen(response: Response, bare: Response | None) -> dict[str, Any]:
    """Choices that were weighed or named; nulls where there were none."""
    scores = response if isinstance(response, Scores) else None
    picked = response if isinstance(response, Picked) else None
    logprobs, token_counts = _weighed(response)
    return {
        "logprobs": logprobs,
        "token_counts": token_counts,
        "greedy": _listed(scores.greedy if scores else None),
        "unconditional_logprobs": _listed(bare.logprobs if isinstance(bare, Scores) else None),
        "picked_by": picked.way if picked else None,
        "labels": _listed(picked.labels if picked else None),
        "label_logprobs": _listed(picked.logprobs if picked else None),
        "added": picked.added if picked else None,
    }


def _written(prompt: Prompt, drawn: Sequence[Response]) -> dict[str, Any]:
    """What was written, the first answer by itself; nulls where nothing was."""
    first = drawn[0]
    text = first if isinstance(first, Text) else None
    return {
        "generated": first.text if isinstance(first, Text | Picked) else None,
        "finish": text.finish if text else None,
        "generated_tokens": text.token_count if text else None,
        **_thought(prompt, text),
        "samples": [_drawn_answer(prompt, one) for one in drawn] if prompt.sampling else None,
    }


def _asked(prompt: Prompt) -> dict[str, Any]:
    """How it was asked, and what would have been right."""
    return {
        "stop": list(prompt.stop),
        "max_gen_toks": prompt.max_gen_toks if prompt.kind == "generate" else None,
        "gold": prompt.gold,
        "target": prompt.target,
        "references": list(prompt.references),
        "examples": list(prompt.examples),
        "dropped_examples": prompt.dropped_examples,
        "parts": list(prompt.parts),
    }


def _outcome(outcome: Outcome, aggregations: Mapping[str, str]) -> dict[str, Any]:
    return {
        "metric": outcome.metric,
        "value": outcome.value,
        "answer": outcome.answer,
        "predicted": outcome.predicted,
        "aggregation": aggregations.get(outcome.metric),
        "weight": outcome.weight,
        "values": list(outcome.values) or None,
        "answers": list(outcome.answers) or None,
    }


def _weighed(response: Response) -> tuple[list[float] | None, list[int] | None]:
    """Log-likelihoods and token counts: one a continuation, or one for a whole text."""
    if isinstance(response, Scores):
        return list(response.logprobs), list(response.token_counts)
    if isinstance(response, Rolled):
        return [response.logprob], [response.token_count]
    return None, None


def _thought(prompt: Prompt, text: Text | None) -> dict[str, Any]:
    """What was thought before an answer; nulls where thoughts were not kept apart.

    Some servers keep them apart without being asked.
    """
    kept = text
    if text is not None and prompt.thinking is None and text.thinking_end == "none":
        kept = None
    return {
        "thinking": kept.thinking if kept else None,
        "thinking_tokens": kept.thinking_tokens if kept else None,
        "thinking_end": kept.thinking_end if kept else None,
    }


def _drawn_answer(prompt: Prompt, response: Response) -> dict[str, Any]:
    """One of the answers that were drawn; nulls where it failed."""
    text = response if isinstance(response, Text) else None
    return {
        "text": text.text if text else None,
        "finish": text.finish if text else None,
        "tokens": text.token_count if text else None,
        **_thought(prompt, text),
    }


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return list(values) if values is not None else None
