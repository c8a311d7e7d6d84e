"""Tables of documents for trackers: one for each task, the first so many of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from tenbin.results.schema import Sample

Value: TypeAlias = "str | int | float | None"
READ = (
    "document", "item", "language", "prompt", "choices", "target", "references", "generated",
    "thinking", "outcomes", "failure_kind", "failure_message",
)  # fmt: skip
"""Columns of the stored samples that a table is made of."""
_COLUMNS = (
    "document", "language", "item", "prompt", "choices", "target", "references", "answer",
    "generated", "thinking", "failure",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SampleTable:
    """Documents of one task."""

    id: str
    columns: tuple[str, ...]
    """Those of every table, and one for each metric."""
    rows: list[list[Value]]


def sample_tables(samples: Iterable[Sample], most: int) -> Iterator[SampleTable]:
    """A table for each task.

    Args:
        samples: Those of a run, task by task.
        most: Documents of a task; the first ones.
    """
    if not most:
        return
    for id, documents in groupby(samples, key=attrgetter("id")):
        # The others of the task are passed over, not kept.
        kept = [one for number, one in enumerate(documents) if number < most]
        metrics = dict.fromkeys(outcome.metric for one in kept for outcome in one.outcomes)
        rows = [[*_described(one), *_values(one, metrics)] for one in kept]
        yield SampleTable(id, (*_COLUMNS, *metrics), rows)


def _described(sample: Sample) -> list[Value]:
    failure = sample.failure_kind and f"{sample.failure_kind}: {sample.failure_message}"
    return [
        sample.document,
        sample.language,
        sample.item,
        sample.prompt,
        _listed(sample.choices),
        sample.target,
        _listed(sample.references),
        next((one.answer for one in sample.outcomes if one.answer is not None), None),
        sample.generated,
        sample.thinking,
        failure,
    ]


def _listed(texts: Iterable[str] | None) -> str | None:
    found = list(texts or ())
    return json.dumps(found, ensure_ascii=False) if found else None


def _values(sample: Sample, metrics: Iterable[str]) -> list[Value]:
    found = {one.metric: one.value for one in sample.outcomes}
    return [found.get(metric) for metric in metrics]
