"""Paired comparisons of runs as a table, or stacked lines on a narrow terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.analysis.compare import (
    Change,
    ComparedRun,
    ComparedScore,
    ComparisonReport,
    GroupComparison,
    MetricComparison,
)
from tenbin.analysis.compare.comparability import WARNED
from tenbin.report.terminal.console import made_visible, make_console, natural_width
from tenbin.report.terminal.numbers import count_clusters
from tenbin.report.terminal.run_notes import engine_mode
from tenbin.sandbox.printable import counted

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SIGNIFICANT = 0.05


def print_comparison(
    report: ComparisonReport, changes: int = 3, console: Console | None = None
) -> None:
    """Print the runs, one line per comparison, changed documents and how to read the table.

    Args:
        report: The result of `compare_runs`.
        changes: How many documents to list per comparison and direction (better, worse).
        console: Standard output by default.
    """
    console = console or make_console()
    report = made_visible(report)
    for at, run in enumerate(report.runs):
        console.print(Text(f"{_letter(at)}  {run.name}", style="bold"), soft_wrap=True)
        console.print(Text(f"   {_model(run)}", style="dim"), soft_wrap=True)
    for title, rows in (("cell", report.comparisons), ("group", report.groups or ())):
        if not rows:
            continue
        table = _table(report, title, rows)
        if natural_width(table, console) <= console.width:
            console.print(table)
        else:
            _print_lines(report, rows, console)
    for row in report.comparisons:
        _print_changes(report, row, changes, console)
    _print_notes(report, console)
    _print_requirement(report, console)


def _letter(at: int) -> str:
    return _LETTERS[at] if at < len(_LETTERS) else f"run {at + 1}"


def _model(run: ComparedRun) -> str:
    engine = run.model.get("engine")
    mode = engine_mode(engine) if isinstance(engine, dict) else None
    parts = [run.model.get("model"), run.model.get("dtype"), run.model.get("device"), mode]
    return " · ".join(str(part) for part in [*parts, run.date] if part not in (None, "none"))


def _table(report: ComparisonReport, title: str, rows: Sequence[ComparedScore]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (title, "metric"):
        table.add_column(name, no_wrap=True)
    for name in ("n", "baseline", "other", "difference", "95% interval", "won/lost", "p", "Holm"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        first, second, difference, interval = _numbers(row)
        table.add_row(
            Text(_cell(report, row)),
            Text(_metric(row)),
            f"{row.n:,}",
            first,
            second,
            difference,
            Text(interval),
            f"{row.wins:,}/{row.losses:,}",
            _p(row.p_value),
            Text(_corrected(row), style=_style(row)),
        )
    return table


def _print_lines(report: ComparisonReport, rows: Sequence[ComparedScore], console: Console) -> None:
    """Print three short lines per comparison, for narrow terminals."""
    for row in rows:
        first, second, difference, interval = _numbers(row)
        console.print(Text(f"{_cell(report, row)} {_metric(row)}", style="bold"))
        console.print(
            Text(f"  {first} → {second}  "), Text(f"{difference} {interval}", _style(row)), sep=""
        )
        console.print(
            f"  {_count(row)}: {row.wins:,} won, {row.losses:,} lost, {row.ties:,} tied; "
            f"p = {_p(row.p_value)}, Holm {_corrected(row).rstrip()}",
            highlight=False,
        )


def _count(row: ComparedScore) -> str:
    clusters = "" if row.clusters == row.n else f" ({count_clusters(row.clusters)})"
    return f"n = {row.n:,}{clusters}"


def _cell(report: ComparisonReport, row: ComparedScore) -> str:
    one, two = row.baseline, row.other
    ids = one.id if one.id == two.id else f"{one.id} → {two.id}"
    if len(report.runs) < 3:
        return ids
    return f"{_letter(one.run)}→{_letter(two.run)} {ids}"


def _metric(row: ComparedScore) -> str:
    return f"{row.metric} {'↑' if row.higher_is_better else '↓'}"


def _numbers(row: ComparedScore) -> tuple[str, str, str, str]:
    largest = max(row.value.baseline, row.value.other)
    # Two decimals of a percentage are four of a fraction; perplexities have no upper bound.
    form = ".2f" if row.unit else ".4e" if largest >= 1e6 else ".4f"
    missing = row.low is None or row.high is None
    return (
        f"{row.value.baseline:{form}}{row.unit}",
        f"{row.value.other:{form}}{row.unit}",
        f"{row.difference:+{form}}",
        row.reason or "–" if missing else f"[{row.low:+{form}}, {row.high:+{form}}]",
    )


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _corrected(row: ComparedScore) -> str:
    return f"{_p(row.p_holm)}{' *' if row.p_holm < _SIGNIFICANT else '  '}"


def _style(row: ComparedScore) -> str:
    if row.p_holm >= _SIGNIFICANT:
        return ""
    better = (row.difference > 0) == row.higher_is_better
    return "green" if better else "red"


def _print_changes(
    report: ComparisonReport, row: MetricComparison, count: int, console: Console
) -> None:
    if not count or not row.changes:
        return
    console.print(Text(f"changed in {_cell(report, row)} {row.metric}", style="bold"))
    for better, word in ((False, "worse"), (True, "better")):
        own = [change for change in row.changes if change.better is better]
        for change in own[:count]:
            line = Text(f"  {word:<6} {change.document}: ", style="green" if better else "red")
            line.append(_answers(row, change), style="default")
            line.truncate(console.width, overflow="ellipsis")
            console.print(line, no_wrap=True)
        if len(own) > count:
            console.print(Text(f"  {word:<6} and {len(own) - count:,} more", style="dim"))


def _answers(row: MetricComparison, change: Change) -> str:
    sides = [change.baseline, change.other]
    answers = [_short(side.answer) for side in sides]
    if {side.value for side in sides} <= {0, row.top}:
        return f"{answers[0]} → {answers[1]} (gold: {_short(change.target)})"
    values = " → ".join(f"{side.value:.4g}" for side in sides)
    if all(side.answer is None for side in sides):
        return values
    return f"{values}: {answers[0]} → {answers[1]}"


def _short(answer: str | None) -> str:
    if answer is None:
        return "no answer"
    line = " ".join(answer.split())
    return repr(line if len(line) <= 16 else f"{line[:15]}…")


def _print_notes(report: ComparisonReport, console: Console) -> None:
    allowed: dict[tuple[str, str], list[str]] = {}
    unpaired: dict[str, None] = {}
    for row in (*report.comparisons, *(report.groups or ())):
        for one in row.differences:
            allowed.setdefault((one.kind, one.text), []).append(_cell(report, row))
        left = row.left_out
        if left.baseline or left.other:
            text = (
                f"{_cell(report, row)}: paired on {counted(row.n, 'document')}; unpaired: "
                f"{left.baseline:,} of the baseline, {left.other:,} of the other run"
            )
            unpaired[text] = None
    for text in unpaired:
        console.print(Text(text, style="yellow"))
    for (kind, text), cells in allowed.items():
        said = "warning" if kind in WARNED else "allowed to differ"
        line = f"{said}: {kind}: {text} ({', '.join(dict.fromkeys(cells))})"
        console.print(Text(line, style="yellow"))
    for name, ids in report.unmatched.items():
        console.print(Text(f"{name}: not compared: {', '.join(ids)}", style="yellow"))
    for id, names in (report.not_compared or {}).items():
        line = f"{id}: not compared: {', '.join(names)}: a function of the task aggregates them"
        console.print(Text(line, style="yellow"))
    for id, why in (report.groups_not_compared or {}).items():
        console.print(Text(f"group {id}: not compared: {why}", style="yellow"))
    families = [_tests(len(rows), what) for rows, what in _families(report) if rows]
    line = "difference: other minus baseline. * p below 0.05 after Holm correction for "
    console.print(Text(f"{line}{' and, apart from them, '.join(families)}.", style="dim"))
    weightings: dict[str, list[str]] = {}
    for row in report.groups or ():
        weightings.setdefault(row.weighting, []).append(row.baseline.id)
    for words, ids in weightings.items():
        named = ", ".join(dict.fromkeys(ids))
        console.print(Text(f"{named}: {words}, on the documents of both runs.", style="dim"))
    _print_power(report, console)


def _families(report: ComparisonReport) -> list[tuple[Sequence[ComparedScore], str]]:
    what = "of tasks" if report.groups else ""
    return [(report.comparisons, what), (report.groups or (), "of groups")]


def _tests(count: int, what: str) -> str:
    return f"{count:,} {'test' if count == 1 else 'tests'}{f' {what}' if what else ''}"


def _print_power(report: ComparisonReport, console: Console) -> None:
    """Print what the least precise comparison can detect, by the first metric of each."""
    rows = [*report.comparisons, *(report.groups or ())]
    firsts = {_cell(report, row): row for row in reversed(rows)}
    few = [
        row for row in firsts.values() if row.top and (row.reason is not None or not row.detectable)
    ]
    known = [row for row in firsts.values() if row.detectable is not None and row.top]
    if few:
        console.print(Text(_too_few(report, min(few, key=lambda row: row.n)), style="dim"))
        return
    if not known:
        return
    widest = max(known, key=_points)
    tests = len(report.groups or ()) if isinstance(widest, GroupComparison) else report.tests
    corrected = f", corrected for {_tests(tests, '')}" if tests > 1 else ""
    alike = "" if widest.correlation is None else f"; correlation {widest.correlation:.2f}"
    text = (
        f"{_cell(report, widest)} {widest.metric}: a true difference of "
        f"{_points(widest):.1f} points would be detected with 80% power{corrected}{alike}."
    )
    shown = _too_few(report, widest) if _points(widest) >= 100 else text
    console.print(Text(shown, style="dim"))


def _too_few(report: ComparisonReport, row: ComparedScore) -> str:
    return (
        f"{_cell(report, row)} {row.metric}, n = {row.n:,}: too few documents to detect any "
        "difference reliably."
    )


def _points(row: ComparedScore) -> float:
    return (row.detectable or 0.0) * (1 if row.unit else 100)


_VERDICTS = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


def _print_requirement(report: ComparisonReport, console: Console) -> None:
    """Print the verdict, and each comparison that does not pass with its interval."""
    if report.requirement is None:
        return
    rows = [*report.comparisons, *(report.groups or ())]
    for verdict in ("fail", "inconclusive"):
        for row in (one for one in rows if one.verdict == verdict):
            line = f"{verdict}: {_cell(report, row)} {row.metric} {_numbers(row)[3]}"
            if row.documents_needed is not None:
                line += f"; about {row.documents_needed:,} documents would decide"
            console.print(Text(line, style=_VERDICTS[verdict]), soft_wrap=True)
    passed = sum(row.verdict == "pass" for row in rows)
    required, verdict = report.requirement.required, report.requirement.verdict
    line = f"required {required}: {verdict} ({passed:,} of {len(rows):,} pass)"
    console.print(Text(line, style=f"bold {_VERDICTS[verdict]}"))
