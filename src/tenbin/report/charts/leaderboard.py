"""The leaderboard as dot plots: one panel for each column, models in the order of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.analysis.leaderboard.report import LeaderboardReport
from tenbin.report.charts.draw import Chart, Palette, Row, values
from tenbin.report.terminal.leaderboard import rank_text

_MOST_MODELS, _MOST_COLUMNS = 40, 12
"""More would not be legible; the table has all of them."""


def leaderboard_chart(report: LeaderboardReport, say: Mapping[str, str]) -> Chart | None:
    """Return the first columns that have a highest value; None without any, or with many models."""
    places = [at for at, column in enumerate(report.columns) if column.top is not None]
    places = places[:_MOST_COLUMNS]
    if not places or len(report.models) > _MOST_MODELS:
        return None
    rows = [row for at in places for row in _rows(report, at)]
    titles = [_title(report, at) for at in places]
    order = [model.name for model in report.models]

    def build(altair: Any, palette: Palette) -> Any:
        base = altair.Chart().encode(y=altair.Y("model:N", sort=order, title=None))
        scale = altair.Scale(domain=[0, 1])
        axis = altair.Axis(grid=True, values=[0, 0.5, 1], format=".1f")
        chance = altair.Chart().mark_rule(strokeDash=[3, 3], color=palette.soft)
        whole = base.mark_rule(
            strokeWidth=5, opacity=0.35, strokeCap="round", color=palette.accent
        ).encode(x=altair.X("low:Q", scale=scale, title=None, axis=axis), x2="high:Q")
        dots = base.mark_point(size=50, filled=True, opacity=1).encode(
            x=altair.X("value:Q", scale=scale, title=None),
            color=altair.condition(
                "datum.best", altair.value(palette.other), altair.value(palette.accent)
            ),
        )
        ranks = base.mark_text(align="left", fontSize=10, color=palette.soft).encode(
            x=altair.value(156), text="ranks:N"
        )
        panel = altair.layer(
            chance.encode(x=altair.X("chance:Q", scale=scale)),
            whole,
            dots,
            ranks,
            data=values(altair, rows),
        ).properties(width=150, height=altair.Step(18))
        return panel.facet(
            altair.Facet("column:N", sort=titles, title=None), columns=min(3, len(titles))
        )

    return Chart(
        "leaderboard",
        say["chart_leaderboard"],
        say["chart_leaderboard_description"].format(n=len(order), columns=len(places)),
        build,
        say["chart_leaderboard_note"].format(most=_MOST_COLUMNS),
    )


def _title(report: LeaderboardReport, at: int) -> str:
    """Different for every column: scores of one panel are comparable unless they are marked."""
    column = report.columns[at]
    same = [one for one in report.columns if (one.id, one.metric) == (column.id, column.metric)]
    if len(same) == 1:
        return f"{column.id}  {column.metric}"
    shots = {one.shots for one in same}
    told = f"{column.shots}-shot" if len(shots) == len(same) else column.label
    return f"{column.id} {told}  {column.metric}"


def _rows(report: LeaderboardReport, at: int) -> list[Row]:
    column = report.columns[at]
    top = column.top or 1.0
    found: list[Row] = []
    for model, cells in zip(report.models, report.cells, strict=True):
        cell = cells[at]
        if cell.value is None:
            continue
        marks = rank_text(cell) or ", ".join(dict.fromkeys(one.kind for one in cell.differences))
        found.append(
            {
                "model": model.name,
                "column": _title(report, at),
                "value": cell.value / top,
                "low": (cell.value if cell.low is None else cell.low) / top,
                "high": (cell.value if cell.high is None else cell.high) / top,
                "chance": None if column.chance is None else column.chance / top,
                "best": cell.best,
                "ranks": f"({marks})" if marks else "",
            }
        )
    return found
