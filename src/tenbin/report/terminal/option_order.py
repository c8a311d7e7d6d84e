"""Option order: recall by position, the mean over orders, and scores without the preference."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.analysis.option_order.report import (
    OptionOrderReport,
    PositionReport,
    RemovedReport,
    TemplateOrder,
)
from tenbin.analysis.sweep.score import Score
from tenbin.report.terminal.console import made_visible, make_console, print_note
from tenbin.sandbox.printable import counted
from tenbin.statistics.columns import Spread

_LEVEL = 0.05


def print_option_order(report: OptionOrderReport, console: Console | None = None) -> None:
    """Print a table of positions and what follows from it, for each template."""
    console = console or make_console()
    report = made_visible(report)
    for one in report.templates:
        console.print(Text(_title(one), style="bold"), soft_wrap=True)
        console.print(_table(one))
        for line in _lines(one):
            print_note(console, f"  {line}")
        console.print()
    for note in report.notes:
        print_note(console, f"option order of {note}", "dim")


def _title(found: TemplateOrder) -> str:
    asked = f"{found.complete:,} documents in {found.options} orders"
    if found.complete < found.documents:
        asked += f", {found.documents - found.complete:,} more in one"
    return f"option order of {found.id}  {found.metric} ↑, {asked}"


def _table(found: TemplateOrder) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("position")
    names = ["chosen", "recall there"]
    if found.removed is not None:
        names += ["chosen, prior removed", "recall, prior removed"]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.positions:
        table.add_row(one.position, *map(_with_interval, _columns(one, found)))
    return table


def _columns(one: PositionReport, found: TemplateOrder) -> list[Score]:
    after = [one.chosen_after, one.recall_after] if found.removed is not None else []
    return [one.chosen, one.recall, *(score for score in after if score is not None)]


def _lines(found: TemplateOrder) -> Iterator[str]:
    shown = found.recall_spread.p_value is not None and found.recall_spread.p_value < _LEVEL
    said = (
        "the score depends on where the right answer stands"
        if shown
        else "no dependence on where the right answer stands is shown"
    )
    yield f"{said}: recall ± {_spread(found.recall_spread)} over positions"
    yield (
        f"in the rows' own order {_with_interval(found.as_asked)}; mean over all orders "
        f"{_with_interval(found.mean)}; the rows' order gives {_change(found.from_order)}"
    )
    yield (
        f"two orders of a question lead to the same option in {_percent(found.same_option)}, to "
        f"the same position in {_percent(found.same_position)} of cases"
    )
    if found.removed is not None:
        yield _removed(found.removed)
    if found.combined is not None:
        yield f"all orders combined into one answer {_with_interval(found.combined)}"
    if found.left_out:
        left_out = counted(found.left_out, "document")
        yield f"left out, failed or with another number of options: {left_out}"


def _removed(found: RemovedReport) -> str:
    prior = ", ".join(f"{share:.2f}" for share in found.prior)
    given = f"prior of the positions ({prior}), from {found.prior_documents:,} documents"
    if found.priors > 1:
        given += f" at a time, {found.priors} times"
    return (
        f"{given}, removed: {_with_interval(found.score)}, {_change(found.gain)}; recall then "
        f"± {_spread(found.recall_spread)} over positions"
    )


def _with_interval(score: Score) -> str:
    if score.value is None:
        return "–"
    if score.low is None or score.high is None:
        return f"{score.value:.3f}"
    return f"{score.value:.3f} ({score.low:.3f}–{score.high:.3f})"


def _change(score: Score) -> str:
    if score.value is None:
        return "–"
    if score.low is None or score.high is None:
        return f"{score.value:+.3f}"
    return f"{score.value:+.3f} ({score.low:+.3f} to {score.high:+.3f})"


def _spread(spread: Spread) -> str:
    if spread.low is None or spread.high is None or spread.p_value is None:
        return f"{spread.deviation:.3f}"
    p_value = "p < 0.001" if spread.p_value < 0.001 else f"p = {spread.p_value:.3f}"
    return f"{spread.deviation:.3f} ({spread.low:.3f}–{spread.high:.3f}, {p_value})"


def _percent(score: Score) -> str:
    if score.value is None:
        return "–"
    if score.low is None or score.high is None:
        return f"{score.value:.0%}"
    return f"{score.value:.0%} ({score.low:.0%}–{score.high:.0%})"
