"""Results as a table on a terminal or in a pipe. Reads result documents only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.console import make_console
from tenbin.report.terminal.engine_notes import choice_lines, mode_of, usage_lines
from tenbin.report.terminal.escape import made_visible
from tenbin.report.terminal.warnings import is_unscored, partial_lines, unscored_lines

_WIDE = 0.05
"""Half an interval, as a share of the scale, from which a score says little and is told so."""
_HUGE = 1e6
"""From here on a number is written with its power of ten."""


def print_results(document: Mapping[str, Any], console: Console | None = None) -> None:
    """The scores of a run: one line a metric, then groups, then what went wrong."""
    console = console or make_console()
    document = made_visible(document)
    for line in partial_lines(document):
        console.print(Text(line, style="bold yellow"), soft_wrap=True)
    _print_scores(document, console)
    for line in unscored_lines(document):
        console.print(Text(line, style="red"), soft_wrap=True)
    _print_precision(document, console)
    for line in [
        *_sampling_lines(document),
        *_thinking_lines(document),
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
    """The scores as tables; what could not be scored has no numbers to be shown in one."""
    tables = []
    if _scored(document["details"]):
        tables.append(_score_table(document))
    if _scored(document["group_details"]):
        tables.append(_group_table(document))
    # A table that does not fit would fold into shreds.
    if all(natural_width(table, console) <= console.width for table in tables):
        for table in tables:
            console.print(table)
    else:
        _print_stacked(document, console)


def _scored(details: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Ids of which at least one document was scored."""
    return [id for id, found in details.items() if not is_unscored(found)]


def natural_width(table: Table, console: Console) -> int:
    """The width of a table that nothing squeezes."""
    return Measurement.get(console, console.options.update(width=10_000), table).maximum


def _print_precision(document: Mapping[str, Any], console: Console) -> None:
    """What the least precise of the tasks' first scores could have shown, where that is little."""
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
    text = f"precision: {id} {metric}, n {detail['n']:,}: "
    if unpaired is None or paired is None or unpaired >= 100:
        text += "too few documents to find any difference reliably."
    else:
        text += (
            f"±{100 * half:.0f} points. To be found four times out of five, a difference must be "
            f"{unpaired:.0f} points on other documents, about {paired:.0f} on the same ones."
        )
    console.print(Text(text, style="dim"))


def _half_width(detail: Mapping[str, Any]) -> float | None:
    """Half the interval as a share of the scale; None without one of the two."""
    if "weight" in detail or detail.get("low") is None or detail.get("high") is None:
        return None
    return float(detail["high"] - detail["low"]) / (200 if detail["unit"] == "%" else 2)


def _sampling_lines(document: Mapping[str, Any]) -> list[str]:
    """How answers were drawn, where they were: one line for all tasks that drew alike."""
    ids: dict[str, list[str]] = {}
    for id, config in document["configs"].items():
        # Runs of earlier versions know greedy decoding only.
        if not config.get("do_sample"):
            continue
        several = config["repeats"] > 1
        how = f"{config['repeats']} answers" if several else "one answer"
        how += f" drawn to each document, temperature {config['temperature']:g}"
        how += f", top_k {config['top_k']}" if config["top_k"] else ""
        how += f", top_p {config['top_p']:g}" if config["top_p"] < 1 else ""
        how += f", seed {config['seed']}"
        ids.setdefault(how + ("; values are means over them" if several else ""), []).append(id)
    return [f"drawn: {', '.join(names)}: {how}" for how, names in ids.items()]


def _thinking_lines(document: Mapping[str, Any]) -> list[str]:
    """How long thoughts and answers were, where they were kept apart: one line a task."""
    lines = []
    # Runs of earlier versions know no thoughts.
    for id, lengths in document.get("lengths", {}).items():
        ends = lengths["thoughts"]
        if not ends or not lengths["answers"]:
            continue
        line = f"thinking: {id}: "
        if lengths["thinking_tokens"] is None:
            line += "thoughts were kept apart, but nobody counted their tokens"
        else:
            line += f"{lengths['thinking_tokens']:,.0f} tokens of thought and "
            line += f"{lengths['answer_tokens']:,.0f} of answer on average"
        asked = document["configs"][id]["thinking"]
        for end, what in (
            ("budget", f"thoughts cut at {asked['budget']:,} tokens" if asked else ""),
            ("open", "thoughts never closed, so that no answer follows"),
            ("none", "answers without a thought"),
        ):
            line += f"; {ends[end]:,} of {lengths['answers']:,} {what}" if ends[end] else ""
        lines.append(line)
    return lines


def _print_stacked(document: Mapping[str, Any], console: Console) -> None:
    """A heading a task and a line a metric, for narrow terminals."""
    console.print(Text(_model_name(document), style="dim"))
    for id in _scored(document["details"]):
        config, details = document["configs"][id], document["details"][id]
        first = next(iter(details.values()))
        console.print(Text(id, style="bold"))
        facts = f"  template {config['template']}, shots {config['num_fewshot']}, {_counts(first)}"
        console.print(Text(facts, style="dim"))
        _print_lines(document["results"][id], details, console)
    for id in _scored(document["group_details"]):
        entries, details = document["groups"][id], document["group_details"][id]
        console.print(Text(f"{id}: {len(document['group_subtasks'][id])} tasks", style="bold"))
        console.print(Text(f"  {_counts(next(iter(details.values())))}", style="dim"))
        _print_lines(entries, details, console)


def _counts(detail: Mapping[str, Any]) -> str:
    clusters = detail.get("clusters")
    units = f" in {clusters:,} clusters" if clusters and clusters != detail["n"] else ""
    return f"n {detail['n']:,}{units}, failed {detail['failed']:,}"


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
        ("95 % interval", "right"),
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
        "groups (value: mean weighted by documents)",
        ("group", "left"),
        ("tasks", "right"),
        ("n", "right"),
        ("items", "right"),
        ("metric", "left"),
        ("value", "right"),
        ("± error", "right"),
        ("95 % interval", "right"),
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
        f"{engine.get('name')} engine, {mode_of(engine)}",
    ]
    return " · ".join(part for part in parts if part != "None")


def _metric_name(metric: str, detail: Mapping[str, Any]) -> str:
    return f"{metric} {'↑' if detail['higher_is_better'] else '↓'}"


def _numbers(
    entries: Mapping[str, Any], metric: str, detail: Mapping[str, Any]
) -> tuple[str, str, str]:
    """Value, error and interval."""
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
    # Percentages need two decimals to say what fractions say with four; perplexities know no end.
    form = ".2f" if unit else ".4e" if value is not None and value >= _HUGE else ".4f"
    return (
        "–" if value is None else f"{value:{form}}{unit}",
        "–" if stderr is None else f"{stderr:{form}}{unit}",
        "–" if low is None or high is None else f"[{low:{form}}, {high:{form}}]",
    )


def _failed(detail: Mapping[str, Any]) -> Text:
    count = detail["failed"]
    return Text(f"{count:,}", style="red bold" if count else "dim")
