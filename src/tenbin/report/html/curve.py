"""Learning curves as the page shows them: figures by task and metric, wordings in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.analysis.curve.report import Curve, CurveReport

MOST_FIGURES = 60
"""The tables have all curves; more figures would make a page that nobody reads."""


@dataclass(frozen=True, slots=True)
class CurveFigure:
    """One chart: a metric of a task, a line for each wording."""

    chart: str
    """Name of the chart."""
    heading: str
    """Of the task or group; figures of one heading stand together."""
    curves: Sequence[int]
    """Positions in the report."""


@dataclass(frozen=True, slots=True)
class PageCurve:
    """Learning curves with their figures."""

    report: CurveReport
    figures: Sequence[CurveFigure]
    without_figure: int
    """Curves that have none."""


def page_curve(report: CurveReport) -> PageCurve:
    """Return curves with the figures that show them."""
    found: dict[tuple[object, ...], list[int]] = {}
    for at, curve in enumerate(report.curves):
        found.setdefault(_figure_key(curve), []).append(at)
    figures = [
        CurveFigure(f"curve-{number}", _heading(report.curves[own[0]], len(own)), own)
        for number, own in enumerate(found.values(), 1)
    ]
    left = sum(len(one.curves) for one in figures[MOST_FIGURES:])
    return PageCurve(report, figures[:MOST_FIGURES], left)


def _figure_key(curve: Curve) -> tuple[object, ...]:
    if curve.kind == "group":
        return curve.id, curve.label, curve.metric
    return curve.task, curve.version, curve.shots, curve.language, curve.metric, curve.section


def _heading(curve: Curve, lines: int) -> str:
    if curve.kind == "group":
        return curve.label
    parts = [f"{curve.task} {curve.version}", f"{curve.shots}-shot"]
    return ", ".join(parts if lines > 1 else [*parts, str(curve.template)])
