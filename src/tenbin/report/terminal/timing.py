"""Where the time of a command went, as a table."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE
from rich.table import Table

from tenbin.report.terminal.console import make_error_console

_MEANING: Mapping[str, str] = {
    "start": "imports, options",
    "tasks": "task files",
    "data": "rows",
    "model files": "libraries, tokenizer, fingerprint",
    "prompts": "prompts and requests",
    "model load": "weights onto the device",
    "probe": "which engine is correct for the model",
    "scoring": "log-likelihoods",
    "generation": "generated answers",
    "model": "waiting for answers",
    "journal": "answers looked up and stored",
    "judging": "metrics of each document",
    "statistics": "scores and intervals",
    "writing": "result.json and samples",
    "other": "",
}


def print_timing(seconds: Mapping[str, float]) -> None:
    """Print each stage with its seconds and its share of the whole, on standard error."""
    total = sum(seconds.values())
    table = Table(box=SIMPLE)
    table.add_column("stage")
    table.add_column("seconds", justify="right")
    table.add_column("share", justify="right")
    table.add_column("what")
    for name, spent in seconds.items():
        table.add_row(name, f"{spent:.3f}", f"{spent / total:.0%}", _MEANING[name])
    table.add_row("together", f"{total:.3f}", "", "")
    make_error_console().print(table)
