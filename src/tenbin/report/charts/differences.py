"""Paired differences between runs, around zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.analysis.compare import ComparedScore
from tenbin.report.charts.draw import Chart, Palette, run_colour, values

_MOST_ROWS = 120


def difference_chart(
    comparisons: Sequence[tuple[int, ComparedScore]], names: Sequence[str], say: Mapping[str, str]
) -> Chart | None:
    """Return the chart of every difference with its interval in points; None without any.

    Args:
        comparisons: The number of the run that is compared with the first, and the score.
        names: What the runs are called.
        say: The interface's texts.
    """
    rows = []
    for run, row in comparisons:
        scale = 1.0 if row.unit == "%" else 100.0
        low, high = row.low, row.high
        rows.append(
            {
                "task": f"{row.baseline.id}  {row.metric}",
                "run": names[run],
                "difference": scale * row.difference,
                "low": scale * (row.difference if low is None else low),
                "high": scale * (row.difference if high is None else high),
            }
        )
    if not rows or len(rows) > _MOST_ROWS:
        return None

    others = [name for name in names[1:] if any(row["run"] == name for row in rows)]

    def build(altair: Any, palette: Palette) -> Any:
        several = len(others) > 1
        lanes = {"yOffset": altair.YOffset("run:N", sort=others)} if several else {}
        # Each run has the colour that it has everywhere; the baseline has the first.
        colour = run_colour(altair, palette, names) if several else altair.value(palette.accent)
        base = altair.Chart(values(altair, rows)).encode(
            y=altair.Y("task:N", sort=None, title=None), color=colour, **lanes
        )
        zero = (
            altair.Chart(values(altair, [{"zero": 0}]))
            .mark_rule(color=palette.soft)
            .encode(x="zero:Q")
        )
        lines = base.mark_rule(strokeWidth=5, opacity=0.35, strokeCap="round").encode(
            x="low:Q", x2="high:Q"
        )
        dots = base.mark_point(size=64, filled=True, opacity=1).encode(
            x=altair.X("difference:Q", title=say["chart_differences_axis"])
        )
        height = altair.Step(13 if several else 24)
        return (zero + lines + dots).properties(width=560, height=height)

    title = say["chart_differences"].format(baseline=names[0])
    return Chart(
        "differences",
        title,
        say["chart_in_tables"].format(title=title.rstrip(".。")),
        build,
    )
