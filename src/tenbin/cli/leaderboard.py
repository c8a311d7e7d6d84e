"""`tenbin leaderboard`: stored runs as one table of models, with rank intervals."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenbin.analysis.leaderboard.report import LeaderboardReport

EXAMPLES = """examples:
  tenbin leaderboard runs
  tenbin leaderboard small.json medium.json large.json --by language
  tenbin leaderboard runs --by template --format csv -o leaderboard.csv
"""
FORMATS = ("table", "csv", "md", "latex", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin leaderboard`."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run folders, their result.json, or folders of runs",
    )
    parser.add_argument(
        "--by",
        choices=("suite", "language", "template"),
        default="suite",
        help="what columns are arranged by (default: suite, groups first)",
    )
    parser.add_argument(
        "--allow",
        metavar="KINDS",
        help="rank scores together although these differ: data, prompts, shots, seed, decoding, "
        "profile, partial (a run that was stopped)",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there")


def execute(options: argparse.Namespace) -> int:
    """Print the leaderboard, or write it to a file."""
    from pathlib import Path

    from tenbin.analysis.leaderboard.build import build_leaderboard
    from tenbin.config import split_list
    from tenbin.files.disk_errors import write_output
    from tenbin.report.stored_runs import read_sources
    from tenbin.report.terminal.leaderboard import print_leaderboard

    sources, unread = read_sources(options.runs)
    allow = split_list(options.allow or "")
    report = build_leaderboard(sources, options.by, allow, unread)
    if options.format == "table" and not options.output:
        print_leaderboard(report)
        return 0
    text = _written(report, options.format)
    if options.output:
        write_output(Path(options.output), text, "name another with --output")
    else:
        print(text, end="")
    return 0


def _written(report: LeaderboardReport, format: str) -> str:
    import io
    import json

    from tenbin.report.terminal.console import PlainConsole
    from tenbin.report.terminal.leaderboard import print_leaderboard
    from tenbin.report.terminal.leaderboard_formats import csv_text, latex_text, markdown_text

    if format == "json":
        return f"{json.dumps(report.to_json(), ensure_ascii=False, indent=2, allow_nan=False)}\n"
    if format == "table":
        page = io.StringIO()
        print_leaderboard(report, PlainConsole(file=page, width=120, color_system=None))
        return page.getvalue()
    return {"csv": csv_text, "md": markdown_text, "latex": latex_text}[format](report)
