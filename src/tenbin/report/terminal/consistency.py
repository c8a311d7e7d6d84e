"""Consistency across languages and answer modes, within 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from rich.console import Console
from rich.text import Text

from tenbin.report.terminal.console import made_visible, make_console

_WIDTH = 80
_LABEL = 5
"""Width of a language's name: `zh`, `pt-BR`."""


def print_consistency(
    document: Mapping[str, Any], items: int = 10, console: Console | None = None
) -> None:
    """Print how consistent answers are across languages and modes.

    Args:
        document: The result of `examine`.
        items: How many of the items with the most different answers to list.
        console: Standard output by default.
    """
    shown = _Lines(console or make_console())
    document = made_visible(document)
    models = list(dict.fromkeys(str(run["model"]) for run in document["runs"]))
    shown.line(f"consistency of {', '.join(models)}", "dim")
    for run in document["runs"]:
        if run.get("partial"):
            shown.line(f"PARTIAL: {run['name']}: the run was stopped before its end", "bold yellow")
    for family, facts in document["families"].items():
        shown.paragraph(_alignment(family, facts))
    for id, found in document["sets"].items():
        shown.title(
            f"{id}: {len(found['languages'])} languages, {found['items']:,} items,"
            f" answers read by {', '.join(found['metrics'])}"
        )
        _print_languages(shown, found, document["reference"])
        _print_matrix(shown, found)
        _print_everywhere(shown, found)
        _print_positions(shown, found)
        _print_flips(shown, found, items)
        shown.paragraph(_reach(found))
    for modes in document["modes"]:
        _print_modes(shown, modes)


