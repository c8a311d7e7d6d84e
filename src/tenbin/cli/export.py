"""`tenbin export`: scores of stored runs for papers, pages, model cards and other programs."""

from __future__ import annotations

import argparse

EXAMPLES = """examples:
  tenbin export result.json --to markdown
  tenbin export small.json large.json --to latex --percent -o scores.tex
  tenbin export runs/a runs/b --to csv --all_metrics --names base,tuned
  tenbin export result.json --to model-card -o card.md
  tenbin export result.json --to every-eval-ever --evaluator "Our lab" \\
      --relationship third_party -o result.eee.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin export`."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders or their result.json")
    parser.add_argument(
        "--to",
        required=True,
        metavar="FORMAT",
        help="csv, markdown, latex, html-table, jsonl, model-card, every-eval-ever; or wandb or "
        "mlflow, which get scores, samples and report",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write there instead of printing; for every-eval-ever with several runs a folder",
    )
    parser.add_argument(
        "--percent", action="store_true", help="per cent instead of shares from 0 to 1"
    )
    parser.add_argument(
        "--all_metrics", action="store_true", help="every metric, not only the first of each task"
    )
    parser.add_argument(
        "--rows",
        choices=("models", "tasks"),
        help="of markdown, latex and html-table (default: models, if there are several and few "
        "columns)",
    )
    parser.add_argument(
        "--names", metavar="NAMES", help="a name for each run (default: its model's name)"
    )
    parser.add_argument(
        "--evaluator", metavar="NAME", default="unknown", help="who evaluated, for every-eval-ever"
    )
    parser.add_argument(
        "--relationship",
        choices=("first_party", "third_party", "collaborative", "other"),
        default="other",
        metavar="KIND",
        help="of the evaluator to the model, for every-eval-ever: first_party, third_party, "
        "collaborative or other (default)",
    )
    parser.add_argument(
        "--export_args",
        metavar="K=V[,K=V…]",
        help="for wandb: project, entity, mode (online, offline), dir; for mlflow: tracking_uri, "
        "experiment; for both: samples (1000 of each task). Keys come from the environment",
    )


def execute(options: argparse.Namespace) -> int:
    """Print or write the scores."""
    import io
    import sys
    from pathlib import Path

    from tenbin.config import split_list
    from tenbin.errors import ConfigError
    from tenbin.report.export import ExportSettings, NamedRun, export_text, name_runs
    from tenbin.report.export.every_eval_ever import Evaluator
    from tenbin.report.export.formats import TRACKERS, check_format
    from tenbin.report.export.write import write_export
    from tenbin.results.read import read_run

    if options.to in TRACKERS:
        return _track(options)
    check_format(options.to)
    if options.export_args:
        raise ConfigError("--export_args is for wandb and mlflow", f"leave it out for {options.to}")
    opened = [read_run(path) for path in options.runs]
    names = name_runs([(run.path, run.result) for run in opened], split_list(options.names or ""))
    runs = [NamedRun(name, run.result) for name, run in zip(names, opened, strict=True)]
    settings = ExportSettings(
        options.percent,
        options.all_metrics,
        options.rows,
        Evaluator(options.evaluator, options.relationship),
    )
    if options.output is None:
        text = export_text(runs, options.to, settings)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # The formats are UTF-8, as in a file, whatever the terminal's language.
            sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(text)
        return 0
    for file in write_export(runs, options.to, settings, Path(options.output)):
        print(f"export   {file}")
    return 0


def _track(options: argparse.Namespace) -> int:
    """Send the runs to a tracker."""
    from tenbin.config.values import parse_model_args
    from tenbin.errors import ConfigError
    from tenbin.report.tracking.settings import tracking_settings
    from tenbin.report.tracking.stored import track_stored
    from tenbin.results.read import read_run

    for name in ("output", "percent", "all_metrics", "rows", "names"):
        if getattr(options, name):
            raise ConfigError(
                f"--{name} is for texts, and {options.to} gets every number of a run as it is",
                "leave it out",
            )
    try:
        given = parse_model_args(options.export_args or {})
    except ValueError as error:
        raise ConfigError(f"--export_args takes {error}") from None
    opened = [read_run(path) for path in options.runs]
    track_stored(opened, options.to, tracking_settings(given), print)
    return 0
