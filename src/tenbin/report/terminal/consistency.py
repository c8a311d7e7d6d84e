"""Consistency across languages and answer modes, within 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from statistics import median

from rich.console import Console
from rich.text import Text

from tenbin.analysis.consistency.report import (
    AccuracyGap,
    ConsistencyReport,
    Family,
    Flip,
    LanguageModes,
    ModesReport,
    SetReport,
    Share,
)
from tenbin.report.terminal.console import made_visible, make_console
from tenbin.sandbox.printable import counted

_WIDTH = 80
_LABEL = 5
"""Width of a language's name: `zh`, `pt-BR`."""


def print_consistency(
    report: ConsistencyReport, items: int = 10, console: Console | None = None
) -> None:
    """Print how consistent answers are across languages and modes.

    Args:
        report: The result of `examine`.
        items: How many of the items with the most different answers to list.
        console: Standard output by default.
    """
    shown = _Lines(console or make_console())
    report = made_visible(report)
    models = list(dict.fromkeys(str(run.model) for run in report.runs))
    shown.line(f"consistency of {', '.join(models)}", "dim")
    for run in report.runs:
        if run.partial:
            shown.line(f"PARTIAL: {run.name}: the run was stopped before its end", "bold yellow")
    for name, family in report.families.items():
        texts = any(report.sets[id].compares for id in family.sets if id in report.sets)
        shown.paragraph(_alignment(name, family, texts))
    for id, found in report.sets.items():
        shown.title(
            f"{id}: {len(found.languages)} languages, {counted(found.items, 'item')},"
            f" {'right or wrong' if found.compares else 'answers read'}"
            f" by {', '.join(found.metrics)}"
        )
        _print_languages(shown, found, report.reference)
        _print_matrix(shown, found)
        _print_everywhere(shown, found)
        _print_positions(shown, found)
        _print_flips(shown, found, items)
        shown.paragraph(_precision(found))
    for modes in report.modes:
        _print_modes(shown, modes)


