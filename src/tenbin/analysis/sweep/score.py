"""A score of a sweep with its interval."""

from __future__ import annotations

from dataclasses import dataclass, field

from tenbin.analysis.document import ABSENT
from tenbin.statistics.intervals import Estimate
from tenbin.statistics.power import interval_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score with its 95 % interval."""

    value: float | None
    stderr: float | None
    low: float | None
    high: float | None
    reason: str | None = field(default=None, metadata=ABSENT)
    """Why there is no interval; None if there is one."""
    n: int


def score_of(found: Estimate) -> Score:
    """An estimate as reports show it."""
    interval = interval_of(found)
    return Score(
        value=found.value,
        stderr=found.stderr,
        low=interval.low,
        high=interval.high,
        reason=interval.reason,
        n=found.n,
    )
