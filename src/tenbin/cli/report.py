"""`tenbin report`: stored runs as one HTML file, and their charts as pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def execute(options: argparse.Namespace) -> int:
    """Print the summary of each run, write the report, and say where everything is."""
    from tenbin.report.charts.draw import import_altair
    from tenbin.report.html.messages import messages
    from tenbin.report.terminal.scores import print_results
    from tenbin.results.read import read_run

    import_altair()
    messages(options.language)
    for run in [read_run(path) for path in options.runs]:
        print_results(run.result)
    write_report(options.runs, Path(options.output), options.language, options.charts)
    return 0


def write_report(
    runs: Sequence[str | Path], output: Path, language: str = "en", charts: str | None = None
) -> None:
    """Write the page and the pictures, and say where they are."""
    from tenbin.report.charts.draw import write_charts
    from tenbin.report.html.build import build_page, choose_charts
    from tenbin.report.html.write import write_page
    from tenbin.report.terminal.console import make_console
    from tenbin.results.read import read_run

    console = make_console()
    page = build_page([read_run(path) for path in runs], language)
    folder = write_page(page, output)
    console.print(f"report   {output}", highlight=False, soft_wrap=True)
    if folder is not None:
        console.print(f"blocks   {folder}: keep it beside the report", highlight=False)
    if charts is not None:
        written = write_charts(choose_charts(page.summary, language), Path(charts))
        console.print(f"charts   {len(written)} files in {charts}", highlight=False, soft_wrap=True)
