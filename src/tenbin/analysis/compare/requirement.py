"""What a comparison must show, and whether it does: a verdict for continuous integration.

A verdict over several comparisons: all must pass. Each may be tested at its own level then, because
to pass where one of them should not, that very one must be wrong (an intersection-union test).
One that fails is enough, so failures are corrected for their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.analysis.compare.report import ComparedScore, Verdict
from tenbin.errors import ConfigError
from tenbin.statistics.power import LEVEL, POWER, documents_needed

KINDS = ("better", "no-worse-than:POINTS", "within:POINTS")


@dataclass(frozen=True, slots=True)
class Requirement:
    """What the other side must be, compared with the baseline."""

    kind: Literal["better", "no-worse-than", "within"]
    margin: float = 0.0
    """In points: hundredths of the scale. For `better` 0."""

    def __str__(self) -> str:
        """As the user writes it."""
        return self.kind if self.kind == "better" else f"{self.kind}:{self.margin:g}"


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """What one comparison says of the requirement."""

    verdict: Verdict
    documents_needed: int | None
    """Of an inconclusive one: documents that would decide it in four of five runs, if there is no
    difference (for `better`: if the observed one is true); None where that is not known."""


def parse_requirement(text: str) -> Requirement:
    """Read `better`, `no-worse-than:1.0` or `within:1.0`.

    Raises:
        ConfigError: It is neither.
    """
    kind, colon, written = text.strip().partition(":")
    if kind == "better" and not colon:
        return Requirement("better")
    if kind in ("no-worse-than", "within"):
        try:
            margin = float(written)
        except ValueError:
            margin = -1.0
        if 0 < margin <= 100:
            return Requirement("within" if kind == "within" else "no-worse-than", margin)
        raise ConfigError(
            f"--require {text}: takes a margin in points above 0", f"for example {kind}:1.0"
        )
    raise ConfigError(f"--require {text}: unknown", f"there are: {', '.join(KINDS)}")


def check_scales(requirement: Requirement, rows: Sequence[ComparedScore]) -> None:
    """Refuse margins of scores that have no points.

    Raises:
        ConfigError: A score has no highest value.
    """
    for row in rows:
        if row.top is None and requirement.margin:
            raise ConfigError(
                f"--require {requirement}: {row.metric} of {row.baseline.id} has no points, "
                "because it has no highest value",
                "name other scores with --metrics or --cells, or require `better`",
            )


def judge_row(row: ComparedScore, requirement: Requirement) -> RowVerdict:
    """Whether one comparison passes.

    It passes by its own 95 % interval (`better`: by its own test), and fails by the interval, or
    p-value, that is corrected for all comparisons.
    """
    sign = 1.0 if row.higher_is_better else -1.0
    if requirement.kind == "better":
        gain = sign * row.difference
        if row.reason is not None:
            return RowVerdict("inconclusive", None)
        if gain > 0 and row.p_value < LEVEL:
            return RowVerdict("pass", None)
        if gain < 0 and row.p_holm < LEVEL:
            return RowVerdict("fail", None)
        needed = documents_needed(row.difference, row.stderr, row.n) if gain > 0 else None
        return RowVerdict("inconclusive", needed)
    margin = requirement.margin * (row.top or 1.0) / 100
    if row.low is None or row.high is None or row.wide_low is None or row.wide_high is None:
        return RowVerdict("inconclusive", None)
    low, high = sorted((sign * row.low, sign * row.high))
    wide_low, wide_high = sorted((sign * row.wide_low, sign * row.wide_high))
    within = requirement.kind == "within"
    if low > -margin and (high < margin or not within):
        return RowVerdict("pass", None)
    if wide_high < -margin or (within and wide_low > margin):
        return RowVerdict("fail", None)
    # An interval stays within two margins four times out of five if it passes each nine out of ten.
    power = (1 + POWER) / 2 if within else POWER
    return RowVerdict("inconclusive", documents_needed(margin, row.stderr, row.n, power=power))


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """All must pass; one that fails is enough to fail."""
    if "fail" in verdicts:
        return "fail"
    return "pass" if all(one == "pass" for one in verdicts) else "inconclusive"