class _Lines:
    """Prints lines, and sentences wrapped to 80 columns."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def line(self, text: str = "", style: str = "") -> None:
        self._console.print(Text(text.rstrip(), style=style), soft_wrap=True)

    def title(self, text: str) -> None:
        self.line()
        for part in textwrap.wrap(text, _WIDTH):
            self.line(part, "bold")

    def heading(self, text: str) -> None:
        self.line()
        for part in textwrap.wrap(text, _WIDTH):
            self.line(part, "cyan")

    def paragraph(self, text: str) -> None:
        self.line()
        for part in textwrap.wrap(text, _WIDTH):
            self.line(part)


def _alignment(family: str, facts: Mapping[str, Any]) -> str:
    languages, items = len(facts["languages"]), facts["items"]
    if languages == 1:
        return f"{family}: {items:,} items in one language, the same file in each mode."
    spread = f"{items:,} items in {languages} languages"
    partial = facts["items_not_asked_everywhere"]
    rest = (
        f" {partial:,} further items were not asked in every language and are left out."
        if partial
        else ""
    )
    if facts["alignment"] == "id":
        return (
            f"{family}: {spread}, aligned by `{facts['key']}`; the gold answers of all"
            f" items agree.{rest}"
        )
    if facts["alignment"] == "file":
        return (
            f"{family}: {spread}, aligned by the given file; the gold answers of all items"
            f" agree.{rest}"
        )
    chance, swaps = facts["chance_of_agreement"], facts["unseen_swaps"]
    weight = (
        "This is evidence, not proof" if swaps < 0.5 and chance < 0.01 else "This proves little"
    )
    odds = f"{chance:.0e}" if chance > 0 else "below 1e-300"
    return (
        f"{family}: aligned by row number, since rows have no `{facts['key']}`: {items:,} of"
        f" {items:,} gold answers agree in {languages} languages. {weight}: shuffled rows would"
        f" all agree with probability {odds}, and swapping two rows would go unnoticed in"
        f" {swaps:.0%} of cases.{rest}"
    )


def _print_languages(shown: _Lines, found: Mapping[str, Any], reference: str | None) -> None:
    gaps = found["gaps"]
    heading = "% correct, with 95% interval"
    if gaps is not None:
        heading += f"; gap to {reference} in points on the same items; Holm-corrected p"
    shown.heading(heading)
    wide = _wide(row["accuracy"] for row in found["answers"].values())
    titles = f"{'':<{_LABEL}}  {'corr.':>6}  {'interval':<{wide}}"
    titles += (
        f"{'gap':>7}  {'interval':<{max(16, wide)}}{'won':>4}{'lost':>5}{'p':>8}" if gaps else ""
    )
    shown.line(titles, "dim")
    for name, row in found["answers"].items():
        right = row["accuracy"]
        text = f"{name:<{_LABEL}}  {_percent(right['value']):>6}  {_interval(right):<{wide}}"
        shown.line(
            text + (_gap(gaps[name], max(16, wide)) if gaps is not None and name in gaps else "")
        )
    for state, meaning in (
        ("unreadable", "unreadable answers, counted as wrong and not compared"),
        ("failed", "failed documents, not counted"),
    ):
        counts = [f"{name} {row[state]:,}" for name, row in found["answers"].items() if row[state]]
        if counts:
            shown.paragraph(f"{meaning}: {', '.join(counts)}")


def _gap(row: Mapping[str, Any] | None, wide: int) -> str:
    if row is None:
        return f"{'–':>7}"
    return (
        f"{100 * row['difference']:>+7.1f}  {_interval(row, signed=True):<{wide}}"
        f"{row['wins']:>4}{row['losses']:>5}{_p_value(row['p_holm']):>8}"
    )


def _print_matrix(shown: _Lines, found: Mapping[str, Any]) -> None:
    names = found["languages"]
    pairs = {tuple(pair["languages"]): pair for pair in found["pairs"]}
    if not any(pair["agreement"]["n"] for pair in found["pairs"]):
        shown.paragraph("No item was answered in two languages: no agreement to measure.")
        return
    shown.heading("below the diagonal: same answer, % of items; above: Cohen's kappa")
    width = max(6, *(len(name) + 1 for name in names))
    shown.line(" " * _LABEL + "".join(f"{name:>{width}}" for name in names), "dim")
    for down, name in enumerate(names):
        cells = []
        for across, other in enumerate(names):
            if down == across:
                cells.append("·")
            elif down > across:
                cells.append(_percent(pairs[other, name]["agreement"]["value"], 0))
            else:
                kappa = pairs[name, other]["kappa"]
                cells.append("–" if kappa is None else _fraction(kappa["value"]))
        shown.line(f"{name:<{_LABEL}}" + "".join(f"{cell:>{width}}" for cell in cells))
    widths = {
        key: [half for pair in found["pairs"] if (half := _half(pair[key])) is not None]
        for key in ("agreement", "kappa")
    }
    if all(widths.values()) and not _too_few(found):
        shown.paragraph(
            f"Precision of a cell: about ±{100 * median(widths['agreement']):.0f} points and"
            f" ±{median(widths['kappa']):.2f} (median 95% intervals; --format json has them all)."
        )


def _print_everywhere(shown: _Lines, found: Mapping[str, Any]) -> None:
    shown.heading("across all languages")
    width = 35
    mean, alpha = found["agreement"], found["alpha"]
    wide = _wide(found[name] for name in ("agreement", "right_everywhere"))
    for name, text in (
        ("agreement", "agreement of two random languages"),
        ("same_everywhere", "same answer in all languages"),
        ("right_everywhere", "correct in all languages"),
        ("right_nowhere", "correct in no language"),
    ):
        row = found[name]
        if not row["n"]:
            continue
        chance = "" if row["by_chance"] is None else f"by chance {_percent(row['by_chance'])}%"
        text += f" (of {row['n']:,})" if row["n"] != found["items"] else ""
        shown.line(
            f"{text:<{width}}{_percent(row['value']):>6}%   {_interval(row):<{wide}}{chance}"
        )
    beyond = f"{'chance-corrected (Krippendorff α)':<{width}}"
    if alpha is not None:
        shown.line(f"{beyond}{_fraction(alpha['value']):>6}    {_interval(alpha, percent=False)}")
    elif mean["n"]:
        shown.line(f"{beyond}     –    undefined: only one answer occurs")


def _print_positions(shown: _Lines, found: Mapping[str, Any]) -> None:
    rows = found["positions"]
    if not rows:
        return
    size = max(len(row["chosen"]) for row in rows.values())
    letters = [_position(at) for at in range(size)]
    shown.heading(
        "position bias: how often each choice is picked, % (distance to an unbiased model of"
        " the same accuracy; in brackets: distance expected by chance)"
    )
    wide = 6 if size <= 6 else 4
    titles = "".join(f"{letter:>{wide}}" for letter in letters)
    shown.line(f"{'':<{_LABEL}}{titles}   {'distance':<14}{'p':>7}", "dim")
    for name, row in rows.items():
        shares = "".join(f"{100 * count / row['n']:>{wide}.0f}" for count in row["chosen"])
        distance = f"{row['distance']:.2f} ({row['chance_distance']:.2f})"
        shown.line(
            f"{name:<{_LABEL}}{shares:<{wide * size}}   {distance:<14}{_p_value(row['p_holm']):>7}"
        )
    gold = max((row["gold"] for row in rows.values()), key=sum)
    shares = "".join(f"{100 * count / sum(gold):>{wide}.0f}" for count in gold)
    shown.line(f"{'gold':<{_LABEL}}{shares}", "dim")


def _print_flips(shown: _Lines, found: Mapping[str, Any], items: int) -> None:
    flips, names = found["flips"], found["languages"]
    if not flips or items < 1:
        return
    shown.heading(
        f"{len(flips):,} of {found['items']:,} items have different answers across languages;"
        " most varied first"
    )
    listed = flips[:items]
    longest = min(24, max(len("item"), *(len(flip["item"]) for flip in listed)))
    wide = max(4, *(len(name) + 1 for name in names))
    titles = "".join(f"{name:>{wide}}" for name in names)
    shown.line(f"{'item':<{longest}}  gold{titles}  correct", "dim")
    for flip in listed:
        marks = {name: "!" if name in flip["failed"] else "?" for name in names}
        cells = "".join(f"{(flip['answers'][n] or marks[n])[:4]:>{wide}}" for n in names)
        shown.line(
            f"{flip['item'][:longest]:<{longest}}  {flip['gold'][:4]:>4}{cells}  {flip['right']:>7}"
        )
    if any(answer is None for flip in listed for answer in flip["answers"].values()):
        shown.line("?: unreadable   !: failed", "dim")


def _too_few(found: Mapping[str, Any]) -> bool:
    """Whether there are too few items to give the precision of any number."""
    return not found["reach"] or found["reach"]["accuracy_half_width"] is None


def _reach(found: Mapping[str, Any]) -> str:
    if _too_few(found):
        return "Too few items to say how precise these numbers are."
    items, half = found["items"], 100 * found["reach"]["accuracy_half_width"]
    text = (
        f"Precision with {items:,} items: the accuracy of one language to about ±{half:.0f} points"
    )
    gaps = [_half(row) for row in (found["gaps"] or {}).values()]
    widths = [half for half in gaps if half]
    if widths:
        text += f", the gap between two languages to about ±{100 * median(widths):.0f}"
    return text + ". Smaller differences are not significant."


def _print_modes(shown: _Lines, modes: Mapping[str, Any]) -> None:
    shown.title(
        f"{modes['choice']} and {modes['generation']}: the same items as multiple choice and as"
        " generation"
    )
    shown.line(
        f"{'':<{_LABEL}}{'items':>6}{'unread':>7}{'same %':>8}  {'interval':<14}{'kappa':>6}"
        f"{'both':>6}{'choice':>7}{'text':>5}{'none':>5}{'p':>8}",
        "dim",
    )
    for name, row in modes["languages"].items():
        kappa = row["kappa"]
        shown.line(
            f"{name:<{_LABEL}}{row['items']:>6}{row['unreadable']:>7}"
            f"{_percent(row['agreement']['value']):>8}  {_short(row['agreement']):<14}"
            f"{'–' if kappa is None else _fraction(kappa['value']):>6}"
            f"{row['right_both']:>6}{row['right_choice_only']:>7}"
            f"{row['right_generation_only']:>5}{row['right_neither']:>5}"
            f"{_p_value(row['difference']['p_holm']) if row['difference'] else '–':>8}"
        )
    overall = modes["agreement"]
    text = (
        "unread: generated answers from which no choice could be read; they are left out of `same`"
        " and count as wrong. both, choice, text, none: items that both modes, one of them or"
        " neither answered correctly; p: of this difference, Holm-corrected."
    )
    if any("reason" in row["agreement"] for row in modes["languages"].values()):
        text += " too few: too few documents for an interval."
    if overall["n"]:
        text += (
            f" Across all languages the modes agree on {_percent(overall['value'])}%"
            f" {_interval(overall)} of the {overall['n']:,} items that both answered."
        )
    shown.paragraph(text)


def _short(row: Mapping[str, Any]) -> str:
    """Return an interval for a table without room for the reason of a missing one."""
    return "too few" if "reason" in row else _interval(row)


def _wide(rows: Iterable[Mapping[str, Any]]) -> int:
    """Return the width of intervals; more if a reason replaces one of them."""
    return 18 if any("reason" in row for row in rows) else 14


def _half(row: Mapping[str, Any] | None) -> float | None:
    if row is None or row["low"] is None:
        return None
    return float(row["high"] - row["low"]) / 2


def _interval(row: Mapping[str, Any], signed: bool = False, percent: bool = True) -> str:
    if row["low"] is None or row["high"] is None:
        return str(row.get("reason", "–"))
    if not percent:
        return f"[{_fraction(row['low'])}, {_fraction(row['high'])}]"
    sign = "+" if signed else ""
    return f"[{100 * row['low']:{sign}.1f}, {100 * row['high']:{sign}.1f}]"


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}"


def _fraction(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _p_value(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}"


def _position(at: int) -> str:
    return chr(ord("A") + at) if at < 26 else str(at + 1)
