"""Scores of a run as tables, or stacked lines where the tables are wider than the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.console import made_visible, make_console
from tenbin.report.terminal.run_notes import (
    choice_lines,
    engine_mode,
    is_unscored,
    partial_lines,
    sampling_lines,
    thinking_lines,
    unscored_lines,
    usage_lines,
)

_WIDE = 0.05
"""Half-width of an interval, as a share of the scale, from which its imprecision is noted."""
_HUGE = 1e6
"""Values from which on numbers are printed in scientific notation."""


def print_results(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the scores of a run, one line per metric, then groups, failures and notes."""
    console = console or make_console()
    document = made_visible(document)
    for line in partial_lines(document):
        console.print(Text(line, style="bold yellow"), soft_wrap=True)
    _print_scores(document, console)
    for line in unscored_lines(document):
        console.print(Text(line, style="red"), soft_wrap=True)
    _print_precision(document, console)
    for line in [
        *sampling_lines(document),
        *thinking_lines(document),
        *choice_lines(document),
        *usage_lines(document),
    ]:
        console.print(Text(line, style="dim"), soft_wrap=True)
    for cell, reasons in document["failures"].items():
        for reason, count in reasons.items():
            console.print(
                Text(f"failed: {cell}: {count:,} × {reason}", style="red"), soft_wrap=True
            )
    for warning in document["warnings"][bool(document.get("partial")) :]:
        console.print(Text(f"note: {warning}", style="yellow"), soft_wrap=True)


def _print_scores(document: Mapping[str, Any], console: Console) -> None:
    """Print tables of the tasks and groups that have scores."""
    tables = []
    if _scored(document["details"]):
        tables.append(_score_table(document))
    if _scored(document["group_details"]):
        tables.append(_group_table(document))
    # A table that is too wide would be folded beyond recognition.
    if all(natural_width(table, console) <= console.width for table in tables):
        for table in tables:
            console.print(table)
    else:
        _print_stacked(document, console)


