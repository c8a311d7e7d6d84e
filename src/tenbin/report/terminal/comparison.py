"""Paired comparisons of runs as a table, or stacked lines on a narrow terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.console import made_visible, make_console
from tenbin.report.terminal.run_notes import engine_mode
from tenbin.report.terminal.scores import count_clusters, natural_width

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SURE = 0.05


def print_comparison(
    document: Mapping[str, Any], changes: int = 3, console: Console | None = None
) -> None:
    """Print the runs, one line per comparison, changed documents and how to read the table.

    Args:
        document: The result of `compare_runs`.
        changes: How many documents to list per comparison and direction (better, worse).
        console: Standard output by default.
    """
    console = console or make_console()
    document = made_visible(document)
    for at, run in enumerate(document["runs"]):
        console.print(Text(f"{_letter(at)}  {run['name']}", style="bold"), soft_wrap=True)
        console.print(Text(f"   {_model(run)}", style="dim"), soft_wrap=True)
    table = _table(document)
    if natural_width(table, console) <= console.width:
        console.print(table)
    else:
        _print_lines(document, console)
    for row in document["comparisons"]:
        _print_changes(document, row, changes, console)
    _print_notes(document, console)


def _letter(at: int) -> str:
    return _LETTERS[at] if at < len(_LETTERS) else f"run {at + 1}"


def _model(run: Mapping[str, Any]) -> str:
    model = run["model"]
    engine = model.get("engine") or {}
    parts = [model.get("model"), model.get("dtype"), model.get("device"), engine_mode(engine)]
    return " · ".join(str(part) for part in [*parts, run["date"]] if part not in (None, "none"))


def _table(document: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("cell", "metric"):
        table.add_column(name, no_wrap=True)
    for name in ("n", "baseline", "other", "difference", "95% interval", "won/lost", "p", "Holm"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in document["comparisons"]:
        first, second, difference, interval = _numbers(row)
        table.add_row(
            Text(_cell(document, row)),
            Text(_metric(row)),
            f"{row['n']:,}",
            first,
            second,
            difference,
            Text(interval),
            f"{row['wins']:,}/{row['losses']:,}",
            _p(row["p_value"]),
            Text(_corrected(row), style=_style(row)),
        )
    return table


def _print_lines(document: Mapping[str, Any], console: Console) -> None:
    """Print three short lines per comparison, for narrow terminals."""
    for row in document["comparisons"]:
        first, second, difference, interval = _numbers(row)
        console.print(Text(f"{_cell(document, row)} {_metric(row)}", style="bold"))
        console.print(
            Text(f"  {first} → {second}  "), Text(f"{difference} {interval}", _style(row)), sep=""
        )
        console.print(
            f"  {_count(row)}: {row['wins']:,} won, {row['losses']:,} lost, {row['ties']:,} tied; "
            f"p = {_p(row['p_value'])}, Holm {_corrected(row).rstrip()}",
            highlight=False,
        )


def _count(row: Mapping[str, Any]) -> str:
    clusters = "" if row["clusters"] == row["n"] else f" ({count_clusters(row['clusters'])})"
    return f"n = {row['n']:,}{clusters}"


def _cell(document: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    one, two = row["baseline"], row["other"]
    ids = one["id"] if one["id"] == two["id"] else f"{one['id']} → {two['id']}"
    if len(document["runs"]) < 3:
        return str(ids)
    return f"{_letter(one['run'])}→{_letter(two['run'])} {ids}"


def _metric(row: Mapping[str, Any]) -> str:
    return f"{row['metric']} {'↑' if row['higher_is_better'] else '↓'}"


def _numbers(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    unit, low, high = row["unit"], row["low"], row["high"]
    largest = max(row["value"].values())
    # Two decimals of a percentage are four of a fraction; perplexities have no upper bound.
    form = ".2f" if unit else ".4e" if largest >= 1e6 else ".4f"
    return (
        f"{row['value']['baseline']:{form}}{unit}",
        f"{row['value']['other']:{form}}{unit}",
        f"{row['difference']:+{form}}",
        row.get("reason", "–") if low is None else f"[{low:+{form}}, {high:+{form}}]",
    )


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _corrected(row: Mapping[str, Any]) -> str:
    return f"{_p(row['p_holm'])}{' *' if row['p_holm'] < _SURE else '  '}"


def _style(row: Mapping[str, Any]) -> str:
    if row["p_holm"] >= _SURE:
        return ""
    better = (row["difference"] > 0) == row["higher_is_better"]
    return "green" if better else "red"


def _print_changes(
    document: Mapping[str, Any], row: Mapping[str, Any], count: int, console: Console
) -> None:
    if not count or not row["changes"]:
        return
    console.print(Text(f"changed in {_cell(document, row)} {row['metric']}", style="bold"))
    for better, word in ((False, "worse"), (True, "better")):
        own = [change for change in row["changes"] if change["better"] is better]
        for change in own[:count]:
            line = Text(f"  {word:<6} {change['document']}: ", style="green" if better else "red")
            line.append(_answers(row, change), style="default")
            line.truncate(console.width, overflow="ellipsis")
            console.print(line, no_wrap=True)
        if len(own) > count:
            console.print(Text(f"  {word:<6} and {len(own) - count:,} more", style="dim"))


def _answers(row: Mapping[str, Any], change: Mapping[str, Any]) -> str:
    sides = [change["baseline"], change["other"]]
    answers = [_short(side["answer"]) for side in sides]
    if {side["value"] for side in sides} <= {0, row["top"]}:
        return f"{answers[0]} → {answers[1]} (gold: {_short(change['target'])})"
    values = " → ".join(f"{side['value']:.4g}" for side in sides)
    if all(side["answer"] is None for side in sides):
        return values
    return f"{values}: {answers[0]} → {answers[1]}"


def _short(answer: str | None) -> str:
    if answer is None:
        return "no answer"
    line = " ".join(answer.split())
    return repr(line if len(line) <= 16 else f"{line[:15]}…")


def _print_notes(document: Mapping[str, Any], console: Console) -> None:
    allowed: dict[tuple[str, str], list[str]] = {}
    paired: dict[str, None] = {}
    for row in document["comparisons"]:
        for one in row["differences"]:
            allowed.setdefault((one["kind"], one["text"]), []).append(_cell(document, row))
        left = row["left_out"]
        if left["baseline"] or left["other"]:
            text = (
                f"{_cell(document, row)}: paired on {row['n']:,} documents; unpaired: "
                f"{left['baseline']:,} of the baseline, {left['other']:,} of the other run"
            )
            paired[text] = None
    for text in paired:
        _note(console, text, "yellow")
    for (kind, text), cells in allowed.items():
        _note(
            console,
            f"allowed to differ: {kind}: {text} ({', '.join(dict.fromkeys(cells))})",
            "yellow",
        )
    for name, ids in document["unmatched"].items():
        _note(console, f"{name}: not compared: {', '.join(ids)}", "yellow")
    tests = document["tests"]
    _note(console, f"difference: other minus baseline. * p below 0.05 after Holm correction for "
          f"{tests:,} {'test' if tests == 1 else 'tests'}.", "dim")  # fmt: skip
    _print_power(document, console)


def _print_power(document: Mapping[str, Any], console: Console) -> None:
    """Print what the least precise comparison can detect, by the first metric of each."""
    firsts = {_cell(document, row): row for row in reversed(document["comparisons"])}
    few = [row for row in firsts.values() if "reason" in row]
    known = [row for row in firsts.values() if row["detectable"] is not None and row["top"]]
    if few:
        fewest = min(few, key=lambda row: int(row["n"]))
        _note(console, _too_few(document, fewest), "dim")
        return
    if not known:
        return
    widest = max(known, key=_points)
    found = (
        f"{_cell(document, widest)} {widest['metric']}: a true difference of "
        f"{_points(widest):.1f} points would be detected with 80% power."
    )
    _note(console, _too_few(document, widest) if _points(widest) >= 100 else found, "dim")


def _too_few(document: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return (
        f"{_cell(document, row)} {row['metric']}, n = {row['n']:,}: too few documents to detect "
        "any difference reliably."
    )


def _points(row: Mapping[str, Any]) -> float:
    return float(row["detectable"]) * (1 if row["unit"] else 100)


def _note(console: Console, text: str, style: str) -> None:
    console.print(Text(text, style=style))
