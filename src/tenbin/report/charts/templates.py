"""A sweep as a heat map: tasks down, templates across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.analysis.sweep.task_sweep import TaskSweep
from tenbin.report.charts.draw import Chart, Palette, Row, values


def template_chart(tasks: Sequence[TaskSweep], number: int, say: Mapping[str, str]) -> Chart:
    """Return the heat map of every option of every task, with intervals below the values."""
    rows = [_row(task, at) for task in tasks for at in range(len(task.options))]

    def build(altair: Any, palette: Palette) -> Any:
        base = altair.Chart(values(altair, rows)).encode(
            x=altair.X(
                "template:N", sort=None, title=None, axis=altair.Axis(orient="top", labelAngle=0)
            ),
            y=altair.Y("task:N", sort=None, title=None),
        )
        colour = altair.Color(
            "share:Q",
            scale=altair.Scale(domain=[0, 1], range=list(palette.heat), interpolate="rgb"),
            legend=None,
        )
        strong = "datum.share > 0.55"
        tone = altair.condition(strong, altair.value(palette.paper), altair.value(palette.ink))
        cells = base.mark_rect(stroke=palette.paper, strokeWidth=2).encode(color=colour)
        frames = (
            base.transform_filter("datum.chosen")
            .mark_rect(fillOpacity=0, stroke=palette.other, strokeWidth=2)
        )  # fmt: skip
        numbers = base.mark_text(dy=-6, fontWeight="bold").encode(text="value:N", color=tone)
        spans = base.mark_text(dy=9, fontSize=10).encode(text="interval:N", color=tone)
        return (cells + frames + numbers + spans).properties(
            width=altair.Step(96), height=altair.Step(46)
        )

    return Chart(
        f"templates-{number}",
        say["chart_templates"],
        say["chart_templates_description"].format(tasks=len(tasks)),
        build,
        say["chart_templates_note"],
        on_page=False,
    )


def _row(task: TaskSweep, at: int) -> Row:
    option = task.options[at]
    top, digits = (100.0, 1) if task.unit == "%" else (1.0, 3)
    marked = any("shot" in id.partition("@")[2] for id in option.ids)
    value, low, high = option.score.value, option.score.low, option.score.high
    return {
        "task": f"{task.task} {task.version}  {task.metric}",
        "template": f"{option.template}, {option.shots}" if marked else option.template,
        "share": 0.0 if value is None else min(1.0, max(0.0, value / top)),
        "value": "–" if value is None else f"{value:.{digits}f}",
        "interval": "" if low is None else f"{low:.{digits}f} – {high:.{digits}f}",
        "chosen": task.choice is not None and at == task.choice.option,
    }
