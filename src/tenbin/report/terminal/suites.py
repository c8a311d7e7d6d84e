"""Suites as tables: tasks, documents, tokens, and the time that a model would take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.pipeline.suite_cost import SPACED, UNSPACED, Rate, TaskCost
from tenbin.report.terminal.console import print_note
from tenbin.tasks.groups import SuiteBlock

_NO_GROUP = "in no average"


def print_suite(
    name: str,
    suite: SuiteBlock,
    costs: Mapping[str, Sequence[TaskCost]],
    console: Console,
    each: bool = False,
    parameters: float | None = None,
    rate: Rate | None = None,
) -> None:
    """Print one suite.

    Args:
        name: Its name.
        suite: Its definition.
        costs: Profile → the costs of its tasks.
        console: Where to.
        each: Whether every task has a row; otherwise every average has one.
        parameters: Of the model whose time is estimated; None: no time.
        rate: How fast this machine is.
    """
    console.print(Text(f"{name}: {suite.title}", style="bold"))
    print_note(console, suite.about)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("profile", "task" if each else "average"):
        table.add_column(title, overflow="fold")
    for title in ("shots" if each else "tasks", "documents", "tokens read", "written at most"):
        table.add_column(title, justify="right")
    if parameters and rate:
        table.add_column("time", justify="right")
    for profile, found in costs.items():
        rows = [(one.id, str(one.shots), [one]) for one in found] if each else _by_group(found)
        rows.append(("total", str(len(found)), list(found)))
        for at, (title, number, tasks) in enumerate(rows):
            cells = [profile if at == 0 else "", title, number, *_sums(tasks)]
            if parameters and rate:
                tokens = sum(one.prompt_tokens + one.answer_tokens for one in tasks)
                cells.append(_duration(rate.seconds(parameters, tokens)))
            table.add_row(*cells, end_section=title == "total")
    console.print(table)


def print_method(
    console: Console, tokenizer: str | None, parameters: float | None, rate: Rate | None
) -> None:
    """Say how numbers were found."""
    counted = (
        f"counted with {tokenizer}"
        if tokenizer
        else f"estimated: a token per {SPACED:g} characters, or per {UNSPACED:g} in scripts "
        "without spaces (--tokenizer PATH counts)"
    )
    lines = [
        "documents: published rows of the scored split. tokens: prompts of the sample rows with "
        f"their examples, times the documents, {counted}; a chat template adds some",
        "written: as if every answer ran to its limit, which few do",
    ]
    if parameters and rate:
        lines.append(
            f"time: 2 × {parameters:.3g} parameters × tokens at {rate.how}; what a model reaches "
            "is less, and generation one text at a time far less"
        )
    for line in lines:
        print_note(console, line, "dim")


def _by_group(found: Sequence[TaskCost]) -> list[tuple[str, str, list[TaskCost]]]:
    groups: dict[str, list[TaskCost]] = {}
    for one in found:
        for group in one.groups or (_NO_GROUP,):
            groups.setdefault(group, []).append(one)
    return [(name, str(len(tasks)), tasks) for name, tasks in groups.items()]


def _sums(tasks: Sequence[TaskCost]) -> list[str]:
    return [
        f"{sum(one.documents for one in tasks):,}",
        _short(sum(one.prompt_tokens for one in tasks)),
        _short(sum(one.answer_tokens for one in tasks)),
    ]


def _short(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1e6:,.1f} M"
    return f"{number / 1e3:,.0f} k" if number >= 10_000 else f"{number:,}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.1f} h"
