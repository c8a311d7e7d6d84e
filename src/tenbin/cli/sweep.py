"""`tenbin sweep`: every template in one run, and what choosing the best is worth."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, TypeAlias

from tenbin.cli.exit_codes import HELP, code_of_run
from tenbin.cli.run import (
    add_report_and_config,
    check_json,
    check_report,
    order_report,
    show_dry_run,
    show_timing,
    tracked,
    write_document,
    write_run_report,
)
from tenbin.errors import ConfigError

if TYPE_CHECKING:
    from tenbin.analysis.option_order.report import OptionOrderReport
    from tenbin.analysis.sweep.report import SweepReport
    from tenbin.results.schema import RunResult

EXAMPLES = f"""examples:
  tenbin sweep --model hf --model_args pretrained=PATH \\
      --tasks jcommonsenseqa,jnli,marc_ja --num_fewshot 3 --select_on train:200
  tenbin sweep --model hf --model_args pretrained=PATH --tasks jnli-1.1 \\
      --templates 0.2,0.3 --num_fewshot_sweep 0,1,3,5
  tenbin sweep --model hf --model_args pretrained=PATH --tasks jnli \\
      --num_fewshot 3 --seeds 5
  tenbin sweep --model hf --model_args pretrained=PATH --tasks jnli \\
      --budget 4x --then best:2
  tenbin sweep runs/20260101-120000-model --metric balanced_acc  (a stored one)

{HELP}"""
_Reported: TypeAlias = "tuple[SweepReport, OptionOrderReport | None, RunResult]"
"""What a sweep says, how scores depend on the order of options, and the result of its run."""
_REMEDY = "name another place with -o or --output_path"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `tenbin sweep`."""
    from tenbin.cli.flags import add_options
    from tenbin.cli.parser import add_format
    from tenbin.config.options import OUTPUT, SWEEP

    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="a stored sweep to report on again, without a model"
    )
    groups = add_options(parser, "sweep", first=SWEEP)
    groups[SWEEP].add_argument(
        "--metric", metavar="NAME", help="choose by this metric (default: each task's first)"
    )
    add_report_and_config(groups[OUTPUT])
    add_format(groups[OUTPUT], "json")
    groups[OUTPUT].add_argument(
        "-o", dest="report_file", metavar="FILE", help="also write the report as JSON"
    )


def execute(options: argparse.Namespace) -> int:
    """Run a sweep or read one back, and print what it says."""
    check_json(options)
    if options.dry_run and not options.run:
        from tenbin.cli.flags import config_from
        from tenbin.pipeline.sweep import swept_config

        return show_dry_run(options, {"": swept_config(config_from(options), options.metric)})
    report, order, result = _stored(options) if options.run else _fresh(options)
    if options.report_file:
        from pathlib import Path

        write_document(Path(options.report_file), _document(report, order), _REMEDY)
    if options.format == "json":
        import json

        print(json.dumps(_document(report, order), ensure_ascii=False, indent=2))
        return code_of_run(result)

    from tenbin.report.terminal.log import log_output
    from tenbin.report.terminal.sweep import print_run_notes, print_sweep

    print_sweep(report)
    log_output(lambda console: print_sweep(report, console))
    if order is not None:
        from tenbin.report.terminal.option_order import print_option_order

        print_option_order(order)
    print_run_notes(result)
    return code_of_run(result)


def _stored(options: argparse.Namespace) -> _Reported:
    from tenbin.config import OPTIONS

    given = [
        f"--{name}"
        for name, value in vars(options).items()
        if value is not None and (name in OPTIONS or name == "config")
    ]
    if given:
        raise ConfigError(
            f"{options.run} is a stored run: {', '.join(given)} would need a new one",
            "leave the run out to evaluate, or the flags to read it back",
        )

    from tenbin.analysis.sweep.report import sweep_report
    from tenbin.report.terminal.progress import open_progress
    from tenbin.results.read import read_run
    from tenbin.results.samples import outcomes_of

    stored = read_run(options.run, open_progress().prepare)
    report = sweep_report(stored.result, outcomes_of(stored.samples()), options.metric)
    return report, order_report(stored.result, stored.samples), stored.result


def _fresh(options: argparse.Namespace) -> _Reported:
    from tenbin.cli.flags import config_from

    config = config_from(options)
    check_report(options)

    from tenbin.pipeline.sweep import execute_sweep
    from tenbin.report.terminal.progress import open_progress

    finished = execute_sweep(config, tracked(config, open_progress()), options.metric)
    report = finished.report
    order = order_report(finished.run.result, finished.run.samples)
    if finished.run.folder is not None:
        place = finished.run.folder.path / "sweep.json"
        write_document(place, _document(report, order), _REMEDY)
        write_run_report(options, finished.run.folder.path)
    show_timing(options, finished.run)
    return report, order, finished.run.result


def _document(report: SweepReport, order: OptionOrderReport | None) -> dict[str, Any]:
    """What sweep.json holds."""
    document = report.to_json()
    return document if order is None else {**document, "option_order": order.to_json()["templates"]}
