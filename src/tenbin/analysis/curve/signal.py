"""What a curve shows at this size of model: chance, gain, order, noise, agreement of wordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenbin.analysis.curve.chance import Chance
from tenbin.analysis.curve.report import Curve, CurvePoint, CurveSignal, Reason, Verdict
from tenbin.statistics.curves.trend import mean_agreement, rank_correlation, step_noise

ORDERED = 0.5
"""Rank correlation of score and step from which on a curve counts as ordered: three of four pairs
of steps."""


def signal_of(
    points: Sequence[CurvePoint], higher_is_better: bool, unit: str, chance: Chance | None
) -> CurveSignal:
    """What one curve shows by itself; wordings are compared by `with_agreement`."""
    sign = 1.0 if higher_is_better else -1.0
    steps = [float(point.step) for point in points]
    values = [sign * point.value for point in points]
    newest, first = points[-1], points[0]
    change = first.to_newest
    scale = 100.0 if unit == "%" else 1.0
    level = None if chance is None else chance.value * scale
    above = None if level is None or newest.low is None else newest.low > level
    noise = step_noise(steps, values)
    gain = values[-1] - values[0] if len(points) > 1 else None
    monotonicity = rank_correlation(steps, values)
    shown = None if change is None else change.shown
    verdict, reasons = _verdict(len(points), gain, shown, above, monotonicity)
    return CurveSignal(
        verdict=verdict,
        reasons=reasons,
        chance=level,
        chance_of=None if chance is None else chance.of,
        above_chance=above,
        gain=gain,
        gain_shown=shown,
        monotonicity=monotonicity,
        noise=noise,
        gain_to_noise=gain / noise if gain is not None and noise else None,
        templates=1,
        template_agreement=None,
    )


def _verdict(
    steps: int,
    gain: float | None,
    shown: bool | None,
    above: bool | None,
    monotonicity: float | None,
) -> tuple[Verdict, tuple[Reason, ...]]:
    """Whether the task distinguishes steps, and the reasons against it."""
    if steps < 2 or gain is None:
        return "unknown", ("one_checkpoint",)
    if shown is None:
        return "unknown", ("too_few_documents",)
    reasons: list[Reason] = []
    if not shown:
        reasons.append("no_gain")
    elif gain < 0:
        reasons.append("worse")
    if above is False:
        reasons.append("at_chance")
    if monotonicity is not None and monotonicity < ORDERED:
        reasons.append("not_monotone")
    if not reasons:
        return "yes", ()
    return ("some" if reasons == ["not_monotone"] else "no"), tuple(reasons)


def with_agreement(curves: Sequence[Curve]) -> list[Curve]:
    """The same curves, each with how far the wordings of its task agree on the order of steps."""
    asked: dict[tuple[object, ...], list[Curve]] = {}
    for curve in curves:
        if curve.kind == "task":
            key = (curve.task, curve.version, curve.shots, curve.language, curve.metric)
            asked.setdefault(key, []).append(curve)
    agreement: dict[int, tuple[int, float | None]] = {}
    for own in asked.values():
        count = len({curve.template for curve in own})
        if count > 1:
            found = count, mean_agreement(_on_shared_steps(own))
            agreement |= {id(curve): found for curve in own}
    return [
        replace(
            curve,
            signal=replace(
                curve.signal,
                templates=agreement[id(curve)][0],
                template_agreement=agreement[id(curve)][1],
            ),
        )
        if id(curve) in agreement
        else curve
        for curve in curves
    ]


def _on_shared_steps(curves: Sequence[Curve]) -> list[list[float]]:
    """The values of each curve at the steps that all of them have."""
    known = [{point.step: point.value for point in curve.points} for curve in curves]
    shared = sorted(set.intersection(*(set(one) for one in known)))
    return [[own[step] for step in shared] for own in known]
