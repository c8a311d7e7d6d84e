"""Many models: one row per model, one column per task, each score with its error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.console import made_visible, make_console, natural_width
from tenbin.results.schema import RunResult

_Scored = Sequence[tuple[str, RunResult]]
"""The models that have a result, by name."""


class EndedRun(Protocol):
    """How one model's run ended."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def result(self) -> RunResult | None:
        """Its result; None where it failed."""
        ...

    @property
    def reason(self) -> str:
        """Why it failed."""
        ...


def print_models(ended: Sequence[EndedRun], console: Console | None = None) -> None:
    """Print the first metric of every task for every model, then failures."""
    console = console or make_console()
    rows = made_visible([(one.name, one.result, one.reason) for one in ended])
    scored = [(name, result) for name, result, _ in rows if result is not None]
    if scored:
        table = _wide(scored)
        # A table that is too wide would be folded beyond recognition.
        fits = natural_width(table, console) <= console.width
        console.print(table if fits else _long(scored))
    for name, result, reason in rows:
        if reason:
            console.print(Text(f"failed: {name}: {reason}", style="red"), soft_wrap=True)
        for cell, reasons in (result.failures if result is not None else {}).items():
            count = sum(reasons.values())
            line = f"{name}: {cell}: {count:,} documents failed"
            console.print(Text(line, style="yellow"), soft_wrap=True)


def _columns(scored: _Scored) -> list[tuple[str, str]]:
    """Return (id, first metric) of every task, in the order of the first model."""
    found: dict[tuple[str, str], None] = {}
    for _, result in scored:
        for id, details in result.details.items():
            if details and result.configs[id].role not in ("select", "part"):
                found[id, next(iter(details))] = None
    return list(found)


def _wide(scored: _Scored) -> Table:
    columns = _columns(scored)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("model")
    for id, metric in columns:
        table.add_column(f"{id}\n{metric}", justify="right")
    for name, result in scored:
        table.add_row(name, *(_score(result, id, metric) for id, metric in columns))
    return table


def _long(scored: _Scored) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("task", "metric", "model"):
        table.add_column(heading, overflow="fold")
    table.add_column("value ± error", justify="right", no_wrap=True)
    for id, metric in _columns(scored):
        for at, (name, result) in enumerate(scored):
            heads = (id, metric) if at == 0 else ("", "")
            table.add_row(*heads, name, _score(result, id, metric))
    return table


def _score(result: RunResult, id: str, metric: str) -> str:
    scores = result.scores(id) if id in result.details else []
    one = next((one for one in scores if one.metric == metric), None)
    if one is None or one.value is None:
        return "–"
    return f"{one.value:.4f}" + (f" ± {one.stderr:.4f}" if one.stderr is not None else "")
