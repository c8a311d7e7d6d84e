"""Flags of `tenbin report`. Imports nothing but argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Command = Callable[..., argparse.ArgumentParser]

_EXAMPLES = """examples:
  tenbin report result.json -o report.html
  tenbin report runs/20260101-120000-mine runs/20260102-120000-other --charts figures
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


def add_report_flag(output: argparse._ArgumentGroup) -> None:
    """`tenbin run --report`."""
    output.add_argument(
        "--report",
        nargs="?",
        const=True,
        metavar="FILE",
        help="also write an HTML report (default: report.html in the run's folder)",
    )
