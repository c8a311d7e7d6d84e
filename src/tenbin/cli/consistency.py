"""`tenbin consistency`: the same items in several languages and modes, from stored runs."""

from __future__ import annotations

import argparse

EXAMPLES = """examples:
  tenbin consistency result.json
  tenbin consistency runs/en runs/ko --alignment alignment.json \\
      --tasks mlogiqa_mcq
  tenbin consistency result.json --reference ja \\
      --format json -o consistency.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin consistency`."""
    from tenbin.cli.parser import add_format

    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folders or their result.json, of one model"
    )
    parser.add_argument(
        "--tasks", metavar="NAMES", help="ids, tasks or groups to examine, with * (default: all)"
    )
    parser.add_argument(
        "--reference",
        metavar="LANGUAGE",
        help="the language that gaps are measured from (default: en)",
    )
    parser.add_argument(
        "--alignment",
        metavar="FILE",
        help="JSON that gives, for each row of a language's file, the reference's row with the "
        "same item; needed where rows have no key and gold answers differ row by row",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="the metric whose answers count (default: a choice task's first; flexible-extract)",
    )
    parser.add_argument(
        "--items", metavar="N", type=int, default=10, help="items to list (default: 10)"
    )
    add_format(parser, "json")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the JSON there")


def execute(options: argparse.Namespace) -> int:
    """Print the measures of consistency, or write them as JSON."""
    import json
    from pathlib import Path

    from tenbin.analysis.consistency.answers import COLUMNS, ExaminedSamples
    from tenbin.analysis.consistency.examine import examine
    from tenbin.config import split_list
    from tenbin.files.disk_errors import write_output
    from tenbin.report.terminal.progress import open_progress
    from tenbin.results.read import read_run

    watch = open_progress().prepare
    opened = [(str(path), read_run(path, watch)) for path in options.runs]
    report = examine(
        [ExaminedSamples(name, run.result, run.samples(COLUMNS)) for name, run in opened],
        split_list(options.tasks or ""),
        options.reference,
        options.alignment,
        options.metric,
    )
    text = json.dumps(report.to_json(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    if options.output:
        write_output(Path(options.output), text, "name another with --output")
    if options.format == "json":
        print(text, end="")
        return 0

    from tenbin.report.terminal.consistency import print_consistency
    from tenbin.sandbox.printable import visible

    print_consistency(report, options.items)
    if options.output:
        print(f"written  {visible(options.output)}")
    return 0
