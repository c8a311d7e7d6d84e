"""A sweep on a budget: the distribution of scores over prompts, in text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.analysis.sweep.distribution import PromptDistribution
from tenbin.report.terminal.console import print_note
from tenbin.sandbox.printable import counted
from tenbin.statistics.prompts.advice import Advice
from tenbin.statistics.prompts.effects import LevelEffect

_BARS = " ▁▂▃▄▅▆▇█"
_BINS = 40
_LEVEL = 0.05
_MOST_INSIDE = 0.2
"""Of the prompts may be estimated inside a gap that is named."""
_MOST = 12
"""Prompts and effects listed; sweep.json has all."""
_NAMES = {0.0: "lowest", 0.5: "median", 1.0: "highest"}


def print_distribution(
    found: PromptDistribution, console: Console, run_in_full: bool = False
) -> None:
    """Print mean, quantiles, where prompts lie, the choices that matter, and advice.

    Args:
        found: The distribution.
        console: Where it goes.
        run_in_full: Whether the leading prompts were run in full and follow.
    """
    arrow = "↑" if found.higher_is_better else "↓"
    title = (
        f"{found.task} {found.version}  {found.metric} {arrow}, {found.prompts:,} prompts on "
        f"{found.documents:,} documents"
    )
    console.print(Text(title, style="bold"))
    for line in _facts(found):
        print_note(console, f"  {line}")
    console.print()
    console.print(Text(f"  {_histogram(found)}"), soft_wrap=True)
    console.print(_quantile_table(found))
    for line in _warnings(found):
        print_note(console, f"  {line}", "yellow")
    console.print(_place_table(found))
    if found.effects:
        shown = [one for one in found.effects if one.p_value < _LEVEL]
        if shown:
            console.print(_effect_table(found, shown))
        for line in _effect_lines(found, shown):
            print_note(console, f"  {line}")
    for line in _advice_lines(found, run_in_full):
        print_note(console, f"  {line}")
    console.print()


def _facts(found: PromptDistribution) -> Iterator[str]:
    share = found.cost.asked / found.cost.full
    yield (
        f"asked {found.cost.asked:,} of {found.cost.full:,} questions ({share:.0%}): "
        f"the price of {found.budget:.3g} full runs"
    )
    mean, here = found.mean, found.mean_here
    line = f"mean over prompts {_value(mean.value, found)} ± {_number(mean.stderr, found)}"
    if mean.low is not None:
        line += f" ({_span(mean.low, mean.high, found)})"
    yield line
    if here.stderr:
        yield f"a full sweep of these documents would give {_span(here.low, here.high, found)}"
    spread = found.spread
    yield (
        f"standard deviation over prompts {_number(spread.value, found)} "
        f"({_span(spread.low, spread.high, found)})"
    )
    if found.failed:
        yield f"failed: {counted(found.failed, 'question')} without an answer"
    if len(found.places) < found.prompts:
        absent = counted(found.prompts - len(found.places), "prompt")
        yield f"without any answer, and so in no figure here: {absent}"


def _histogram(found: PromptDistribution) -> str:
    """Return the estimated distribution as a line of bars between its ends."""
    values = [one.value for one in found.curve]
    low, high = values[0], values[-1]
    if _value(low, found) == _value(high, found):
        return f"all prompts score {_value(low, found)}"
    counts = [0.0] * _BINS
    for one, two in pairwise(values):
        # A hundredth of the prompts lies between two neighbours.
        first, last = (min(_BINS - 1, int((v - low) / (high - low) * _BINS)) for v in (one, two))
        for at in range(first, last + 1):
            counts[at] += 1 / (last - first + 1)
    most = max(counts)
    bars = "".join(_BARS[min(8, int(count / most * 8 + 0.999))] for count in counts)
    return f"{_value(low, found)} {bars} {_value(high, found)}"


def _quantile_table(found: PromptDistribution) -> Table:
    table = _table()
    table.add_column("of the prompts")
    table.add_column(found.metric, justify="right", no_wrap=True)
    band = "95% band" if found.simultaneous else "95% interval"
    table.add_column(band, justify="right", no_wrap=True)
    for one in found.quantiles:
        name = _NAMES.get(one.share, f"{one.share:.0%} score below")
        table.add_row(name, _value(one.value, found), _span(one.low, one.high, found))
    return table


def _warnings(found: PromptDistribution) -> Iterator[str]:
    if found.gap is None:
        return
    low, high = found.gap
    inside = sum(low < place.value < high for place in found.places)
    if inside > _MOST_INSIDE * len(found.places):
        # Some draws have a gap; the estimates of single prompts do not show it.
        yield "prompts may lie in groups apart: the band holds for all quantiles at once"
    else:
        yield (
            "prompts seem to fall into two groups, with hardly any between "
            f"{_span(*found.gap, found)}: near that gap quantiles are known to its width only"
        )


def _place_table(found: PromptDistribution) -> Table:
    published = found.published
    chosen = published or found.places[:_MOST]
    title = "where the published templates lie" if published else "the leading prompts"
    if len(chosen) > _MOST:
        title += f" (the first {_MOST} of {len(chosen)})"
    table = _table(f"{title}; estimates from a part of the documents each")
    table.add_column("template", overflow="fold")
    for name in ("asked", found.metric, "95% interval", "above others"):
        table.add_column(name, justify="right", no_wrap=True)
    for place in chosen[:_MOST]:
        table.add_row(
            place.name,
            f"{place.n:,}",
            _value(place.value, found),
            _span(place.low, place.high, found),
            f"{place.rank:.0%} ({place.rank_low:.0%}–{place.rank_high:.0%})",
        )
    return table


def _effect_table(found: PromptDistribution, shown: Sequence[LevelEffect]) -> Table:
    table = _table("choices in the wording that matter, others being equal")
    table.add_column("choice", overflow="fold")
    for name in ("prompts", "effect", "95% interval", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in sorted(shown, key=lambda effect: -abs(effect.effect))[:_MOST]:
        table.add_row(
            f"{one.dimension} {one.level!r}",
            str(one.prompts),
            f"{one.effect:+.1f}" if found.unit else f"{one.effect:+.3f}",
            _span(one.low, one.high, found),
            "<0.001" if one.p_value < 0.001 else f"{one.p_value:.3f}",
        )
    return table


def _effect_lines(found: PromptDistribution, shown: Sequence[LevelEffect]) -> Iterator[str]:
    tested = len(found.effects)
    if not shown:
        yield f"no choice in the wording is shown to matter ({tested} were tested)"
    else:
        left = min(len(shown), _MOST)
        yield f"{left} of {len(shown)} shown; {tested} choices were tested"


def _advice_lines(found: PromptDistribution, run_in_full: bool) -> Iterator[str]:
    if not run_in_full:
        yield (
            "this is a distribution, not a choice: --then best:3 runs the leading prompts in full "
            "and scores them on documents that did not choose them"
        )
    yield f"advice: {_advice(found.advice, found)}"


def _advice(advice: Advice, found: PromptDistribution) -> str:
    """Return what to spend for quantiles to the target, in words."""
    target = _number(advice.target, found)
    if advice.per_document is None:
        last = advice.plans[-1]
        how = f"{last.per_document} whole prompts" if last.whole else f"{last.per_document}x"
        return f"no budget up to {how} gives quantiles to within {target}; ask more documents"
    if advice.whole:
        return (
            f"if prompts differ as much as estimated, {advice.per_document} of them, chosen at "
            f"random and run in full, give quantiles to within {target} on average and say more "
            "than a budget"
        )
    return (
        f"if prompts differ as much as estimated, --budget {advice.per_document}x gives quantiles "
        f"to within {target} on average"
    )


def _table(title: str | None = None) -> Table:
    return Table(
        title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False
    )


def _value(value: float | None, found: PromptDistribution) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}{found.unit}" if found.unit else f"{value:.3f}"


def _number(value: float | None, found: PromptDistribution) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if found.unit else f"{value:.3f}"


def _span(low: float | None, high: float | None, found: PromptDistribution) -> str:
    return f"{_number(low, found)}–{_number(high, found)}"
