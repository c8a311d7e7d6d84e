"""Learning curves in long form: one row for each curve and step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenbin.analysis.curve.report import CurveReport

COLUMNS: dict[str, type] = {
    **dict.fromkeys(("section", "label", "kind", "id", "metric", "unit"), str),
    **dict.fromkeys(("task", "version", "template"), str),
    "shots": int,
    "language": str,
    "higher_is_better": bool,
    "step": int,
    "checkpoint": str,
    **dict.fromkeys(("value", "low", "high", "band_low", "band_high"), float),
    "n": int,
    **dict.fromkeys(("change", "change_low", "change_high", "p_value"), float),
    "changed": bool,
    "missing": str,
}
"""Columns of the long form with the type of their values."""
_OF_CURVE = (
    *("section", "label", "kind", "id", "metric", "unit", "task", "version", "template", "shots"),
    *("language", "higher_is_better", "n"),
)
_OF_POINT = ("step", "value", "low", "high", "band_low", "band_high")

SIGNAL_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("section", "label", "kind", "id", "metric"), str),
    **dict.fromkeys(("verdict", "reasons"), str),
    "chance": float,
    "chance_of": str,
    "above_chance": bool,
    "gain": float,
    "gain_shown": bool,
    **dict.fromkeys(("monotonicity", "noise", "gain_to_noise"), float),
    "templates": int,
    "template_agreement": float,
    **dict.fromkeys(("last_change", "same_since", "n"), int),
}
"""Columns of the table of signals, one row for each curve."""
_CURVE_FACTS = ("section", "label", "kind", "id", "metric", "last_change", "same_since", "n")


def rows(report: CurveReport) -> list[dict[str, Any]]:
    """One row for each curve and step, steps without a score too."""
    names = {one.step: one.name for one in report.checkpoints}
    found = []
    for curve in report.curves:
        own = {name: getattr(curve, name) for name in _OF_CURVE}
        made = []
        for point in curve.points:
            row = {**dict.fromkeys(COLUMNS), **own}
            row |= {name: getattr(point, name) for name in _OF_POINT}
            if point.change is not None:
                change = point.change
                row |= {
                    "change": change.difference,
                    "change_low": change.low,
                    "change_high": change.high,
                    "p_value": change.p_value,
                    "changed": change.shown,
                }
            made.append(row)
        for step, why in curve.missing.items():
            made.append({**dict.fromkeys(COLUMNS), **own, "step": int(step), "missing": why})
        for row in sorted(made, key=lambda one: int(one["step"])):
            found.append({**row, "checkpoint": names[row["step"]]})
    return found


def signal_rows(report: CurveReport) -> list[dict[str, Any]]:
    """One row for each curve: what it shows at this size of model."""
    found = []
    for curve in report.curves:
        row = {**dict.fromkeys(SIGNAL_COLUMNS)}
        row |= {name: getattr(curve, name) for name in _CURVE_FACTS}
        for name in set(SIGNAL_COLUMNS) - set(_CURVE_FACTS):
            row[name] = getattr(curve.signal, name)
        found.append({**row, "reasons": ", ".join(curve.signal.reasons)})
    return found
