"""Paired differences between runs, around zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.analysis.compare import ComparedScore
from tenbin.report.charts.draw import Chart, Palette, values

_MOST_ROWS = 120


def difference_chart(comparisons: Sequence[ComparedScore], say: Mapping[str, str]) -> Chart | None:
    """Return the chart of every difference with its interval in points; None without any."""
    rows = []
    for row in comparisons:
        scale = 1.0 if row.unit == "%" else 100.0
        low, high = row.low, row.high
        rows.append(
            {
                "task": f"{row.other.id}  {row.metric}"
                f"  ({row.baseline.run + 1} → {row.other.run + 1})",
                "difference": scale * row.difference,
                "low": scale * (row.difference if low is None else low),
                "high": scale * (row.difference if high is None else high),
            }
        )
    if not rows or len(rows) > _MOST_ROWS:
        return None

    def build(altair: Any, palette: Palette) -> Any:
        base = altair.Chart(values(altair, rows)).encode(
            y=altair.Y("task:N", sort=None, title=None)
        )
        zero = (
            altair.Chart(values(altair, [{"zero": 0}]))
            .mark_rule(color=palette.soft)
            .encode(x="zero:Q")
        )
        lines = base.mark_rule(
            strokeWidth=5, opacity=0.35, strokeCap="round", color=palette.accent
        ).encode(x="low:Q", x2="high:Q")
        dots = base.mark_point(size=64, filled=True, opacity=1, color=palette.accent).encode(
            x=altair.X("difference:Q", title=say["chart_differences_axis"])
        )
        return (zero + lines + dots).properties(width=560, height=altair.Step(24))

    return Chart(
        "differences",
        say["chart_differences"],
        say["chart_in_tables"].format(title=say["chart_differences"].rstrip(".")),
        build,
    )
