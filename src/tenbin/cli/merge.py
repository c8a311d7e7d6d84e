"""`tenbin merge`: stored runs of one model as one run."""

from __future__ import annotations

import argparse

EXAMPLES = """examples:
  tenbin merge first.json second.json -o whole.json
  tenbin merge runs/20260101-120000-mine runs/20260102-120000-mine -o runs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin merge`."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folders or their result.json, of one model"
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="PATH",
        help="result.json of the merged run (samples go to the folder beside it), or a folder for "
        "runs",
    )
    parser.add_argument(
        "--include_path",
        metavar="PATHS",
        help="task files that the runs were asked with, where they lie elsewhere now",
    )


def execute(options: argparse.Namespace) -> int:
    """Merge, print the scores, and say where the result is."""
    from tenbin.cli.exit_codes import code_of_run
    from tenbin.config import split_list
    from tenbin.pipeline.merge.merge import merge_runs
    from tenbin.report.terminal.console import make_console
    from tenbin.report.terminal.progress import open_progress
    from tenbin.report.terminal.scores import print_results

    merged = merge_runs(
        options.runs, options.output, open_progress(), split_list(options.include_path or "")
    )
    print_results(merged.result)
    console = make_console()
    names = {"results": "result.json", "samples": "samples.parquet"}
    for what, name in names.items():
        console.print(f"{what}  {merged.path / name}", highlight=False, soft_wrap=True)
    return code_of_run(merged.result)
