"""A plan as a table: documents that a difference needs, and what each data set detects."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.analysis.plan import PlannedTask, PlanReport
from tenbin.report.terminal.console import made_visible, make_console, natural_width


def print_plan(report: PlanReport, console: Console | None = None) -> None:
    """Print what is to be found, one line per task, and how to read it."""
    console = console or make_console()
    report = made_visible(report)
    tests = f", corrected for {report.tests:,} tests" if report.tests > 1 else ""
    console.print(
        Text(
            f"documents needed to detect {report.detect:g} points between two runs on the same "
            f"documents, with {100 * report.power:g}% power at the {100 * report.level:g}% "
            f"level{tests}",
            style="bold",
        )
    )
    table = _table(report)
    if natural_width(table, console) <= console.width:
        console.print(table)
    else:
        _print_lines(report, console)
    for id, why in report.left_out.items():
        console.print(Text(f"{id}: left out: {why}", style="yellow"))
    short = [task for task in report.tasks if _never_enough(task)]
    if short:
        console.print(
            Text(
                "no correlation here makes the data set large enough: "
                + ", ".join(task.id for task in short),
                style="yellow",
            )
        )
    line = "correlation: of the two runs' answers over documents"
    if all(task.correlation is None for task in report.tasks):
        line += "; 0.8 two versions of one model, 0.5 usual, 0.2 unlike models"
    console.print(Text(f"{line}. data set: what all of its documents detect.", style="dim"))


def _table(report: PlanReport) -> Table:
    measured = any(task.correlation is not None for task in report.tasks)
    assumed = list(report.tasks[0].needed)
    columns = ("correlation", "needed") if measured else [f"correlation {of}" for of in assumed]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("task", no_wrap=True)
    for name in ("score", *columns, "data set", "detects"):
        table.add_column(name, justify="right", no_wrap=True)
    for task in report.tasks:
        needed = [_needed(task, of) for of in task.needed]
        table.add_row(
            Text(task.id),
            f"{task.score:.0f}%",
            *([*task.needed] if measured else []),
            *needed,
            _documents(task),
            _detects(task),
        )
    return table


def _needed(task: PlannedTask, of: str) -> Text:
    number = task.needed[of]
    enough = task.documents is not None and number <= task.documents
    return Text(f"{number:,}", style="green" if enough else "")


def _print_lines(report: PlanReport, console: Console) -> None:
    """Print two short lines per task, for narrow terminals."""
    for task in report.tasks:
        console.print(Text(f"{task.id} at {task.score:.0f}%", style="bold"))
        needed = ", ".join(f"{number:,} ({of})" for of, number in task.needed.items())
        console.print(Text(f"  needs {needed}"))
        console.print(Text(f"  data set {_documents(task)}, detects {_detects(task)}"))


def _documents(task: PlannedTask) -> str:
    return "unknown" if task.documents is None else f"{task.documents:,}"


def _detects(task: PlannedTask) -> str:
    if task.detectable is None:
        return "–"
    known = sorted(points for points in task.detectable.values() if points is not None)
    if not known:
        return "nothing"
    if f"{known[0]:.1f}" == f"{known[-1]:.1f}":
        return f"{known[0]:.1f} points"
    return f"{known[0]:.1f} to {known[-1]:.1f} points"


def _never_enough(task: PlannedTask) -> bool:
    return task.documents is not None and min(task.needed.values()) > task.documents