class _Lines:
    """Prints lines, and sentences wrapped to 80 columns."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def line(self, text: str = "", style: str = "") -> None:
        self._console.print(Text(text.rstrip(), style=style), soft_wrap=True)

    def title(self, text: str) -> None:
        self.line()
        for part in _wrap(text):
            self.line(part, "bold")

    def heading(self, text: str) -> None:
        self.line()
        for part in _wrap(text):
            self.line(part, "cyan")

    def paragraph(self, text: str) -> None:
        self.line()
        for part in _wrap(text):
            self.line(part)


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_on_hyphens=False)


def _alignment(name: str, family: Family, texts: bool) -> str:
    """Which rows are the same item, and how that is known; `texts` have no common gold answer."""
    languages, items = len(family.languages), family.items
    if languages == 1:
        return f"{name}: {counted(items, 'item')} in one language, the same file in each mode."
    partial = family.items_not_asked_everywhere
    rest = f" {partial:,} further items were not asked in every language and are left out."
    rest = rest if partial else ""
    if family.alignment in ("id", "file"):
        by = f"`{family.key}`" if family.alignment == "id" else "the given file"
        gold = (
            "answers are texts of each language, so right and wrong are compared"
            if texts
            else "the gold answers of all items agree"
        )
        asked = f"{counted(items, 'item')} in {languages} languages"
        return f"{name}: {asked}, aligned by {by}; {gold}.{rest}"
    chance, swaps = family.chance_of_agreement, family.unseen_swaps
    strong = swaps < 0.5 and chance < 0.01
    odds = f"{chance:.0e}" if chance > 0 else "below 1e-300"
    return (
        f"{name}: aligned by row number, since rows have no `{family.key}`: {items:,} of"
        f" {items:,} gold answers agree in {languages} languages."
        f" {'This is evidence, not proof' if strong else 'This proves little'}: shuffled rows would"
        f" all agree with probability {odds}, and swapping two rows would go unnoticed in"
        f" {swaps:.0%} of cases.{rest}"
    )


def _print_languages(shown: _Lines, found: SetReport, reference: str | None) -> None:
    gaps = found.gaps
    heading = "% correct, with 95% interval"
    if gaps is not None:
        heading += f"; gap to {reference} in points on the same items; Holm-corrected p"
    shown.heading(heading)
    wide = _wide(row.accuracy for row in found.answers.values())
    titles = f"{'':<{_LABEL}}  {'corr.':>6}  {'interval':<{wide}}"
    titles += (
        f"{'gap':>7}  {'interval':<{max(16, wide)}}{'won':>4}{'lost':>5}{'p':>8}" if gaps else ""
    )
    shown.line(titles, "dim")
    for name, row in found.answers.items():
        share = _percent(_value(row.accuracy))
        text = f"{name:<{_LABEL}}  {share:>6}  {_interval(row.accuracy):<{wide}}"
        gap = _gap(gaps[name], max(16, wide)) if gaps is not None and name in gaps else ""
        shown.line(text + gap)
    answers = found.answers.items()
    unreadable = [f"{name} {row.unreadable:,}" for name, row in answers if row.unreadable]
    failed = [f"{name} {row.failed:,}" for name, row in answers if row.failed]
    for meaning, counts in (
        ("unreadable answers, counted as wrong and not compared", unreadable),
        ("failed documents, not counted", failed),
    ):
        if counts:
            shown.paragraph(f"{meaning}: {', '.join(counts)}")


def _gap(gap: AccuracyGap | None, wide: int) -> str:
    if gap is None:
        return f"{'–':>7}"
    return (
        f"{100 * gap.difference:>+7.1f}  {_interval(gap, signed=True):<{wide}}"
        f"{gap.wins:>4}{gap.losses:>5}{_p_value(gap.p_holm):>8}"
    )


def _print_matrix(shown: _Lines, found: SetReport) -> None:
    names = found.languages
    pairs = {pair.languages: pair for pair in found.pairs}
    if not any(pair.agreement is not None and pair.agreement.n for pair in found.pairs):
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
                agreement = pairs[other, name].agreement
                cells.append(_percent(_value(agreement), 0))
            else:
                kappa = pairs[name, other].kappa
                cells.append(_fraction(_value(kappa)))
        shown.line(f"{name:<{_LABEL}}" + "".join(f"{cell:>{width}}" for cell in cells))
    agreements = _halves(pair.agreement for pair in found.pairs)
    kappas = _halves(pair.kappa for pair in found.pairs)
    if agreements and kappas and not _too_few(found):
        shown.paragraph(
            f"Precision of a cell: about ±{100 * median(agreements):.0f} points and"
            f" ±{median(kappas):.2f} (median 95% intervals; --format json has them all)."
        )


def _print_everywhere(shown: _Lines, found: SetReport) -> None:
    shown.heading("across all languages")
    width = 35
    wide = _wide([found.agreement, found.right_everywhere])
    for row, text in (
        (found.agreement, "agreement of two random languages"),
        (found.same_everywhere, "same answer in all languages"),
        (found.right_everywhere, "correct in all languages"),
        (found.right_nowhere, "correct in no language"),
    ):
        if not row.n:
            continue
        chance = "" if row.by_chance is None else f"by chance {_percent(row.by_chance)}%"
        text += f" (of {row.n:,})" if row.n != found.items else ""
        shown.line(f"{text:<{width}}{_percent(row.value):>6}%   {_interval(row):<{wide}}{chance}")
    label = f"{'chance-corrected (Krippendorff α)':<{width}}"
    if found.alpha is not None:
        value = _fraction(found.alpha.value)
        shown.line(f"{label}{value:>6}    {_interval(found.alpha, percent=False)}")
    elif found.agreement.n:
        shown.line(f"{label}     –    undefined: only one answer occurs")


def _print_positions(shown: _Lines, found: SetReport) -> None:
    rows = found.positions
    if not rows:
        return
    size = max(len(row.chosen) for row in rows.values())
    letters = [_position(at) for at in range(size)]
    shown.heading(
        "position bias: how often each choice is picked, % (distance to an unbiased model of"
        " the same accuracy; in brackets: distance expected by chance)"
    )
    wide = 6 if size <= 6 else 4
    titles = "".join(f"{letter:>{wide}}" for letter in letters)
    shown.line(f"{'':<{_LABEL}}{titles}   {'distance':<14}{'p':>7}", "dim")
    for name, row in rows.items():
        shares = "".join(f"{100 * count / row.n:>{wide}.0f}" for count in row.chosen)
        distance = f"{row.distance:.2f} ({row.chance_distance:.2f})"
        shown.line(
            f"{name:<{_LABEL}}{shares:<{wide * size}}   {distance:<14}{_p_value(row.p_holm):>7}"
        )
    gold = max((row.gold for row in rows.values()), key=sum)
    shares = "".join(f"{100 * count / sum(gold):>{wide}.0f}" for count in gold)
    shown.line(f"{'gold':<{_LABEL}}{shares}", "dim")


def _print_flips(shown: _Lines, found: SetReport, items: int) -> None:
    flips, names = found.flips, found.languages
    if not flips or items < 1:
        return
    shown.heading(
        f"{len(flips):,} of {found.items:,} items have different answers across languages;"
        " most varied first"
    )
    listed = flips[:items]
    longest = min(24, max(len("item"), *(len(flip.item) for flip in listed)))
    wide = max(4, *(len(name) + 1 for name in names))
    titles = "".join(f"{name:>{wide}}" for name in names)
    shown.line(f"{'item':<{longest}}  gold{titles}  correct", "dim")
    for flip in listed:
        cells = "".join(f"{_answer(flip, name)[:4]:>{wide}}" for name in names)
        shown.line(f"{flip.item[:longest]:<{longest}}  {flip.gold[:4]:>4}{cells}  {flip.right:>7}")
    if any(answer is None for flip in listed for answer in flip.answers.values()):
        shown.line("?: unreadable   !: failed", "dim")


def _answer(flip: Flip, language: str) -> str:
    return flip.answers[language] or ("!" if language in flip.failed else "?")


def _too_few(found: SetReport) -> bool:
    """Whether there are too few items to give the precision of any number."""
    return found.reach.accuracy_half_width is None


def _precision(found: SetReport) -> str:
    half = found.reach.accuracy_half_width
    if half is None:
        return "Too few items to say how precise these numbers are."
    text = (
        f"Precision with {found.items:,} items: the accuracy of one language to about"
        f" ±{100 * half:.0f} points"
    )
    widths = [half for half in _halves((found.gaps or {}).values()) if half]
    if widths:
        text += f", the gap between two languages to about ±{100 * median(widths):.0f}"
    return text + ". Smaller differences are not significant."


def _print_modes(shown: _Lines, modes: ModesReport) -> None:
    shown.title(
        f"{modes.choice} and {modes.generation}: the same items as multiple choice and as"
        " generation"
    )
    shown.line(
        f"{'':<{_LABEL}}{'items':>6}{'unread':>7}{'same %':>8}  {'interval':<14}{'kappa':>6}"
        f"{'both':>6}{'choice':>7}{'text':>5}{'none':>5}{'p':>8}",
        "dim",
    )
    for name, row in modes.languages.items():
        shown.line(_mode_line(name, row))
    text = (
        "unread: generated answers from which no choice could be read; they are left out of `same`"
        " and count as wrong. both, choice, text, none: items that both modes, one of them or"
        " neither answered correctly; p: of this difference, Holm-corrected."
    )
    if any(row.agreement and row.agreement.reason for row in modes.languages.values()):
        text += " too few: too few documents for an interval."
    if modes.agreement is not None and modes.agreement.n:
        text += (
            f" Across all languages the modes agree on {_percent(modes.agreement.value)}%"
            f" {_interval(modes.agreement)} of the {modes.agreement.n:,} items that both answered."
        )
    shown.paragraph(text)


def _mode_line(name: str, row: LanguageModes) -> str:
    agreement = row.agreement
    # The table has no room for the reason of a missing interval.
    interval = "too few" if agreement and agreement.reason else _interval(agreement)
    p_value = "–" if row.difference is None else _p_value(row.difference.p_holm)
    return (
        f"{name:<{_LABEL}}{row.items:>6}{row.unreadable:>7}"
        f"{_percent(_value(agreement)):>8}  {interval:<14}"
        f"{_fraction(_value(row.kappa)):>6}"
        f"{row.right_both:>6}{row.right_choice_only:>7}"
        f"{row.right_generation_only:>5}{row.right_neither:>5}{p_value:>8}"
    )


def _value(share: Share | None) -> float | None:
    return None if share is None else share.value


def _wide(rows: Iterable[Share | None]) -> int:
    """Return the width of intervals; more if a reason replaces one of them."""
    return 18 if any(row is not None and row.reason for row in rows) else 14


def _halves(rows: Iterable[Share | AccuracyGap | None]) -> Sequence[float]:
    """Return the half-widths of the intervals that are known."""
    return [
        (row.high - row.low) / 2
        for row in rows
        if row is not None and row.low is not None and row.high is not None
    ]


def _interval(row: Share | AccuracyGap | None, signed: bool = False, percent: bool = True) -> str:
    if row is None:
        return "–"
    if row.low is None or row.high is None:
        return row.reason or "–"
    if not percent:
        return f"[{_fraction(row.low)}, {_fraction(row.high)}]"
    sign = "+" if signed else ""
    return f"[{100 * row.low:{sign}.1f}, {100 * row.high:{sign}.1f}]"


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}"


def _fraction(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _p_value(value: float | None) -> str:
    if value is None:
        return "–"
    return "<.001" if value < 0.001 else f"{value:.3f}"


def _position(at: int) -> str:
    return chr(ord("A") + at) if at < 26 else str(at + 1)
