"""`tenbin plan`: how many documents a difference needs, before anything is run."""

from __future__ import annotations

import argparse

from tenbin.errors import ConfigError

EXAMPLES = """examples:
  tenbin plan --detect 2 --tasks jnli,jcommonsenseqa
  tenbin plan --detect 1 --suite japanese --score 70 --correlation 0.8
  tenbin plan --detect 2 runs/20260101-120000-model     (its scores)
  tenbin plan --detect 2 before.json after.json        (how alike two answer)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin plan`."""
    from tenbin.cli.parser import add_format

    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="a stored run, for its scores and clusters; a second one, for how alike they answer",
    )
    parser.add_argument(
        "--detect", required=True, metavar="POINTS", help="the difference to find, in points"
    )
    parser.add_argument("--tasks", metavar="NAMES", help="tasks or groups, separated by commas")
    parser.add_argument("--suite", metavar="NAMES", help="suites, separated by commas")
    parser.add_argument("--include_path", metavar="PATH", help="folder with further task files")
    parser.add_argument(
        "--score",
        metavar="POINTS",
        help="the score that you expect (default: the stored run's, or 50, which needs most)",
    )
    parser.add_argument(
        "--correlation",
        metavar="NUMBERS",
        help="between the two runs' answers over documents (default: 0.2,0.5,0.8)",
    )
    parser.add_argument(
        "--power", metavar="PERCENT", help="how often the difference is found (default: 80)"
    )
    parser.add_argument(
        "--tests", metavar="N", help="comparisons that share the 5%% level (default: one per task)"
    )
    add_format(parser, "json")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON there")


def execute(options: argparse.Namespace) -> int:
    """Plan, and print or write the result."""
    import json
    from pathlib import Path

    from tenbin.api.plans import plan
    from tenbin.config import split_list
    from tenbin.files.disk_errors import write_output
    from tenbin.report.terminal.plan import print_plan

    power = _number(options.power, "--power")
    tests = _number(options.tests, "--tests")
    if tests is not None and tests != int(tests):
        raise ConfigError(f"--tests {options.tests}: takes a whole number from 1", "--tests 5")
    found = plan(
        _number(options.detect, "--detect") or 0.0,
        *options.runs,
        tasks=split_list(options.tasks or ""),
        suite=split_list(options.suite or ""),
        include_path=split_list(options.include_path or ""),
        score=_number(options.score, "--score"),
        correlations=[
            _number(one, "--correlation") or 0.0 for one in split_list(options.correlation or "")
        ],
        power=None if power is None else power / 100,
        tests=None if tests is None else int(tests),
    )
    written = json.dumps(found.document, ensure_ascii=False, indent=2, allow_nan=False)
    if options.output:
        write_output(Path(options.output), f"{written}\n", "name another with --output")
    if options.format == "json":
        print(written)
    else:
        print_plan(found.record)
    return 0


def _number(written: str | None, option: str) -> float | None:
    import math

    if written is None:
        return None
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{option} {written}: not a number", f"for example {option} 2")
    return number
