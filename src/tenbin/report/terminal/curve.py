"""Learning curves in 80 columns: one line a curve, and what each shows at this size of model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.analysis.curve.report import Curve, CurvePoint, CurveReport, CurveSignal
from tenbin.report.terminal.console import made_visible, make_console

_BARS = "▁▂▃▄▅▆▇█"
_BAR_STEPS = 12
_NAME, _SIGNAL_NAME = 30, 25
"""Columns of names in both tables."""
_SHOWN = "*"
_SHORT = {"gold_bits_per_byte": "bits/byte"}
"""Names of metrics that would fill a line of their own."""
WORDS = {
    "too_few_documents": "too few documents",
    "one_checkpoint": "one checkpoint",
    "at_chance": "not above chance",
    "no_gain": "no gain beyond noise",
    "worse": "became worse",
    "not_monotone": "the order of steps is loose",
}
"""What reasons of a verdict mean."""


def print_curve(report: CurveReport, console: Console | None = None) -> None:
    """Print curves, signals, and what the marks mean."""
    console = console or make_console()
    report = made_visible(report)
    console.print(Text(heading(report), style="bold"), soft_wrap=True)
    console.print(_curve_table(report))
    console.print(Text("signal at this size of model", style="bold"), soft_wrap=True)
    console.print(_signal_table(report))
    for line in _legend(report):
        console.print(Text(line, style="dim"))
    for line in report.notes:
        console.print(Text(line, style="yellow"))
    for name, why in report.unread.items():
        console.print(Text(f"not on a curve: {name}: {why}", style="yellow"))


def heading(report: CurveReport) -> str:
    """How many checkpoints there are."""
    steps = [one.step for one in report.checkpoints]
    if len(steps) == 1:
        return f"learning curves · 1 checkpoint, step {steps[0]:,}"
    return f"learning curves · {len(steps)} checkpoints, steps {steps[0]:,} to {steps[-1]:,}"


def step_text(step: int | None) -> str:
    """`1,200`, or `143k` where that says the same."""
    if step is None:
        return "–"
    for factor, mark in ((1_000_000, "M"), (1_000, "k")):
        if step >= 10 * factor and step % factor == 0:
            return f"{step // factor}{mark}"
    return f"{step:,}"


def value_text(value: float | None, curve: Curve, signed: bool = False) -> str:
    """A value with as many digits as its scale bears."""
    if value is None:
        return "–"
    if curve.top is None and abs(value) >= 100:
        return f"{value:{'+' if signed else ''}.3g}"
    return f"{value:{'+' if signed else ''}.{1 if curve.unit else 3}f}"


def curve_name(curve: Curve) -> str:
    """Task and metric, with the direction that is better."""
    metric = _SHORT.get(curve.metric, curve.metric)
    template = f" {curve.template}" if curve.signal.templates > 1 else ""
    named = curve.label if template.strip() in curve.label.split() else curve.label + template
    return f"{named} {metric}{' %' if curve.unit else ''} {'↑' if curve.higher_is_better else '↓'}"


def sparkline(points: Sequence[CurvePoint]) -> str:
    """The values as bars between their lowest and their highest, in at most twelve steps."""
    values = [point.value for point in points]
    if len(values) > _BAR_STEPS:
        last = len(values) - 1
        values = [values[round(at * last / (_BAR_STEPS - 1))] for at in range(_BAR_STEPS)]
    low, high = min(values), max(values)
    if high - low < 1e-12:
        return _BARS[0] * len(values)
    return "".join(_BARS[min(7, int(8 * (value - low) / (high - low)))] for value in values)


def _curve_table(report: CurveReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, padding=(0, 1, 0, 0))
    table.add_column("task and metric", max_width=_NAME, overflow="fold", vertical="bottom")
    for name in ("first", "newest", "gain"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("curve", no_wrap=True)
    for name in ("last\nchange", "same\nsince"):
        table.add_column(name, justify="right", no_wrap=True)
    for curve in report.curves:
        first, newest = curve.points[0], curve.points[-1]
        change = first.to_newest
        gain = None if change is None else change.difference
        mark = _SHOWN if change is not None and change.shown else " "
        table.add_row(
            curve_name(curve),
            value_text(first.value, curve),
            value_text(newest.value, curve),
            f"{value_text(gain, curve, signed=True)}{mark}",
            sparkline(curve.points),
            step_text(curve.last_change),
            step_text(curve.same_since),
        )
    return table


def _signal_table(report: CurveReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, padding=(0, 1, 0, 0))
    table.add_column("task and metric", max_width=_SIGNAL_NAME, overflow="fold")
    table.add_column("signal", no_wrap=True)
    for name in ("above\nchance", "order", "noise", "gain ÷\nnoise", "wordings\nagree"):
        table.add_column(name, justify="right", no_wrap=True)
    for curve in report.curves:
        signal = curve.signal
        table.add_row(
            curve_name(curve),
            signal.verdict,
            _chance_text(signal, curve),
            _plain(signal.monotonicity, 2),
            value_text(signal.noise, curve),
            _plain(signal.gain_to_noise, 1),
            _plain(signal.template_agreement, 2),
        )
    return table


def _chance_text(signal: CurveSignal, curve: Curve) -> str:
    if signal.chance is None:
        return "–"
    said = "–" if signal.above_chance is None else "yes" if signal.above_chance else "no"
    return f"{said}, {value_text(signal.chance, curve)}"


def _plain(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _legend(report: CurveReport) -> Iterator[str]:
    for curve in report.curves:
        if curve.signal.reasons:
            reasons = ", ".join(WORDS[reason] for reason in curve.signal.reasons)
            yield f"{curve_name(curve)}: {curve.signal.verdict}: {reasons}"
    yield (
        f"{_SHOWN} more than noise. last change: the newest step that differs from the one before; "
        "same since: the step from which on none differs from the newest. Paired tests on the "
        "same documents, corrected within each curve."
    )
    yield (
        "order: rank correlation of score and step; noise: of one checkpoint around the smooth "
        "curve, documents and training together."
    )
    for reason in sorted({curve.reason for curve in report.curves if curve.reason}):
        own = [curve_name(curve) for curve in report.curves if curve.reason == reason]
        yield f"no tests: {', '.join(own[:4])}{' …' if len(own) > 4 else ''}: {reason}"
    for curve in report.curves:
        for step, why in curve.missing.items():
            yield f"step {step}: {curve_name(curve)}: {why}"


def news(report: CurveReport, step: int) -> Iterator[str]:
    """What is new at one step: a line for each curve with the change since the step before."""
    for curve in report.curves:
        point = next((one for one in curve.points if one.step == step), None)
        if point is None:
            continue
        line = f"{curve_name(curve)} {value_text(point.value, curve)}"
        if (change := point.change) is not None:
            moved = value_text(change.difference, curve, signed=True)
            said = "more than noise" if change.shown else "within noise"
            line += f", {moved} since step {change.since:,}: {said}"
        yield line
