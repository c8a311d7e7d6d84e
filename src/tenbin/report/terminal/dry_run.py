"""What a run would ask, as lines."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.pipeline.dry_run import DryRun
from tenbin.report.terminal.console import made_visible, make_console, natural_width, print_note
from tenbin.report.terminal.progress import clock
from tenbin.report.terminal.run_notes import format_cost
from tenbin.sandbox.printable import counted


def print_dry_run(found: DryRun, console: Console | None = None) -> None:
    """Print tasks with their documents, then requests, tokens, time and cost."""
    console = console or make_console()
    found = made_visible(found)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("task", overflow="fold")
    for name in ("shots", "documents"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.tasks:
        table.add_row(Text(one.id), str(one.shots), f"{one.documents:,}")
    if len(found.tasks) > 1:
        table.add_row(
            Text("together", style="bold"), "", f"{sum(one.documents for one in found.tasks):,}"
        )
    console.print(table, width=min(natural_width(table, console), console.width))
    console.print()
    for name, text in _facts(found):
        print_note(console, f"{name:<9}{text}")
    for notice in found.notices:
        print_note(console, f"note: {notice}", "yellow")


def _facts(found: DryRun) -> list[tuple[str, str]]:
    known = "the journal was not looked into" if found.known is None else "none in the journal"
    if found.known:
        known = f"{found.known:,} in the journal already"
    left = found.requests - (found.known or 0)
    facts = [("requests", f"{found.requests:,}, {known}; {left:,} to ask")]
    tokens = (
        f"{found.prompt_tokens:,} to read, {found.distinct_tokens:,} where shared prefixes are "
        f"read once; {found.answer_tokens:,} to write at most; {found.counted}"
    )
    facts.append(("tokens", tokens))
    time = "unknown" if found.seconds is None else f"about {clock(found.seconds)}"
    facts.append(("time", f"{time}: {found.rate}"))
    if found.cost is not None:
        currency = f" {found.currency}" if found.currency else ""
        facts.append(("cost", f"{format_cost(found.cost)}{currency} at most"))
    return facts


def heading(name: str, found: DryRun) -> str:
    """Return the line above one of several models."""
    return f"{name}: {counted(len(found.tasks), 'task')}"
