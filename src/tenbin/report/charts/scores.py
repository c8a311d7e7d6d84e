"""Every task's score with its interval, as dots on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.report.charts.draw import Chart, Palette, Row, run_colour, values
from tenbin.report.html.model import AlignedTask, CellSummary, RunSummary

_MOST_ROWS = 120
"""More rows would not be legible; the table has all of them."""


def score_chart(
    runs: Sequence[RunSummary], aligned: Sequence[AlignedTask], say: Mapping[str, str]
) -> Chart | None:
    """Return the chart of every cell's first metric with its 95% interval; None without any."""
    rows = _rows(runs, aligned)
    if not rows or len(rows) > _MOST_ROWS:
        return None

    def build(altair: Any, palette: Palette) -> Any:
        order = list(dict.fromkeys(row["task"] for row in rows))
        names = [run.name for run in runs]
        several = len(names) > 1
        lanes = {"yOffset": altair.YOffset("run:N", sort=names)} if several else {}
        colour = run_colour(altair, palette, names) if several else altair.value(palette.accent)
        base = altair.Chart(values(altair, rows)).encode(
            y=altair.Y("task:N", sort=order, title=None), **lanes
        )
        scale = altair.Scale(domain=[0, 1])
        whole = base.mark_rule(strokeWidth=5, opacity=0.35, strokeCap="round").encode(
            x=altair.X("low:Q", scale=scale), x2="high:Q", color=colour
        )
        dots = base.mark_point(size=64, filled=True, opacity=1).encode(
            x=altair.X(
                "value:Q",
                scale=scale,
                title=say["chart_scores_axis"],
                axis=altair.Axis(grid=True, tickCount=5, format=".1f"),
            ),
            color=colour,
        )
        height = altair.Step(13 if several else 24)
        return (whole + dots).properties(width=560, height=height)

    return Chart(
        "scores",
        say["chart_scores"],
        say["chart_scores_description"].format(n=len(rows)),
        build,
        say["chart_scores_note"],
    )


def _rows(runs: Sequence[RunSummary], aligned: Sequence[AlignedTask]) -> list[Row]:
    cells = [{cell.id: cell for cell in run.cells} for run in runs]
    return [
        row
        for task in aligned
        for run, known, id in zip(runs, cells, task.cells, strict=True)
        if id is not None
        for row in _row(task.name, run, known[id])
    ]


def _row(name: str, run: RunSummary, cell: CellSummary) -> list[Row]:
    # Perplexities and bits per byte have no scale from 0 to 1, even if a value lies there.
    if not cell.metrics or cell.kind == "roll":
        return []
    metric = cell.metrics[0]
    top = 100.0 if metric.unit == "%" else 1.0
    value = metric.value
    if value is None or not 0 <= value <= top:
        return []
    low, high = metric.low, metric.high
    return [
        {
            "task": f"{name}  {metric.name}",
            "run": run.name,
            "value": value / top,
            "low": (value if low is None else max(low, 0.0)) / top,
            "high": (value if high is None else min(high, top)) / top,
        }
    ]
