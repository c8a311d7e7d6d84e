"""What a report on learning curves holds: checkpoints, and a curve for each task and metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tenbin.analysis.document import to_json

Verdict = Literal["yes", "some", "no", "unknown"]
Reason = Literal[
    "too_few_documents", "one_checkpoint", "at_chance", "no_gain", "worse", "not_monotone"
]
ChanceOf = Literal["guessing", "one_answer"]


@dataclass(frozen=True, slots=True)
class CurveCheckpoint:
    """One step of the training."""

    step: int
    name: str
    """Its folder or revision."""
    fingerprint: str
    runs: tuple[str, ...]
    """Stored runs of it, the newest first."""
    date: str
    """Of its newest run."""


@dataclass(frozen=True, slots=True)
class CurveChange:
    """How a step differs from an earlier one, on the same documents."""

    since: int
    """The earlier step."""
    difference: float
    low: float | None
    """The 95 % interval of this difference alone."""
    high: float | None
    p_value: float
    """Corrected for all changes of the curve that were tested with it."""
    test: str
    shown: bool
    """Whether it is more than noise."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The score at one step."""

    step: int
    value: float
    """On the documents that all steps scored."""
    low: float | None
    """The 95 % interval of the score in itself."""
    high: float | None
    band_low: float | None
    """The band of the curve's shape; None without one."""
    band_high: float | None
    change: CurveChange | None
    """Since the step before; None for the first."""
    to_newest: CurveChange | None
    """The newest step compared with this one; None for the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSignal:
    """What a curve shows at this size of model."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    """Why the verdict is not yes."""
    chance: float | None
    """The score without any knowledge; None where there is no such score."""
    chance_of: ChanceOf | None
    """By guessing, or by always giving the most frequent answer."""
    above_chance: bool | None
    """Whether the newest step's interval lies above chance."""
    gain: float | None
    """From the first step to the newest; above 0 where it became better."""
    gain_shown: bool | None
    """Whether that is more than noise."""
    monotonicity: float | None
    """Rank correlation of score and step; 1 where every step is better than those before."""
    noise: float | None
    """Standard deviation of a checkpoint around the smooth curve."""
    gain_to_noise: float | None
    templates: int
    """Wordings of the task that were run."""
    template_agreement: float | None
    """Mean rank correlation of the curves of these wordings; None for one alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One metric of one task or group, step by step."""

    label: str
    section: str
    """The suite or group that brought it."""
    kind: Literal["task", "group"]
    id: str
    """Of the task or group, as the newest run names it."""
    metric: str
    unit: str
    top: float | None
    """The highest value there can be; None for perplexities and bits."""
    higher_is_better: bool
    task: str | None = None
    """Of a task, like the following; None for a group."""
    version: str | None = None
    template: str | None = None
    shots: int | None = None
    language: str | None = None
    n: int
    """Documents that all steps scored."""
    clusters: int
    reason: str | None
    """Why there are no bands and tests; None if there are."""
    points: tuple[CurvePoint, ...]
    """By step."""
    missing: Mapping[str, str]
    """Step → why it has no point."""
    last_change: int | None
    """The newest step that differs from the one before by more than noise."""
    same_since: int | None
    """The first step from which on none is shown to differ from the newest; None without tests."""
    signal: CurveSignal


@dataclass(frozen=True, slots=True)
class CurveReport:
    """What `tenbin report --curve` found."""

    tenbin_version: str
    schema_version: int
    checkpoints: tuple[CurveCheckpoint, ...]
    """By step."""
    curves: tuple[Curve, ...]
    notes: tuple[str, ...] = ()
    """What the reader should know of the runs."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Runs that have no place on a curve → why."""

    def to_json(self) -> dict[str, Any]:
        """What curve.json holds."""
        document: dict[str, Any] = to_json(self)
        return document
