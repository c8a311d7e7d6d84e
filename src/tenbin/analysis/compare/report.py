"""The records of a comparison: what `tenbin compare` prints, writes and gives in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenbin.analysis.compare.comparability import Difference
from tenbin.analysis.document import ABSENT, to_json
from tenbin.statistics.paired import PairedDifference


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run that took part."""

    name: str
    model: Mapping[str, object]
    fingerprint: str
    date: str
    tenbin_version: str | None
    profile: str | None


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """A cell that took part: the number of its run, and its task id."""

    run: int
    id: str


@dataclass(frozen=True, slots=True)
class BothSides:
    """A number of the baseline and of the other side."""

    baseline: float
    other: float


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """What one side made of a document."""

    value: float
    answer: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """A document whose value differs between the sides."""

    document: str
    better: bool
    """Whether the other side is better."""
    target: str | None
    """The right answer."""
    baseline: JudgedAnswer
    other: JudgedAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricComparison(PairedDifference):
    """One metric of two cells, on the documents that both scored; the other less the baseline."""

    baseline: ComparedCell
    other: ComparedCell
    metric: str
    unit: str
    top: float | None
    """The highest value a document can have; None for perplexities."""
    higher_is_better: bool
    reason: str | None = field(default=None, metadata=ABSENT)
    """Why there is no interval; None if there is one."""
    value: BothSides
    left_out: BothSides
    """Documents of each side that the other did not score."""
    differences: tuple[Difference, ...]
    """What the cells do not have in common, and was allowed."""
    changes: tuple[Change, ...]
    """The largest changes first."""
    p_holm: float
    """The p-value corrected for all comparisons, after Holm."""


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """What `tenbin compare` found."""

    tenbin_version: str
    schema_version: int
    runs: tuple[ComparedRun, ...]
    correction: str
    tests: int
    comparisons: tuple[MetricComparison, ...]
    unmatched: Mapping[str, list[str]]
    """Run name → ids that took no part."""
    not_compared: Mapping[str, list[str]] | None = field(default=None, metadata=ABSENT)
    """Task id → metrics that only a function of the task can aggregate; None if there are none."""

    def to_json(self) -> dict[str, Any]:
        """What `tenbin compare --format json` prints."""
        document: dict[str, Any] = to_json(self)
        return document
