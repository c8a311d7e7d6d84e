"""A sweep: the table of options, their spread, the chosen one and its honest score."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.analysis.sweep.choice import Choice
from tenbin.analysis.sweep.differences import AllTogether, OptionDifference
from tenbin.analysis.sweep.report import SweepReport
from tenbin.analysis.sweep.score import Score
from tenbin.analysis.sweep.task_sweep import OptionReport, TaskSweep
from tenbin.report.terminal.console import made_visible, make_console, print_note
from tenbin.report.terminal.distribution import print_distribution
from tenbin.report.terminal.run_notes import (
    choice_lines,
    partial_lines,
    unscored_lines,
    usage_lines,
)
from tenbin.results.schema import RunResult
from tenbin.sandbox.printable import counted

_LABEL, _CELL = 22, 14
"""Widths of the overview's columns: a task's name, a score with its error."""


def print_sweep(report: SweepReport, console: Console | None = None) -> None:
    """Print tasks by templates, each task in detail, and the command that uses the choice."""
    console = console or make_console()
    report = made_visible(report)
    run_in_full = {(task.task, task.version) for task in report.tasks if task.leading}
    for found in report.distributions or ():
        print_distribution(found, console, (found.task, found.version) in run_in_full)
    _print_overview(report, console)
    for task in report.tasks:
        console.print(_options_table(task))
        for line in _conclusions(task):
            print_note(console, f"  {line}")
        console.print()
    if report.command:
        console.print(Text("to use the chosen templates:", style="bold"))
        console.print(Text(f"  {report.command}"), soft_wrap=True)


def print_run_notes(result: RunResult, console: Console | None = None) -> None:
    """Print notes on the sweep's run: partial, unscored, choices picked by letter, usage."""
    console = console or make_console()
    result = made_visible(result)
    for line in [*partial_lines(result), *unscored_lines(result)]:
        print_note(console, line, "bold yellow")
    for line in [*choice_lines(result), *usage_lines(result.usage)]:
        print_note(console, line, "dim")


def _print_overview(report: SweepReport, console: Console) -> None:
    """Print tasks by templates if there are several tasks and the table fits."""
    tasks = report.tasks
    columns = list(dict.fromkeys(_name(o) for task in tasks for o in task.options))
    if len(tasks) < 2 or _LABEL + _CELL * len(columns) > console.width:
        return
    table = Table(
        title="score ± error, best of each task in bold",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("task", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for task in tasks:
        found = {_name(option): at for at, option in enumerate(task.options)}
        cells = []
        for column in columns:
            at = found.get(column)
            if at is None:
                cells.append(Text("–", style="dim"))
                continue
            option = task.options[at]
            score = option.score
            text = f"{_score(score.value, task)}±{_error(score.stderr, task)}"
            cells.append(Text(text, style="bold" if at == task.best else ""))
        table.add_row(f"{task.task} {task.version}", *cells)
    console.print(table)


def _options_table(task: TaskSweep) -> Table:
    arrow = "↑" if task.higher_is_better else "↓"
    asked = counted(task.documents, "document")
    title = f"{task.task} {task.version}  {task.metric} {arrow}, {asked}"
    table = Table(
        title=f"{title}: the leading prompts in full" if task.leading else title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    # A format is run by its whole id.
    table.add_column("template", overflow="fold")
    for name in ("shots", "value", "± error", "95% interval", "behind best", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    failed = any(option.failed for option in task.options)
    if failed:
        table.add_column("failed", justify="right", no_wrap=True)
    behind = {entry.option: entry for entry in task.differences or ()}
    for at, option in enumerate(task.options):
        best = at == task.best
        entry = behind.get(at)
        row = [
            option.template,
            str(option.shots),
            _score(option.score.value, task),
            _error(option.score.stderr, task),
            _interval(option.score, task),
            "best" if best else _behind(entry, task),
            "" if best else _p_value(entry),
        ]
        table.add_row(*row, *([f"{option.failed:,}"] if failed else []),
                      style="bold" if best else "")  # fmt: skip
    return table


def _conclusions(task: TaskSweep) -> list[str]:
    spread, lines = task.spread, []
    if len(task.options) > 1:
        lines.append(
            f"spread: {_score(spread.lowest, task)} to {_score(spread.highest, task)}, "
            f"mean {_score(spread.mean, task)}, standard deviation {_error(spread.deviation, task)}"
        )
    if task.together is not None:
        lines += _together_lines(task, task.together)
    if task.choice is not None:
        lines += _choice_lines(task, task.choice)
    for option in task.options:
        if option.draws is not None and option.draws_spread is not None:
            found = option.draws_spread
            lines.append(
                f"{_name(option)} over {len(option.draws)} samples of few-shot examples: "
                f"{_score(found.lowest, task)} to {_score(found.highest, task)}, "
                f"standard deviation {_error(found.deviation, task)}"
            )
    variance = task.variance
    if variance is not None and variance.shares.variance > 0:
        shares = ((_SOURCES[name], getattr(variance.shares, name)) for name in variance.varied)
        parts = ", ".join(f"{name} {share:.0%}" for name, share in shares)
        lines.append(
            f"variance of one score: {parts} (total standard error {_error(variance.stderr, task)})"
        )
    return lines


_SOURCES = {
    "prompt": "wording",
    "examples": "examples",
    "items": "documents",
    "chance": "wording × document or chance",
}


def _together_lines(task: TaskSweep, found: AllTogether) -> list[str]:
    """Whether options differ at all, before anything is said of the best."""
    tested = "" if found.p_value is None else f" (p = {found.p_value:.2g})"
    line = f"options differ{tested}" if found.shown else f"no option is shown to be better{tested}"
    if not found.shown and found.documents_needed is not None:
        line += (
            f"; a spread as large as the one seen would be shown with about "
            f"{found.documents_needed:,} documents"
        )
    if found.mean is None or task.leading:
        return [line]
    return [
        line,
        f"mean over options {_score(found.mean.value, task)} ± {_error(found.mean.stderr, task)} "
        f"({_interval(found.mean, task)})",
    ]


def _choice_lines(task: TaskSweep, choice: Choice) -> list[str]:
    honest = choice.honest
    how = f"chosen on {choice.on}: {_name(task.options[choice.option])}"
    if choice.shares is not None:
        share = choice.shares[choice.option]
        how += f" (best on all documents; folds chose it for {share:.0%} of them)"
    return [
        how,
        f"honest score {_score(honest.value, task)} ± {_error(honest.stderr, task)} "
        f"({_interval(honest, task)}); best of the table {_score(choice.naive, task)}, "
        f"optimism {_error(choice.optimism, task)}",
    ]


def _name(option: OptionReport) -> str:
    """Return an option's heading: its template, and its shots if options differ in them."""
    marked = any("shot" in id.partition("@")[2] for id in option.ids)
    return f"{option.template}, {option.shots}-shot" if marked else option.template


def _score(value: float | None, task: TaskSweep) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}{task.unit}" if task.unit else f"{value:.3f}"


def _error(value: float | None, task: TaskSweep) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if task.unit else f"{value:.3f}"


def _interval(score: Score, task: TaskSweep) -> str:
    if score.low is None or score.high is None:
        return score.reason or "–"
    return f"{_error(score.low, task)}–{_error(score.high, task)}"


def _behind(entry: OptionDifference | None, task: TaskSweep) -> str:
    return "–" if entry is None else _error(abs(entry.difference), task)


def _p_value(entry: OptionDifference | None) -> str:
    if entry is None:
        return "–"
    return "<0.001" if entry.p_holm < 0.001 else f"{entry.p_holm:.3f}"
