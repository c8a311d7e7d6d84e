"""Consistency: accuracy by language, agreement between languages, position bias."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.analysis.consistency.report import SetReport
from tenbin.report.charts.draw import Chart, Palette, values


def language_charts(
    sets: Mapping[str, SetReport], number: int, say: Mapping[str, str]
) -> list[Chart]:
    """Return the charts of every set of parallel tasks."""
    charts = []
    for id, found in sets.items():
        made = [
            _scores(f"languages-{number}-{id}", found, say),
            _agreement(f"agreement-{number}-{id}", found, say),
            _positions(f"positions-{number}-{id}", found, say),
        ]
        charts += [chart for chart in made if chart is not None]
    return charts


def _described(say: Mapping[str, str], key: str) -> tuple[str, str]:
    return say[key], say["chart_in_tables"].format(title=say[key].rstrip("."))


def _scores(name: str, found: SetReport, say: Mapping[str, str]) -> Chart | None:
    accuracies = {
        language: row.accuracy
        for language, row in found.answers.items()
        if row.accuracy is not None and row.accuracy.value is not None
    }
    rows = [
        {
            "language": language,
            "value": share.value,
            # Without an interval only the dot is visible.
            "low": share.value if share.low is None else share.low,
            "high": share.value if share.high is None else share.high,
        }
        for language, share in accuracies.items()
    ]
    if not rows:
        return None

    def build(altair: Any, palette: Palette) -> Any:
        base = altair.Chart(values(altair, rows)).encode(
            x=altair.X("language:N", sort="-y", title=None, axis=altair.Axis(labelAngle=0))
        )
        scale = altair.Scale(domain=[0, 1])
        lines = base.mark_rule(
            strokeWidth=6, opacity=0.35, strokeCap="round", color=palette.accent
        ).encode(y=altair.Y("low:Q", scale=scale), y2="high:Q")
        dots = base.mark_point(size=70, filled=True, opacity=1, color=palette.accent).encode(
            y=altair.Y("value:Q", title=say["chart_languages_axis"], axis=altair.Axis(format=".0%"))
        )
        return (lines + dots).properties(width=altair.Step(48), height=220)

    return Chart(name, *_described(say, "chart_languages"), build)


def _agreement(name: str, found: SetReport, say: Mapping[str, str]) -> Chart | None:
    rows = []
    for pair in found.pairs:
        share = None if pair.agreement is None else pair.agreement.value
        if share is not None:
            first, second = pair.languages
            rows += [
                {"one": one, "two": two, "share": share, "shown": f"{100 * share:.0f}"}
                for one, two in ((first, second), (second, first))
            ]
    if not rows:
        return None
    order = list(found.languages)

    def build(altair: Any, palette: Palette) -> Any:
        base = altair.Chart(values(altair, rows)).encode(
            x=altair.X(
                "one:N", sort=order, title=None, axis=altair.Axis(orient="top", labelAngle=0)
            ),
            y=altair.Y("two:N", sort=order, title=None),
        )
        tone = altair.condition(
            "datum.share > 0.55", altair.value(palette.paper), altair.value(palette.ink)
        )
        cells = base.mark_rect(stroke=palette.paper, strokeWidth=2).encode(
            color=altair.Color(
                "share:Q",
                scale=altair.Scale(domain=[0, 1], range=list(palette.heat), interpolate="rgb"),
                legend=None,
            )
        )
        texts = base.mark_text().encode(text="shown:N", color=tone)
        return (cells + texts).properties(width=altair.Step(40), height=altair.Step(32))

    return Chart(name, *_described(say, "chart_agreement"), build, on_page=False)


def _positions(name: str, found: SetReport, say: Mapping[str, str]) -> Chart | None:
    rows = []
    for language, row in (found.positions or {}).items():
        golds = sum(row.gold) or 1
        for at, chosen in enumerate(row.chosen):
            rows.append(
                {
                    "language": language,
                    "choice": chr(65 + at) if at < 26 else str(at + 1),
                    "share": chosen / row.n,
                    "gold": row.gold[at] / golds if at < len(row.gold) else 0.0,
                }
            )
    if not rows:
        return None
    order = list(found.languages)

    def build(altair: Any, palette: Palette) -> Any:
        base = altair.Chart(values(altair, rows)).encode(
            x=altair.X("choice:N", title=None, axis=altair.Axis(labelAngle=0))
        )
        bars = base.mark_bar(color=palette.accent, opacity=0.75, width=14).encode(
            y=altair.Y(
                "share:Q",
                title=say["chart_positions_axis"],
                scale=altair.Scale(domain=[0, 1]),
                axis=altair.Axis(format=".0%", tickCount=3),
            )
        )
        golds = base.mark_tick(color=palette.other, thickness=2, width=18).encode(y="gold:Q")
        return (
            (bars + golds)
            .properties(width=altair.Step(20), height=90)
            .facet(facet=altair.Facet("language:N", sort=order, title=None), columns=5, spacing=16)
        )

    return Chart(name, *_described(say, "chart_positions"), build)
