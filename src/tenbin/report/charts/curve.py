"""Learning curves: a metric over the steps of a training, with the band of its shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.analysis.curve.report import Curve
from tenbin.report.charts.draw import Chart, Palette, Row, values
from tenbin.report.html.curve import CurveFigure, PageCurve

_WIDTH, _HEIGHT = 400, 210
_WIDE = 100
"""Largest step over smallest from which on steps stand on a logarithmic axis."""
_MOST_BANDS = 3
"""Bands of more lines would hide each other."""


def curve_charts(found: PageCurve, say: Mapping[str, str]) -> list[Chart]:
    """Return a chart for each figure."""
    return [
        _chart(figure, [found.report.curves[at] for at in figure.curves], say)
        for figure in found.figures
    ]


def _chart(figure: CurveFigure, curves: Sequence[Curve], say: Mapping[str, str]) -> Chart:
    first = curves[0]
    rows = [row for curve in curves for row in _rows(curve)]
    chance = first.signal.chance
    whiskers = [row for curve in curves for row in _newest(curve)] if len(curves) == 1 else []

    def build(altair: Any, palette: Palette) -> Any:
        colour = _colour(altair, palette, curves)
        base = altair.Chart(values(altair, rows)).encode(
            x=_steps(altair, rows, say), color=colour, detail="line:N"
        )
        scale = altair.Scale(domain=_domain(rows, whiskers, chance, first), nice=False)
        title = f"{first.metric}{' (%)' if first.unit else ''}"
        axis = altair.Y("value:Q", scale=scale, title=title, axis=altair.Axis(tickCount=5))
        layers = []
        if chance is not None:
            layers.append(
                altair.Chart(values(altair, [{"chance": chance}]))
                .mark_rule(color=palette.other, strokeDash=[4, 3], strokeWidth=1.5)
                .encode(y=altair.Y("chance:Q", scale=scale, title=title))
            )
        if len(curves) <= _MOST_BANDS:
            layers.append(
                base.transform_filter("isValid(datum.low)")
                .mark_area(opacity=0.2, clip=True)
                .encode(y=altair.Y("low:Q", scale=scale, title=title), y2="high:Q")
            )
        layers.append(base.mark_line(strokeWidth=2).encode(y=axis))
        layers.append(_points(altair, base, axis, palette))
        if whiskers:
            layers.append(
                altair.Chart(values(altair, whiskers))
                .mark_rule(strokeWidth=1.5, color=palette.soft)
                .encode(
                    x=_steps(altair, rows, say),
                    y=altair.Y("low:Q", scale=scale, title=title),
                    y2="high:Q",
                )
            )
        return altair.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)

    described = say["chart_curve_description"].format(
        metric=first.metric,
        task=figure.heading,
        n=len(first.points),
        first=f"{first.points[0].value:.3f}",
        newest=f"{first.points[-1].value:.3f}",
    )
    arrow = "↑" if first.higher_is_better else "↓"
    return Chart(figure.chart, f"{figure.heading} · {first.metric} {arrow}", described, build)


def _rows(curve: Curve) -> list[Row]:
    return [
        {
            "step": point.step,
            "value": point.value,
            "low": point.band_low,
            "high": point.band_high,
            "line": curve.template or curve.label,
            "changed": point.change is not None and point.change.shown,
        }
        for point in curve.points
    ]


def _newest(curve: Curve) -> list[Row]:
    """The 95 % interval of the newest score in itself."""
    point = curve.points[-1]
    if point.low is None or point.high is None:
        return []
    return [{"step": point.step, "low": point.low, "high": point.high}]


def _colour(altair: Any, palette: Palette, curves: Sequence[Curve]) -> Any:
    if len(curves) == 1:
        return altair.value(palette.accent)
    names = [str(curve.template or curve.label) for curve in curves]
    tones = [palette.accent, palette.other, palette.soft]
    return altair.Color(
        "line:N",
        sort=None,
        title=None,
        scale=altair.Scale(domain=names, range=[tones[at % 3] for at in range(len(names))]),
        legend=altair.Legend(orient="top", labelLimit=200, symbolOpacity=1),
    )


def _points(altair: Any, base: Any, axis: Any, palette: Palette) -> Any:
    """Filled where a step differs from the one before by more than noise, else hollow."""
    return altair.layer(
        base.mark_point(size=34, filled=True, opacity=1).encode(y=axis),
        base.transform_filter("!datum.changed")
        .mark_point(size=12, filled=True, opacity=1)
        .encode(y=axis, color=altair.value(palette.paper)),
    )


def _steps(altair: Any, rows: Sequence[Row], say: Mapping[str, str]) -> Any:
    steps = [row["step"] for row in rows]
    least = min((step for step in steps if step > 0), default=1)
    kind = "symlog" if max(steps) > _WIDE * least else "linear"
    written = "~s" if max(steps) >= 10_000 else ",d"
    return altair.X(
        "step:Q",
        title=say["chart_curve_axis"],
        scale=altair.Scale(type=kind, zero=False, nice=False, padding=8),
        axis=altair.Axis(format=written, tickCount=6, grid=False, labelFlush=False),
    )


def _domain(
    rows: Sequence[Row], whiskers: Sequence[Row], chance: float | None, curve: Curve
) -> list[float]:
    """All that is drawn, with a margin, within what values there can be."""
    ends = [row["value"] for row in rows]
    ends += [row[name] for row in (*rows, *whiskers) for name in ("low", "high") if row[name]]
    ends += [] if chance is None else [chance]
    margin = 0.05 * (max(ends) - min(ends)) or 0.01
    low, high = min(ends) - margin, max(ends) + margin
    return [max(0.0, low), high if curve.top is None else min(curve.top, high)]
