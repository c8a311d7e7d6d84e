"""Many models: one row per model, one column per task, each score with its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.console import made_visible, make_console
from tenbin.report.terminal.scores import natural_width

Row = tuple[str, Mapping[str, Any], str]
"""A model's name, its result document, and the reason if it has none."""


def print_models(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print the first metric of every task for every model, then failures."""
    console = console or make_console()
    rows = made_visible(list(rows))
    scored = [(name, scores) for name, scores, _ in rows if scores]
    if scored:
        table = _wide(scored)
        # A table that is too wide would be folded beyond recognition.
        fits = natural_width(table, console) <= console.width
        console.print(table if fits else _long(scored))
    for name, scores, reason in rows:
        if reason:
            console.print(Text(f"failed: {name}: {reason}", style="red"), soft_wrap=True)
        for cell, reasons in scores.get("failures", {}).items():
            count = sum(reasons.values())
            line = f"{name}: {cell}: {count:,} documents failed"
            console.print(Text(line, style="yellow"), soft_wrap=True)


def _columns(scored: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, str]]:
    """Return (id, first metric) of every task, in the order of the first model."""
    found: dict[tuple[str, str], None] = {}
    for _, scores in scored:
        for id, details in scores["details"].items():
            if details and scores["configs"][id].get("role") != "select":
                found[id, next(iter(details))] = None
    return list(found)


def _wide(scored: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    columns = _columns(scored)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("model")
    for id, metric in columns:
        table.add_column(f"{id}\n{metric}", justify="right")
    for name, scores in scored:
        table.add_row(name, *(_score(scores, id, metric) for id, metric in columns))
    return table


def _long(scored: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("task", "metric", "model"):
        table.add_column(heading, overflow="fold")
    table.add_column("value ± error", justify="right", no_wrap=True)
    for id, metric in _columns(scored):
        for at, (name, scores) in enumerate(scored):
            heads = (id, metric) if at == 0 else ("", "")
            table.add_row(*heads, name, _score(scores, id, metric))
    return table


def _score(scores: Mapping[str, Any], id: str, metric: str) -> str:
    results = scores["results"].get(id, {})
    value = results.get(metric)
    if value is None:
        return "–"
    name, comma, filter_name = metric.partition(",")
    error = results.get(f"{name}_stderr{comma}{filter_name}")
    return f"{value:.4f}" + (f" ± {error:.4f}" if error is not None else "")
