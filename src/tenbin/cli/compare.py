"""`tenbin compare`: two or more stored runs, document by document."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tenbin.cli.exit_codes import INCONCLUSIVE, NOT_MET, OK
from tenbin.errors import ConfigError

EXAMPLES = """examples:
  tenbin compare before.json after.json
  tenbin compare small.json medium.json large.json --all_pairs --metrics all
  tenbin compare run.json --cells jnli-1.3-0.2 jnli-1.3-0.3
  tenbin compare a.json b.json --map jnli-1.3-0.2=jnli-1.3-0.3 \\
      --format json -o difference.json
  tenbin compare a.json b.json --cells japanese --require no-worse-than:1.0

exit codes with --require:
  0    every comparison passes
  5    at least one is shown to fail, corrected for their number
  6    inconclusive: neither; more documents are needed
  1, 2 the runs cannot be compared; wrong usage
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin compare`."""
    from tenbin.cli.parser import add_format

    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folders or their result.json, baseline first"
    )
    parser.add_argument(
        "--cells",
        nargs="+",
        metavar="ID",
        help="tasks or groups: with one run, compare the first of these with each of the others; "
        "with several runs, compare only these",
    )
    parser.add_argument(
        "--map",
        nargs="+",
        metavar="ID=ID",
        help="id in the first run = id in the others, where they have different names",
    )
    parser.add_argument(
        "--metrics", metavar="NAMES", help="names or all (default: each task's first metric)"
    )
    parser.add_argument(
        "--allow",
        metavar="KINDS",
        help="compare although these differ: data, prompts, shots, seed, decoding, profile, "
        "partial (a run that was stopped)",
    )
    parser.add_argument(
        "--all_pairs",
        action="store_true",
        help="compare every run with every other, not only with the first",
    )
    parser.add_argument(
        "--weighting",
        choices=("own", "plain", "size"),
        default="own",
        help="of groups: as in their own score, every task the same, or by documents "
        "(default: own)",
    )
    parser.add_argument(
        "--require",
        metavar="WHAT",
        help="better, no-worse-than:POINTS or within:POINTS, of every comparison; sets the exit "
        "code",
    )
    parser.add_argument(
        "--changes",
        type=int,
        default=3,
        metavar="N",
        help="documents to list per comparison that got better or worse (default: 3)",
    )
    add_format(parser, "json")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON there")


def execute(options: argparse.Namespace) -> int:
    """Compare, and print or write the result."""
    import json
    from pathlib import Path

    from tenbin.analysis.compare import Side, Wanted, compare_runs
    from tenbin.analysis.compare.requirement import parse_requirement
    from tenbin.config import split_list
    from tenbin.files.disk_errors import write_output
    from tenbin.report.terminal.comparison import print_comparison
    from tenbin.report.terminal.progress import open_progress
    from tenbin.results.read import read_run

    wanted = Wanted(
        cells=tuple(id for written in options.cells or () for id in split_list(written)),
        mapping=_mapping(options.map or ()) or None,
        metrics=tuple(split_list(options.metrics or "")),
        allow=tuple(split_list(options.allow or "")),
        all_pairs=options.all_pairs,
        weighting=options.weighting,
        require=options.require,
    )
    if options.require is not None:
        parse_requirement(options.require)
    watch = open_progress().prepare
    opened = [(str(path), read_run(path, watch)) for path in options.runs]
    sides = [Side(name, run.result, list(run.samples())) for name, run in opened]
    report = compare_runs(sides, wanted)
    written = json.dumps(report.to_json(), ensure_ascii=False, indent=2, allow_nan=False)
    if options.output:
        write_output(Path(options.output), f"{written}\n", "name another with --output")
    if options.format == "json":
        print(written)
    else:
        print_comparison(report, options.changes)
    if report.requirement is None:
        return OK
    return {"pass": OK, "fail": NOT_MET, "inconclusive": INCONCLUSIVE}[report.requirement.verdict]


def _mapping(written: Sequence[str]) -> dict[str, str]:
    from tenbin.config import split_list

    mapping = {}
    for part in (part for one in written for part in split_list(one)):
        here, equals, there = part.partition("=")
        if not equals or not here.strip() or not there.strip():
            raise ConfigError(
                f"--map {part}: takes ID_IN_FIRST=ID_IN_OTHER", "--map jnli-1.3-0.2=jnli-1.3-0.3"
            )
        mapping[here.strip()] = there.strip()
    return mapping
