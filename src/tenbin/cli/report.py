"""`tenbin report`: stored runs as one HTML file, and their charts as pictures."""

from __future__ import annotations

import argparse
from pathlib import Path

DEFAULT_NAME = "report.html"


def execute(options: argparse.Namespace) -> int:
    """Write the report, print the summary of each run, and say where everything is."""
    from tenbin.report.terminal import make_console, print_results
    from tenbin.reporting import read_runs

    runs = read_runs(options.runs)
    console = make_console()
    for run in runs:
        print_results(run.document, console)
    write_report(options.runs, Path(options.output), options.language, options.charts)
    return 0


def write_report(
    paths: list[str] | list[Path], output: Path, language: str, charts: str | None
) -> None:
    """Write the page, and say where it is."""
    from tenbin.report.html.writing import write_page
    from tenbin.report.terminal import make_console
    from tenbin.reporting import build_page, read_runs

    console = make_console()
    page = build_page(read_runs(paths), language)
    folder = write_page(page, output)
    console.print(f"report   {output}", highlight=False, soft_wrap=True)
    if folder is not None:
        console.print(f"blocks   {folder} (keep it beside the report)", highlight=False)
