"""The records of a comparison: what `tenbin compare` prints, writes and gives in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tenbin.analysis.compare.comparability import Difference
from tenbin.analysis.document import ABSENT, to_json
from tenbin.statistics.paired import PairedDifference

Verdict = Literal["pass", "fail", "inconclusive"]


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
class ComparedScore(PairedDifference):
    """A score on both sides, on the documents that both scored; the other less the baseline."""

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
    """What the sides do not have in common, and was allowed."""
    correlation: float | None
    """Between the two sides over documents; None where one side's do not vary."""
    wide_low: float | None
    """The interval that holds for all comparisons of tasks, or of groups, at once."""
    wide_high: float | None
    p_holm: float
    """The p-value corrected for all comparisons of tasks, or of groups, after Holm."""
    verdict: Verdict | None = field(default=None, metadata=ABSENT)
    """Of a requirement: `pass`, `fail` or `inconclusive`; None if nothing is required."""
    documents_needed: int | None = field(default=None, metadata=ABSENT)
    """Documents that would decide an inconclusive one; None where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricComparison(ComparedScore):
    """One metric of two cells."""

    changes: tuple[Change, ...]
    """The largest changes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupComparison(ComparedScore):
    """The mean of a group in two runs, over the documents of all its members."""

    weighting: str
    """How members are weighted, in words."""
    members: tuple[str, ...]
    """Ids of its tasks in the baseline."""


@dataclass(frozen=True, slots=True)
class RequirementReport:
    """What was required of the comparisons, and what they say together."""

    required: str
    verdict: Verdict


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
    groups: tuple[GroupComparison, ...] | None = field(default=None, metadata=ABSENT)
    """Groups, corrected as a family of their own; None if there are none."""
    groups_not_compared: Mapping[str, str] | None = field(default=None, metadata=ABSENT)
    """Group → why it is not compared; None if there is none."""
    requirement: RequirementReport | None = field(default=None, metadata=ABSENT)
    """What was required; None if nothing was."""

    def to_json(self) -> dict[str, Any]:
        """What `tenbin compare --format json` prints."""
        document: dict[str, Any] = to_json(self)
        return document
