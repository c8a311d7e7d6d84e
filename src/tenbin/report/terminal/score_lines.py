"""Scores as one line a task or group, with the first metric alone.

The narrower the terminal, the fewer columns: what is left out stands in result.json, and an id is
never cut.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.console import natural_width
from tenbin.report.terminal.numbers import headline_name, short_interval, value_with_error
from tenbin.results.schema import MetricScore, RunResult

_LAYOUTS: Sequence[tuple[bool, tuple[str, ...]]] = (
    (False, ()),
    (True, ()),
    (False, ("interval",)),
    (True, ("interval",)),
    (True, ("interval", "shots")),
    (True, ("interval", "shots", "n")),
)
"""Whether the metric stands behind the id in one column, and columns that are left out: the first
layout that fits is taken."""
_HEADINGS = {
    "task": "task",
    "group": "group",
    "shots": "shots",
    "tasks": "tasks",
    "n": "n",
    "failed": "failed",
    "metric": "metric",
    "value": "value ± error",
    "interval": "95% interval",
}
_NAMES = ("task", "group")
_LEFT = (*_NAMES, "metric")
_Line = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A group and how deep it stands below groups that hold all of its tasks."""

    id: str
    depth: int


def print_group_lines(result: RunResult, ids: Sequence[str], console: Console) -> None:
    """Print one line per group, those within others below them."""
    lines = []
    for one in nested_groups(result.group_subtasks, ids):
        score = result.group_scores(one.id)[0]
        counts = {"tasks": f"{len(result.group_subtasks[one.id]):,}"}
        lines.append({"group": "  " * one.depth + one.id, **counts, **_numbers(score)})
    _print_lines(lines, console)


def print_task_lines(result: RunResult, ids: Sequence[str], console: Console) -> None:
    """Print one line per task."""
    _print_lines(
        [
            {
                "task": id,
                "shots": str(result.configs[id].num_fewshot),
                **_numbers(result.scores(id)[0]),
            }
            for id in ids
        ],
        console,
    )


def nested_groups(members: Mapping[str, Collection[str]], ids: Sequence[str]) -> list[GroupLine]:
    """Return the groups in the order of a tree: each below the smallest one that holds it."""
    held = {id: set(members[id]) for id in ids}
    parent: dict[str, str | None] = {}
    for id, own in held.items():
        above = [other for other, theirs in held.items() if own < theirs]
        parent[id] = min(above, key=lambda other: len(held[other]), default=None)

    def below(of: str | None, depth: int) -> list[GroupLine]:
        return [
            line
            for id in ids
            if parent[id] == of
            for line in [GroupLine(id, depth), *below(id, depth + 1)]
        ]

    return below(None, 0)


def _numbers(score: MetricScore) -> dict[str, str]:
    detail = score.detail
    return {
        "n": f"{detail.n:,}",
        "failed": f"{detail.failed:,}" if detail.failed else "",
        "metric": headline_name(score),
        "value": value_with_error(score),
        "interval": short_interval(detail),
    }


def _aligned(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines with their signs `±` below each other."""
    width = max(len(line["value"].partition(" ± ")[2]) for line in lines)
    aligned: list[_Line] = []
    for line in lines:
        value, sign, error = line["value"].partition(" ± ")
        aligned.append({**line, "value": f"{value}{sign}{error:>{width}}"})
    return aligned


def _print_lines(lines: Sequence[_Line], console: Console) -> None:
    if not lines:
        return
    lines = _aligned(lines)
    names = [name for name in _HEADINGS if any(line.get(name) for line in lines)]
    for joined, dropped in _LAYOUTS:
        left_out = (*dropped, "metric") if joined else dropped
        table = _table([name for name in names if name not in left_out], lines, joined)
        if natural_width(table, console) <= console.width:
            console.print(table)
            return
    _print_stacked(lines, console)


def _table(names: Sequence[str], lines: Sequence[_Line], joined: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        table.add_column(
            _HEADINGS[name] + (", metric" if joined and name in _NAMES else ""),
            justify="left" if name in _LEFT else "right",
            no_wrap=True,
            style="red" if name == "failed" else "bold" if name == "value" else "",
        )
    for line in lines:
        cells = {name: Text(line.get(name, "")) for name in names}
        if joined:
            cells[names[0]].append(f"  {line['metric']}", style="dim")
        table.add_row(*cells.values())
    return table


def _print_stacked(lines: Sequence[_Line], console: Console) -> None:
    """Print the id, and the numbers on a line below it."""
    for line in lines:
        console.print(Text(line.get("task") or line["group"], style="bold"), overflow="fold")
        failed = f", {line['failed']} failed" if line["failed"] else ""
        console.print(Text(f"  {line['metric']} {line['value'].strip()}, n = {line['n']}{failed}"))
