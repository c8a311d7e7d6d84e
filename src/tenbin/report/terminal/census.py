"""The census of a folder of task files: how many can be used, and what the others need."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.pipeline.census import Census
from tenbin.report.terminal.console import made_visible, make_console
from tenbin.sandbox.printable import brief, counted

_MOST_REASONS = 100
_MOST_PACKAGES = 40
_LONGEST = 200
"""Characters of a reason or remedy."""


def print_census(census: Census, places: str, console: Console | None = None) -> None:
    """Print the counts, every reason with an example, and the packages that are missing.

    Args:
        census: What was counted.
        places: The folders, as the user named them.
        console: Where to print; standard output by default.
    """
    console = console or make_console()
    census = made_visible(census)
    head = (
        f"{places}: {counted(census.files, 'task file')}: {counted(census.tasks, 'task')}, "
        f"{counted(census.groups, 'group')}, {counted(census.tags, 'tag')}"
    )
    console.print(Text(head, style="bold"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column()
    for count, meaning in (
        (census.malformed, "files that could not be read"),
        (census.classes, "Python classes"),
        (census.media, "tasks with images or audio"),
    ):
        table.add_row(f"{count:,}", "", meaning)
    table.add_row(f"{census.text:,}", "", "text tasks, of which")
    for count, meaning in (
        (census.translated, "translated"),
        (census.runnable, "runnable as they are"),
        (census.with_trust, "runnable with --trust_tasks, which runs functions of theirs"),
        (census.with_packages, "runnable with trust once the packages below are installed"),
    ):
        table.add_row(f"{count:,}", _share(count, census.text), meaning)
    console.print(table)
    for one in census.refused[:_MOST_REASONS]:
        console.print(
            Text(f"\n{one.count:,} refused: {one.key}: {brief(one.reason, _LONGEST)}"),
            soft_wrap=True,
        )
        if one.remedy:
            console.print(Text(f"  → {brief(one.remedy, _LONGEST)}", style="dim"), soft_wrap=True)
        console.print(Text(f"  such as {one.example}", style="dim"), soft_wrap=True)
    rest = census.refused[_MOST_REASONS:]
    if rest:
        count = sum(one.count for one in rest)
        text = f"\n{count:,} refused for {len(rest):,} further reasons, which --json lists"
        console.print(text, highlight=False)
    if census.missing:
        shown = list(census.missing.items())[:_MOST_PACKAGES]
        listed = ", ".join(f"{package} ({count:,})" for package, count in shown)
        more = len(census.missing) - len(shown)
        text = f"\nnot installed, with tasks whose functions import them: {listed}"
        console.print(Text(text + (f" and {more} more" if more else "")), soft_wrap=True)


def _share(count: int, of: int) -> str:
    # Rounded down: 99.5 must not be said of 99.49.
    return f"{int(1000 * count / of) / 10:.1f} %" if of else "–"
