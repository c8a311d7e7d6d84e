"""Numbers of a table in one unit: shares from 0 to 1, or per cent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.report.html.summary import score_interval
from tenbin.results.schema import MetricScore

Unit = Literal["percent", "share", "none"]
"""What stored values are: from 0 to 100, from 0 to 1, or neither, such as perplexities."""

_SHARES = ("", "mean", "nanmean", "median", "balanced_acc", "macro_f1", "f1", "pooled")
"""Aggregations whose result is a share if values are; earlier versions do not name any."""
_NO_SHARES = ("brier_score", "likelihood")
"""Metrics with a bound other than 1."""
_HUGE = 1e6
"""Values from which on numbers are printed in scientific notation."""


@dataclass(frozen=True, slots=True)
class ShownScore:
    """A score in the unit of the table."""

    value: float
    low: float | None
    high: float | None
    stderr: float | None
    unit: str
    """`%`, `share`, or empty where a metric is neither."""

    @property
    def text(self) -> str:
        """Value and 95 % interval as printed: `0.7210 [0.7032, 0.7381]`."""
        value = self._printed(self.value)
        if self.low is None or self.high is None:
            return f"{value} [no interval]"
        return f"{value} [{self._printed(self.low)}, {self._printed(self.high)}]"

    def _printed(self, number: float) -> str:
        # Two decimals of a percentage are four of a share.
        if self.unit == "%":
            return f"{number:.2f}"
        return f"{number:.4e}" if abs(number) >= _HUGE else f"{number:.4f}"


def find_unit(scores: Sequence[MetricScore]) -> Unit:
    """What the values of a column are; a column of shares has nothing outside 0 and 1."""
    if any(score.detail.unit == "%" for score in scores):
        return "percent"
    for score in scores:
        detail = score.detail
        numbers = (score.value, *score_interval(score))
        if (
            detail.states("weight")
            or detail.aggregation not in _SHARES
            or score.metric.partition(",")[0] in _NO_SHARES
            or any(number is not None and not 0 <= number <= 1 for number in numbers)
        ):
            return "none"
    return "share"


def unit_label(unit: Unit, percent: bool) -> str:
    """The unit that a column is shown in: `%`, `share`, or empty."""
    return "" if unit == "none" else "%" if percent else "share"


def show_score(score: MetricScore, unit: Unit, percent: bool) -> ShownScore:
    """A score in the unit of the table.

    Args:
        score: A score that has a value.
        unit: The unit of its column.
        percent: Whether the table has per cent.
    """
    assert score.value is not None, "cells without a value have no score"
    factor = 1.0
    if unit == "share" and percent:
        factor = 100.0
    elif unit == "percent" and not percent:
        factor = 0.01
    low, high = score_interval(score)
    return ShownScore(
        _scaled(score.value, factor),
        None if low is None else _scaled(low, factor),
        None if high is None else _scaled(high, factor),
        None if score.stderr is None else _scaled(score.stderr, factor),
        unit_label(unit, percent),
    )


def _scaled(number: float, factor: float) -> float:
    # 100 × 0.07 is 7.000000000000001: twelve digits are more than a score has.
    return number if factor == 1 else float(f"{number * factor:.12g}")
