"""Scores of a run: groups, languages side by side, one line a task, and the notes below them."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from tenbin.report.terminal.all_metrics import print_all_metrics
from tenbin.report.terminal.console import made_visible, make_console, print_note
from tenbin.report.terminal.language_blocks import language_blocks, print_block
from tenbin.report.terminal.precision import precision_line
from tenbin.report.terminal.run_notes import (
    budget_lines,
    choice_lines,
    chosen_lines,
    definition_lines,
    engine_mode,
    is_unscored,
    origin_lines,
    part_lines,
    partial_lines,
    sampling_lines,
    stopping_lines,
    thinking_lines,
    tool_lines,
    unscored_lines,
    usage_lines,
    without_parts,
)
from tenbin.report.terminal.score_lines import print_group_lines, print_task_lines
from tenbin.results.schema import MetricDetail, RunResult


def print_results(
    result: RunResult, console: Console | None = None, all_metrics: bool = False
) -> None:
    """Print the scores of a run: groups, then tasks, then failures and notes.

    Args:
        result: The run.
        console: Where to; None: standard output.
        all_metrics: Whether every metric has a line, with all that is known of it; otherwise a
            task has one line, and tasks of many languages are columns of one block.
    """
    console = console or make_console()
    result = made_visible(result)
    for line in partial_lines(result):
        print_note(console, line, "bold yellow")
    for line in budget_lines(result):
        print_note(console, line)
    result = without_parts(result)
    print_note(console, _model_line(result), "dim")
    _print_scores(result, console, all_metrics)
    for line in stopping_lines(result):
        print_note(console, line)
    for line in unscored_lines(result):
        print_note(console, line, "red")
    for line in [
        *_more_metrics(result, all_metrics),
        *filter(None, [precision_line(result)]),
        *definition_lines(result),
        *chosen_lines(result),
        *part_lines(result),
        *tool_lines(result),
        *sampling_lines(result),
        *thinking_lines(result),
        *choice_lines(result),
        *origin_lines(result),
        *usage_lines(result.usage),
    ]:
        print_note(console, line, "dim")
    for cell, reasons in result.failures.items():
        for reason, count in reasons.items():
            print_note(console, f"failed: {cell}: {count:,} × {reason}", "red")
    # The first warning of a partial run says so, which the first line has said already.
    for warning in result.warnings[bool(result.partial) :]:
        print_note(console, f"note: {warning}", "yellow")


def _print_scores(result: RunResult, console: Console, all_metrics: bool) -> None:
    """Print what has scores: groups, blocks of languages, and the other tasks."""
    groups, tasks = _scored(result.group_details), _scored(result.details)
    console.print()
    if all_metrics:
        print_all_metrics(result, tasks, groups, console)
        console.print()
        return
    if groups:
        print_group_lines(result, groups, console)
        console.print()
    blocks = language_blocks(result, tasks)
    for block in blocks:
        print_block(result, block, console)
        console.print()
    shown = {id for block in blocks for id in block.ids}
    alone = [id for id in tasks if id not in shown]
    if alone:
        print_task_lines(result, alone, console)
        console.print()


def _more_metrics(result: RunResult, all_metrics: bool) -> list[str]:
    """Return a line about metrics that have no line of their own."""
    if all_metrics or max(map(len, result.details.values()), default=1) <= 1:
        return []
    first = "the metric that enters a mean" if result.group_definitions else "the first metric"
    return [f"{first} of each task; --all_metrics: all"]


def _scored(details: Mapping[str, Mapping[str, MetricDetail]]) -> list[str]:
    """Return the ids with at least one scored document."""
    return [id for id, found in details.items() if not is_unscored(found.values())]


def _model_line(result: RunResult) -> str:
    engine = result.engine or {}
    parts = [
        str(result.model.get("model")),
        str(result.model.get("dtype")),
        str(result.model.get("device")),
        f"{engine.get('name')} engine, {engine_mode(engine)}",
    ]
    return " · ".join(part for part in parts if part not in ("None", "none"))
