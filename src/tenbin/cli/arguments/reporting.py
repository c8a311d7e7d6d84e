"""Flags of `tenbin report` and `tenbin serve`. Imports nothing but argparse."""

from __future__ import annotations

import argparse

from tenbin.cli.arguments.command import Command

_EXAMPLES = """examples:
  tenbin report result.json -o report.html
  tenbin report runs/20260101-120000-mine runs/20260102-120000-other \\
      --charts figures
  tenbin report result.json --language ja
"""


def add_report(command: Command) -> None:
    """`tenbin report RUN… -o report.html`."""
    parser = command("report", "stored runs as one HTML file, and their charts", _EXAMPLES)
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folders or their result.json; the first is "
        "what the others are compared with"
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="default: report.html"
    )
    parser.add_argument("--charts", metavar="DIR", help="also write every chart as SVG and PNG")
    parser.add_argument(
        "--language", metavar="CODE", default="en", help="of the interface: en (default) or ja"
    )


def add_serve(command: Command) -> None:
    """`tenbin serve RUNS_DIR`."""
    parser = command("serve", "the runs of a folder in a browser, also while they go on")
    parser.add_argument(
        "folder", nargs="?", default="runs", metavar="RUNS_DIR", help="default: runs"
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="default: 127.0.0.1, this machine only; any other asks for a token",
    )
    parser.add_argument("--port", metavar="N", type=int, default=8722, help="default: 8722")
    parser.add_argument("--token", metavar="TEXT", help="ask for this token (default: made up)")
    parser.add_argument(
        "--language", metavar="CODE", default="en", help="of the interface: en (default) or ja"
    )
    parser.add_argument("--verbose", action="store_true", help="say what is asked for")


def add_report_flag(output: argparse._ArgumentGroup) -> None:
    """`tenbin run --report`."""
    output.add_argument(
        "--report",
        nargs="?",
        const=True,
        metavar="FILE",
        help="also write an HTML report (default: report.html in the run's folder)",
    )