def _scored(details: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the ids with at least one scored document."""
    return [id for id, found in details.items() if not is_unscored(found)]


def natural_width(table: Table, console: Console) -> int:
    """Return the width that a table takes when nothing is folded."""
    return Measurement.get(console, console.options.update(width=10_000), table).maximum


def _print_precision(document: Mapping[str, Any], console: Console) -> None:
    """Print what the least precise of the first metrics can show, if its interval is wide."""
    firsts = [(id, *next(iter(d.items()))) for id, d in document["details"].items() if d]
    known = [
        (half, id, metric, detail)
        for id, metric, detail in firsts
        if (half := _half_width(detail)) is not None
    ]
    if not known:
        return
    half, id, metric, detail = max(known, key=lambda one: one[0])
    shown = detail.get("detectable") or {}
    if half < _WIDE:
        return
    scale = 1 if detail["unit"] == "%" else 100
    unpaired, paired = (
        None if value is None else scale * value
        for value in (shown.get("unpaired"), shown.get("paired"))
    )
    text = f"precision: {id} {metric}, n = {detail['n']:,}: "
    if unpaired is None or paired is None or unpaired >= 100:
        text += "too few documents to detect any difference reliably."
    else:
        text += (
            f"±{100 * half:.0f} points. Differences detectable with 80% power: "
            f"{unpaired:.0f} points on other documents, about {paired:.0f} on the same ones."
        )
    console.print(Text(text, style="dim"))


def _half_width(detail: Mapping[str, Any]) -> float | None:
    """Return half the interval's width as a share of the scale; None without interval or scale."""
    if "weight" in detail or detail.get("low") is None or detail.get("high") is None:
        return None
    return float(detail["high"] - detail["low"]) / (200 if detail["unit"] == "%" else 2)


def _print_stacked(document: Mapping[str, Any], console: Console) -> None:
    """Print a heading per task and a line per metric, for narrow terminals."""
    console.print(Text(_model_name(document), style="dim"))
    for id in _scored(document["details"]):
        config, details = document["configs"][id], document["details"][id]
        first = next(iter(details.values()))
        console.print(Text(id, style="bold"))
        facts = f"  template {config['template']}, {config['num_fewshot']}-shot, {_counts(first)}"
        console.print(Text(facts, style="dim"))
        _print_lines(document["results"][id], details, console)
    for id in _scored(document["group_details"]):
        entries, details = document["groups"][id], document["group_details"][id]
        members = len(document["group_subtasks"][id])
        title = f"{id}: {members} {'task' if members == 1 else 'tasks'}"
        console.print(Text(title, style="bold"))
        console.print(Text(f"  {_counts(next(iter(details.values())))}", style="dim"))
        _print_lines(entries, details, console)


def _counts(detail: Mapping[str, Any]) -> str:
    clusters = detail.get("clusters")
    units = f" ({count_clusters(clusters)})" if clusters and clusters != detail["n"] else ""
    return f"n = {detail['n']:,}{units}, {detail['failed']:,} failed"


def count_clusters(count: int) -> str:
    """Return `1 cluster`, `51 clusters`."""
    return "1 cluster" if count == 1 else f"{count:,} clusters"


def _print_lines(entries: Mapping[str, Any], details: Mapping[str, Any], console: Console) -> None:
    lines = [
        (_metric_name(metric, detail), *_numbers(entries, metric, detail), detail)
        for metric, detail in details.items()
    ]
    width = max((len(name) for name, *_ in lines), default=0)
    for name, value, error, interval, detail in lines:
        line = f"  {name:<{width}}  {value} ± {error}  {interval}"
        console.print(Text(line), soft_wrap=len(line) > console.width)
        plain, plain_error, _ = _unweighted(detail)
        if plain not in ("–", value):
            console.print(
                f"  {'':<{width}}  mean of tasks {plain} ± {plain_error}", highlight=False
            )


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
        ("95% interval", "right"),
        ("failed", "right"),
    )
    for id in _scored(document["details"]):
        config = document["configs"][id]
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
        "groups (value: mean weighted by number of documents)",
        ("group", "left"),
        ("tasks", "right"),
        ("n", "right"),
        ("items", "right"),
        ("metric", "left"),
        ("value", "right"),
        ("± error", "right"),
        ("95% interval", "right"),
        ("mean of tasks", "right"),
        ("failed", "right"),
    )
    for id in _scored(document["group_details"]):
        entries = document["groups"][id]
        for position, (metric, detail) in enumerate(document["group_details"][id].items()):
            first = position == 0
            table.add_row(
                id if first else "",
                str(len(document["group_subtasks"][id])) if first else "",
                f"{detail['n']:,}" if first else "",
                f"{detail['clusters']:,}" if first and "clusters" in detail else "",
                _metric_name(metric, detail),
                *_numbers(entries, metric, detail),
                _unweighted(detail)[0],
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
        f"{engine.get('name')} engine, {engine_mode(engine)}",
    ]
    return " · ".join(part for part in parts if part != "None")


def _metric_name(metric: str, detail: Mapping[str, Any]) -> str:
    return f"{metric} {'↑' if detail['higher_is_better'] else '↓'}"


def _numbers(
    entries: Mapping[str, Any], metric: str, detail: Mapping[str, Any]
) -> tuple[str, str, str]:
    """Return value, standard error and interval as printed."""
    name, comma, filter_name = metric.partition(",")
    error = entries[f"{name}_stderr{comma}{filter_name}"]
    return _written(entries[metric], error, detail.get("low"), detail.get("high"), detail["unit"])


def _unweighted(detail: Mapping[str, Any]) -> tuple[str, str, str]:
    plain = detail.get("unweighted")
    if plain is None:
        return "–", "–", "–"
    return _written(plain["value"], plain["stderr"], plain["low"], plain["high"], detail["unit"])


def _written(
    value: float | None, stderr: float | None, low: float | None, high: float | None, unit: str
) -> tuple[str, str, str]:
    # Two decimals of a percentage are four of a fraction; perplexities have no upper bound.
    form = ".2f" if unit else ".4e" if value is not None and value >= _HUGE else ".4f"
    return (
        "–" if value is None else f"{value:{form}}{unit}",
        "–" if stderr is None else f"{stderr:{form}}{unit}",
        "–" if low is None or high is None else f"[{low:{form}}, {high:{form}}]",
    )


def _failed(detail: Mapping[str, Any]) -> Text:
    count = detail["failed"]
    return Text(f"{count:,}", style="red bold" if count else "dim")
