"""Paired comparisons as reports show them: too few clusters have no interval, but a reason."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tenbin.statistics.paired import Comparison, FamilyComparison
from tenbin.statistics.power import interval_of


def shown_fields(found: Comparison) -> dict[str, Any]:
    """The fields of a comparison, and `reason`: why there is no interval, None if there is one."""
    interval = interval_of(found)
    shown = {one.name: getattr(found, one.name) for one in fields(found)}
    shown |= {"low": interval.low, "high": interval.high, "reason": interval.reason}
    if interval.reason:
        # What could have been found is derived from the interval's width.
        shown["detectable"] = None
        if isinstance(found, FamilyComparison):
            shown |= {"wide_low": None, "wide_high": None}
    return shown
