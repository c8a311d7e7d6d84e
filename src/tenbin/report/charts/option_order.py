"""Recall at each position of the options, before and after a prior was removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.analysis.option_order.report import TemplateOrder
from tenbin.analysis.sweep.score import Score
from tenbin.report.charts.draw import Chart, Palette, Row, values


def option_order_chart(found: TemplateOrder, name: str, say: Mapping[str, str]) -> Chart:
    """Return recalls by position with their intervals; the mean over all orders is a line."""
    before, after = say["order_as_shown"], say["order_removed"]
    rows: list[Row] = []
    for one in found.positions:
        rows.append(_row(one.position, before, one.recall))
        if one.recall_after is not None:
            rows.append(_row(one.position, after, one.recall_after))
    kinds = [before] if found.removed is None else [before, after]

    def build(altair: Any, palette: Palette) -> Any:
        scale = altair.Scale(domain=[0, 1], nice=False)
        colours = altair.Scale(domain=kinds, range=[palette.accent, palette.other][: len(kinds)])
        base = altair.Chart(values(altair, rows)).encode(
            y=altair.Y("position:N", sort=None, title=None),
            yOffset=altair.YOffset("kind:N", sort=kinds),
            color=altair.Color(
                "kind:N",
                scale=colours,
                sort=kinds,
                legend=altair.Legend(title=None, orient="top") if len(kinds) > 1 else None,
            ),
        )
        title = altair.Axis(title=say["order_recall"])
        whiskers = base.mark_rule(strokeWidth=5, opacity=0.35, strokeCap="round").encode(
            x=altair.X("low:Q", scale=scale, axis=title), x2="high:Q"
        )
        dots = base.mark_point(size=64, filled=True, opacity=1).encode(
            x=altair.X("value:Q", scale=scale, axis=title)
        )
        mean = (
            altair.Chart(values(altair, [{"mean": found.mean.value}]))
            .mark_rule(color=palette.soft, strokeDash=[4, 3], strokeWidth=1.5)
            .encode(x=altair.X("mean:Q", scale=scale, axis=title))
        )
        return (mean + whiskers + dots).properties(width=520, height=altair.Step(18))

    return Chart(
        name,
        say["chart_order"].format(id=found.id),
        say["chart_order_description"].format(n=found.options),
        build,
        say["chart_order_note"],
    )


def _row(position: str, kind: str, score: Score) -> Row:
    return {
        "position": position,
        "kind": kind,
        "value": score.value,
        "low": score.low,
        "high": score.high,
    }
