"""`tenbin report`: stored runs as one HTML file, and their charts as pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenbin.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tenbin.analysis.curve.report import CurveReport
    from tenbin.results.read import StoredRun

EXAMPLES = """examples:
  tenbin report result.json -o report.html
  tenbin report runs/20260101-120000-mine runs/20260102-120000-other \\
      --charts figures
  tenbin report runs -o leaderboard.html
  tenbin report result.json --language ja
  tenbin report result.json --scores           (the tables of `tenbin run` too)
  tenbin report --curve runs/my-training -o curves.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin report`."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run folders, their result.json, or folders of runs; several open on a leaderboard",
    )
    parser.add_argument(
        "--curve",
        action="store_true",
        help="the runs are checkpoints of one training (folders of runs too): draw learning curves "
        "over their steps, with the newest checkpoint's answers (docs/watch.md)",
    )
    parser.add_argument(
        "--metric",
        metavar="NAMES",
        help="with --curve: show these metrics, or all (default: the first of each task, and "
        "gold_bits_per_byte)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="default: report.html"
    )
    parser.add_argument("--charts", metavar="DIR", help="also write every chart as SVG and PNG")
    parser.add_argument(
        "--scores", action="store_true", help="also print the scores of each run as tables"
    )
    parser.add_argument(
        "--all_metrics", action="store_true", help="the same with every metric of each task"
    )
    add_language(parser)


def add_language(parser: argparse.ArgumentParser) -> None:
    """Add `--language`, which `tenbin serve` has too."""
    parser.add_argument(
        "--language",
        metavar="CODE",
        default="en",
        help="language of the interface: en (default) or ja",
    )


def execute(options: argparse.Namespace) -> int:
    """Print a line for each run, write the report, and say where the files are."""
    from pathlib import Path

    from tenbin.report.charts.draw import import_altair
    from tenbin.report.html.messages import messages
    from tenbin.report.stored_runs import read_runs
    from tenbin.report.terminal.console import make_console, make_error_console
    from tenbin.report.terminal.progress import open_progress
    from tenbin.report.terminal.run_line import print_run_line

    import_altair()
    messages(options.language)
    if options.curve:
        return _curve(options)
    if options.metric:
        raise ConfigError("--metric chooses what --curve draws", "add --curve, or leave it out")
    console = make_console()
    named, unread = read_runs(options.runs, open_progress().prepare)
    for name, run in named:
        print_run_line(name, run.result, console)
        if options.scores or options.all_metrics:
            _print_scores(run, options.all_metrics)
    for name, why in unread.items():
        make_error_console().print(f"not read: {name}: {why}", highlight=False, soft_wrap=True)
    runs = [run for _, run in named]
    _write(runs, Path(options.output), options.language, options.charts)
    return 0


def _print_scores(run: StoredRun, all_metrics: bool) -> None:
    from tenbin.cli.run import order_report
    from tenbin.report.terminal.scores import print_results

    print_results(run.result, all_metrics=all_metrics)
    if (order := order_report(run.result, run.samples)) is not None:
        from tenbin.report.terminal.option_order import print_option_order

        print_option_order(order)


def _curve(options: argparse.Namespace) -> int:
    """Print learning curves and write their page."""
    from pathlib import Path

    from tenbin.analysis.curve.build import build_curve
    from tenbin.config import split_list
    from tenbin.report.stored_runs import read_sources
    from tenbin.report.terminal.curve import print_curve
    from tenbin.report.terminal.progress import open_progress

    sources, unread = read_sources(options.runs)
    progress = open_progress().prepare
    report = build_curve(
        sources,
        split_list(options.metric or ""),
        unread,
        lambda what, done, total: progress(what, done, total, "curves"),
    )
    print_curve(report)
    newest = report.checkpoints[-1].runs[:1]
    write_report(newest, Path(options.output), options.language, options.charts, report)
    return 0


def write_report(
    runs: Sequence[str | Path],
    output: Path,
    language: str = "en",
    charts: str | None = None,
    curve: CurveReport | None = None,
) -> None:
    """Write the page and the charts of stored runs, and say where they are."""
    from tenbin.report.terminal.progress import open_progress
    from tenbin.results.read import read_run

    read = [read_run(path, open_progress().prepare) for path in runs]
    _write(read, output, language, charts, curve)


def _write(
    runs: Sequence[StoredRun],
    output: Path,
    language: str,
    charts: str | None,
    curve: CurveReport | None = None,
) -> None:
    from pathlib import Path

    from tenbin.report.charts.draw import write_charts
    from tenbin.report.html.build import build_page, choose_charts
    from tenbin.report.html.write import write_page
    from tenbin.report.terminal.console import make_console
    from tenbin.report.terminal.progress import open_progress

    console = make_console()
    page = build_page(runs, language, curve=curve, watch=open_progress().prepare)
    folder = write_page(page, output)
    console.print(f"report   {output}", highlight=False, soft_wrap=True)
    if folder is not None:
        console.print(f"blocks   {folder}: keep it beside the report", highlight=False)
    if charts is not None:
        written = write_charts(choose_charts(page.summary, language), Path(charts))
        console.print(f"charts   {len(written)} files in {charts}", highlight=False, soft_wrap=True)
