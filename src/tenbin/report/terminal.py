"""Results as a table on a terminal or in a pipe. Reads result documents only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_NARROW = 96
"""Columns below which a table would fold into shreds."""


def print_results(document: Mapping[str, Any], console: Console | None = None) -> None:
    """The scores of a run: one line a metric, then groups, then what went wrong."""
    console = console or make_console()
    if console.width < _NARROW:
        _print_stacked(document, console)
    else:
        console.print(_score_table(document))
        if document["groups"]:
            console.print(_group_table(document))
    for cell, reasons in document["failures"].items():
        for reason, count in reasons.items():
            console.print(
                Text(f"failed: {cell}: {count:,} × {reason}", style="red"), soft_wrap=True
            )
    for warning in document["warnings"]:
        console.print(Text(f"note: {warning}", style="yellow"), soft_wrap=True)


def _print_stacked(document: Mapping[str, Any], console: Console) -> None:
    """A heading a task and a line a metric, for narrow terminals."""
    console.print(Text(_model_name(document), style="dim"))
    for id, config in document["configs"].items():
        details = document["details"][id]
        first = next(iter(details.values()))
        console.print(Text(id, style="bold"))
        facts = f"  template {config['template']}, shots {config['num_fewshot']}, n {first['n']:,}"
        console.print(Text(f"{facts}, failed {first['failed']:,}", style="dim"))
        _print_lines(document["results"][id], details, console)
    for id, entries in document["groups"].items():
        console.print(Text(f"{id}: {len(document['group_subtasks'][id])} tasks", style="bold"))
        _print_lines(entries, document["group_details"][id], console)


def _print_lines(entries: Mapping[str, Any], details: Mapping[str, Any], console: Console) -> None:
    for metric, detail in details.items():
        value, error = _numbers(entries, metric, detail)
        console.print(f"  {_metric_name(metric, detail)}  {value} ± {error}", highlight=False)


def make_console() -> Console:
    """Standard output; a pipe gets plain lines wide enough for the whole table."""
    console = Console()
    return console if console.is_terminal else Console(width=120, color_system=None)


def _table(title: str, *columns: tuple[str, str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in columns:
        # Ids may fold on a narrow terminal; numbers never do.
        table.add_column(
            name,
            justify=justify,  # type: ignore[arg-type]
            overflow="fold",
            no_wrap=justify == "right" or name == "metric",
        )
    return table


def _score_table(document: Mapping[str, Any]) -> Table:
    table = _table(
        f"{_model_name(document)}",
        ("task", "left"),
        ("template", "left"),
        ("n", "right"),
        ("shots", "right"),
        ("metric", "left"),
        ("value", "right"),
        ("± error", "right"),
        ("failed", "right"),
    )
    for id, config in document["configs"].items():
        entries, details = document["results"][id], document["details"][id]
        for position, (metric, detail) in enumerate(details.items()):
            first = position == 0
            table.add_row(
                f"{config['task']} {config['version']}" if first else "",
                config["template"] if first else "",
                f"{detail['n']:,}" if first else "",
                str(config["num_fewshot"]) if first else "",
                _metric_name(metric, detail),
                *_numbers(entries, metric, detail),
                _failed(detail) if first else "",
                end_section=position == len(details) - 1,
            )
    return table


def _group_table(document: Mapping[str, Any]) -> Table:
    table = _table(
        "groups (mean weighted by documents)",
        ("group", "left"),
        ("tasks", "right"),
        ("n", "right"),
        ("metric", "left"),
        ("value", "right"),
        ("± error", "right"),
        ("failed", "right"),
    )
    for id, entries in document["groups"].items():
        for position, (metric, detail) in enumerate(document["group_details"][id].items()):
            first = position == 0
            table.add_row(
                id if first else "",
                str(len(document["group_subtasks"][id])) if first else "",
                f"{detail['n']:,}" if first else "",
                _metric_name(metric, detail),
                *_numbers(entries, metric, detail),
                _failed(detail) if first else "",
            )
    return table


def _model_name(document: Mapping[str, Any]) -> str:
    model = document["model"]
    engine = document.get("engine") or {}
    parts = [
        str(model.get("model")),
        str(model.get("dtype")),
        str(model.get("device")),
        f"{engine.get('name')} engine, {engine.get('mode')}",
    ]
    return " · ".join(part for part in parts if part != "None")


def _metric_name(metric: str, detail: Mapping[str, Any]) -> str:
    return f"{metric} {'↑' if detail['higher_is_better'] else '↓'}"


def _numbers(entries: Mapping[str, Any], metric: str, detail: Mapping[str, Any]) -> tuple[str, str]:
    name, comma, filter_name = metric.partition(",")
    value, stderr = entries[metric], entries[f"{name}_stderr{comma}{filter_name}"]
    unit = detail["unit"]
    # Percentages need two decimals to say what fractions say with four.
    digits = 2 if unit else 4
    return (
        "–" if value is None else f"{value:.{digits}f}{unit}",
        "–" if stderr is None else f"{stderr:.{digits}f}{unit}",
    )


def _failed(detail: Mapping[str, Any]) -> Text:
    count = detail["failed"]
    return Text(f"{count:,}", style="red bold" if count else "dim")
