"""Scores over many prompts: the distribution with its band, and where published templates lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.analysis.sweep.distribution import PromptDistribution
from tenbin.report.charts.draw import Chart, Palette, Row, values

_MOST_TEMPLATES = 20


def distribution_chart(found: PromptDistribution, name: str, say: Mapping[str, str]) -> Chart:
    """Return the share of prompts below each score, above the published templates."""
    unit = 100.0 if found.unit == "%" else 1.0
    curve: list[Row] = [
        {"share": one.share, "value": one.value, "low": one.low, "high": one.high}
        for one in found.curve
    ]
    templates: list[Row] = [
        {"template": place.name, "value": place.value, "low": place.low, "high": place.high}
        for place in found.published[:_MOST_TEMPLATES]
    ]
    ends = [*(one["low"] for one in curve + templates), *(one["high"] for one in curve + templates)]
    margin = 0.02 * unit
    domain = [max(0.0, min(ends) - margin), min(unit, max(ends) + margin)]

    def build(altair: Any, palette: Palette) -> Any:
        scale = altair.Scale(domain=domain, nice=False, zero=False)
        title = f"{found.metric}{' (%)' if found.unit else ''}"

        def score(field: str, axis: bool) -> Any:
            shown = altair.Axis(title=title) if axis else None
            return altair.X(f"{field}:Q", scale=scale, axis=shown)

        base = altair.Chart(values(altair, curve)).encode(
            y=altair.Y(
                "share:Q",
                title=say["chart_distribution_axis"],
                scale=altair.Scale(domain=[0, 1]),
                axis=altair.Axis(format="%", tickCount=5),
            )
        )
        below = not templates
        band = base.mark_area(orient="horizontal", opacity=0.2, color=palette.accent).encode(
            x=score("low", below), x2="high:Q"
        )
        line = base.mark_line(orient="horizontal", strokeWidth=2.5, color=palette.accent).encode(
            x=score("value", below), order="share:Q"
        )

        def mean(axis: bool) -> Any:
            return (
                altair.Chart(values(altair, [{"mean": found.mean.value}]))
                .mark_rule(color=palette.other, strokeDash=[4, 3], strokeWidth=1.5)
                .encode(x=score("mean", axis))
            )

        top = (band + line + mean(below)).properties(width=560, height=240)
        if not templates:
            return top
        rows = altair.Chart(values(altair, templates)).encode(
            y=altair.Y("template:N", sort=None, title=None)
        )
        whiskers = rows.mark_rule(
            strokeWidth=5, opacity=0.35, strokeCap="round", color=palette.accent
        ).encode(x=score("low", True), x2="high:Q")
        dots = rows.mark_point(size=64, filled=True, opacity=1, color=palette.accent).encode(
            x=score("value", True)
        )
        bottom = (mean(True) + whiskers + dots).properties(width=560, height=altair.Step(22))
        return altair.vconcat(top, bottom, spacing=6)

    return Chart(
        name,
        say["chart_distribution"].format(
            task=f"{found.task} {found.version}", prompts=f"{found.prompts:,}"
        ),
        say["chart_distribution_description"],
        build,
        say["chart_distribution_note"],
    )
