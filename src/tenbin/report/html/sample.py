"""A sample as the page shows it: prompt in parts, answer, how the answer was read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from tenbin.report.html.model import PageOutcome, PageReading, PageSample
from tenbin.results.schema import CellConfig, MetricDetail, Sample, SampleOutcome

Filters = Mapping[str, Sequence[Mapping[str, object]]]
Explain = Callable[[Filters, str, str, int], list[PageReading]]
"""(filters of the task, generated text, language, number of choices) → steps of each filter."""

_SNIPPET = 140
RIGHT, WRONG, PARTLY, FAILED, MEASURED = "r", "w", "p", "f", "n"
"""A document under one metric: correct, wrong, partially correct, failed, or measured only."""
_PRESUMED_CHOICES = 4
"""Choices of a generation task in runs that did not record their number."""


def state_of(value: float | None, detail: MetricDetail) -> str:
    """Return the state letter of a document under a metric."""
    if value is None:
        return FAILED
    if detail.states("weight"):
        return MEASURED
    top = 100.0 if detail.unit == "%" else 1.0
    if value not in (0.0, top):
        return PARTLY if 0 < value < top else MEASURED
    return RIGHT if (value == top) == detail.higher_is_better else WRONG


def page_sample(sample: Sample, config: CellConfig, explain: Explain | None) -> PageSample:
    """Return everything that the page shows of a document."""
    parts, exact = prompt_parts(sample, config.fewshot_delimiter)
    several = sample.samples is not None and len(sample.samples) > 1
    failed = sample.failure_kind is not None
    return PageSample(
        document=sample.document,
        group=sample.group,
        item=sample.item,
        parts=parts,
        exact=exact,
        examples=sample.examples,
        choices=sample.choices,
        continuations=None if sample.continuations == sample.choices else sample.continuations,
        logprobs=_numbers(sample.logprobs),
        tokens=sample.token_counts,
        unconditional=_numbers(sample.unconditional_logprobs),
        picked_by=sample.picked_by,
        labels=sample.labels,
        label_logprobs=_numbers(sample.label_logprobs),
        added=sample.added,
        generated=sample.generated,
        finish=sample.finish,
        generated_tokens=sample.generated_tokens,
        thinking=sample.thinking,
        thinking_tokens=sample.thinking_tokens,
        thinking_end=sample.thinking_end,
        truncated=sample.truncated_tokens,
        stop=sample.stop,
        limit=sample.max_gen_toks,
        gold=sample.gold,
        target=sample.target,
        references=sample.references,
        dropped=sample.dropped_examples,
        rotation=sample.rotation,
        sampled=sample.samples if several else None,
        outcomes=[_outcome(one) for one in sample.outcomes],
        readings=_readings(sample, config.filters, explain),
        failure=(sample.failure_kind or "", sample.failure_message or "") if failed else None,
    )


def prompt_parts(sample: Sample, delimiter: str | None) -> tuple[list[tuple[str, str]], bool]:
    """Return the prompt cut into description, examples and question, and whether that is exact.

    Args:
        sample: The document.
        delimiter: The text between examples. The prompt of a run that did not record its parts is
            cut at the last one, which is right unless the question contains it.
    """
    text = sample.prompt or ""
    if turns := _messages(text):
        return turns, True
    if sample.parts:
        bounds = [0, *sample.parts, len(text)]
        kinds = ["d", *("e" for _ in sample.parts[:-1]), "q"]
        pieces = [text[a:b] for a, b in pairwise(bounds)]
        return [(k, piece) for k, piece in zip(kinds, pieces, strict=True) if piece], True
    if not sample.examples or not delimiter or delimiter not in text:
        return [("q", text)], not sample.examples
    cut = text.rindex(delimiter) + len(delimiter)
    return [("e", text[:cut]), ("q", text[cut:])], False


def _messages(text: str) -> list[tuple[str, str]]:
    """Return the parts of a prompt that was sent as chat messages; empty for any other prompt.

    Question and answer of an example are two messages and one part.
    """
    if not text.startswith(('[{"role":', '{"messages":[{"role":')):
        return []
    try:
        found = json.loads(text)
        # Variables of the chat template, if there are any, are beside the messages.
        messages = found["messages"] if isinstance(found, dict) else found
        beside = found["chat_template_kwargs"] if isinstance(found, dict) else {}
        written = [(turn["role"], f"[{turn['role']}]\n{turn['content']}") for turn in messages]
    except (ValueError, TypeError, KeyError):
        return []
    parts = [("d", f"[chat_template_kwargs]\n{json.dumps(beside)}")] if beside else []
    parts += [("d", shown) for role, shown in written if role == "system"]
    turns = [shown for role, shown in written if role != "system"]
    if not turns:
        return []
    examples = [turns[at : at + 2] for at in range(0, len(turns) - 1, 2)]
    return [*parts, *(("e", "\n\n".join(pair)) for pair in examples), ("q", turns[-1])]


def snippet(text: str | None, length: int = _SNIPPET) -> str:
    """Return the start of a text on one line."""
    line = " ".join((text or "")[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _outcome(outcome: SampleOutcome) -> PageOutcome:
    """Return a metric's outcome."""
    return PageOutcome(
        metric=outcome.metric,
        value=outcome.value,
        answer=_parts(outcome) or outcome.answer,
        predicted=outcome.predicted,
        weight=outcome.weight,
        values=outcome.values,
        answers=outcome.answers,
    )


def _parts(outcome: SampleOutcome) -> str | None:
    """Return the judged parts of a document, each with a mark; None where parts are not judged."""
    if outcome.aggregation != "pooled" or outcome.item is None:
        return None
    marks = {1.0: "✓", 0.0: "✗"}
    try:
        parts = [(name, float(value)) for name, value in json.loads(outcome.item)]
    except (ValueError, TypeError):  # not as tenbin writes it
        return None
    return "  ".join(f"{marks.get(value, f'{value:.2f}')} {name}" for name, value in parts)


def _numbers(values: Sequence[float | None] | None) -> list[float | str | None] | None:
    """Return numbers for JSON, which has no infinity: an impossible choice becomes `-inf`."""
    if values is None:
        return None
    return [value if value is None or math.isfinite(value) else str(value) for value in values]


def _readings(
    sample: Sample, filters: Filters, explain: Explain | None
) -> list[PageReading] | None:
    if explain is None or not filters or sample.generated is None:
        return None
    choices = sample.num_choices or len(sample.choices or ()) or _PRESUMED_CHOICES
    return explain(filters, sample.generated, str(sample.language), choices)
