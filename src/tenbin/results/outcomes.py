"""Outcomes of rows as plain values, for callers that do not take `Sample` yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tenbin.records import Outcome
from tenbin.results import samples as typed
from tenbin.results.schema import Sample


def outcomes_of(samples: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[Outcome]]:
    """The outcomes of every task id and metric, in the order of the samples."""
    return typed.outcomes_of(Sample.from_json(row) for row in samples)
