"""The answer journals of a folder, and one journal in detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tenbin.journal.show import JournalFile
from tenbin.records.model_info import Given, engines_of
from tenbin.sandbox.printable import visible


def print_journals(folder: Path, journals: Sequence[JournalFile]) -> None:
    """Print one row per journal, then the commands that repair damaged ones."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from tenbin.report.terminal.console import make_console

    console = make_console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("journal", "model", "engine"):
        table.add_column(name, overflow="fold", no_wrap=name == "journal")
    for name in ("answers", "size", "last used"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in journals:
        answers = "damaged" if one.fault else f"{one.total:,}"
        named = [Text(name) for name in _named(one)]  # not parsed as markup
        table.add_row(one.path.stem[:8], *named, answers, format_size(one.size), _used(one))
    console.print(table)
    total = sum(one.size for one in journals)
    count = "1 journal" if len(journals) == 1 else f"{len(journals):,} journals"
    console.print(
        f"{count}, {format_size(total)}, in {folder}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    for one in journals:
        if one.fault:
            remedy = f"{one.fault}\n  → tenbin journal repair {one.path}"
            console.print(remedy, highlight=False, soft_wrap=True, markup=False)


def print_journal(one: JournalFile) -> None:
    """Print everything known about one journal."""
    from tenbin.report.terminal.console import make_console

    console = make_console()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(one.answers.items()))
    lines = [
        ("journal", str(one.path)),
        ("version", "unreadable" if one.version is None else f"{one.version}"),
        ("answers", f"{one.total:,}" + (f": {kinds}" if kinds else "")),
        ("size", format_size(one.size)),
        ("last used", _used(one)),
        *(("fingerprint", visible(name)) for name in one.fingerprints),
    ]
    for engine in _engines(one):
        lines.append(("from", f"{engine.answers:,} answers by {_engine(engine.description)}"))
    if one.fault:
        lines += [("fault", one.fault), ("remedy", f"tenbin journal repair {one.path}")]
    for name, value in lines:
        console.print(f"{name:<12} {value}", highlight=False, soft_wrap=True, markup=False)


def format_size(size: int) -> str:
    """Format a number of bytes with a binary unit."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} TiB"


def _engines(one: JournalFile) -> list[Given]:
    return engines_of([Given(count, description) for count, description in one.sources])


def _named(one: JournalFile) -> tuple[str, str]:
    """Return models and engines; fingerprints instead of models that were not recorded."""
    engines = [_engine(engine.description, short=True) for engine in _engines(one)]
    models = [*one.models, *(() if one.models else one.fingerprints)]
    shown = ", ".join(visible(name) for name in models) or "–"
    return (shown if len(shown) <= 40 else f"{shown[:39]}…"), ", ".join(engines) or "–"


def _engine(description: Mapping[str, Any] | None, short: bool = False) -> str:
    if description is None:
        return "an unrecorded engine"
    engine, count = description.get("engine"), description.get("parameters")
    said = engine if isinstance(engine, Mapping) else {}
    parts = [said.get("name"), description.get("dtype"), description.get("device")]
    if not short:
        parts = [description.get("model"), f"{said.get('name')} engine", *parts[1:]]
        parts += [said.get("mode"), said.get("generation")]
        parts += [f"{count:,} parameters" if type(count) is int else None]
    shown = [str(part) for part in parts if part not in (None, "", "none", "not run")]
    return visible((" " if short else ", ").join(shown))


def _used(one: JournalFile) -> str:
    if one.is_used:
        return "in use now"
    return datetime.fromtimestamp(one.last_used, timezone.utc).strftime("%Y-%m-%d %H:%M")
