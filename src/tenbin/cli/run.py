"""`tenbin run`: evaluate a model and show what came out."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tenbin.cli.exit_codes import code_of_run
from tenbin.config import (
    AUTO,
    RunConfig,
    build_config,
    check_values,
    read_models_file,
    read_run_file,
)


def config_from(options: argparse.Namespace, *not_config: str) -> RunConfig:
    """A checked config from a run file and the flags over it."""
    return build_config(given_by(options, *not_config))


def given_by(options: argparse.Namespace, *not_config: str) -> dict[str, Any]:
    """What a run file says, and the flags over it."""
    checked = flags_of(options, *not_config)
    if not getattr(options, "config", None):
        return checked
    return {**without_other_data(read_run_file(options.config), checked), **checked}


def flags_of(options: argparse.Namespace, *not_config: str) -> dict[str, Any]:
    """The flags that were given, checked."""
    left_out = {"command", "config", *not_config}
    return check_values({k: v for k, v in vars(options).items() if k not in left_out})


def without_other_data(given: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """A file's keys; where rows come from is one choice, and a flag for it is over the file's."""
    other = {"data_dir": "sample_data", "sample_data": "data_dir"}
    dropped = {other[name] for name in other if flags.get(name)}
    return {name: value for name, value in given.items() if name not in dropped}


def execute(options: argparse.Namespace) -> int:
    """Run, print the table, and say where everything is."""
    if options.config and (models := read_models_file(options.config)) is not None:
        from tenbin.cli.models import execute_models

        return execute_models(options, models)
    config = config_from(options, "report")
    prepare_report(options)

    from tenbin.report.terminal.progress import open_progress

    if config.template == AUTO:
        from tenbin.pipeline.sweep import execute_auto as run
    else:
        from tenbin.pipeline.run import execute as run
    finished = run(config, open_progress())

    from tenbin.report.terminal.console import make_console
    from tenbin.report.terminal.scores import print_results
    from tenbin.results.schema import RunResult

    print_results(RunResult.model_validate(finished.document))
    if finished.folder is not None:
        console = make_console()
        console.print(f"results  {finished.folder.result_file}", highlight=False, soft_wrap=True)
        console.print(
            f"samples  {finished.folder.path / 'samples.parquet'}", highlight=False, soft_wrap=True
        )
        report_on(options, finished.folder.path)
    return code_of_run(finished.document)


def prepare_report(options: argparse.Namespace) -> None:
    """What `--report` needs must be there before hours of work, not after."""
    if options.report:
        from tenbin.report.charts.draw import import_altair

        import_altair()


def report_on(options: argparse.Namespace, folder: Path) -> None:
    """Write the report of a run that is over, where `--report` asks for it."""
    if options.report:
        from tenbin.cli.report import write_report

        wanted = folder / "report.html"
        write_report([folder], wanted if options.report is True else Path(options.report))
