"""`tenbin run`: evaluate a model and show what came out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tenbin.config import AUTO, RunConfig, build_config, check_values, read_run_file


def config_from(options: argparse.Namespace, *not_config: str) -> RunConfig:
    """A checked config from a run file and the flags over it."""
    return build_config(given_by(options, *not_config))


def given_by(options: argparse.Namespace, *not_config: str) -> dict[str, Any]:
    """What a run file says, and the flags over it."""
    flags = {k: v for k, v in vars(options).items() if k not in {"command", "config", *not_config}}
    checked = check_values(flags)
    given: dict[str, Any] = {}
    if getattr(options, "config", None):
        given.update(read_run_file(options.config))
        # Where rows come from is one choice: a flag for one place overrides the file's other one.
        if checked.get("data_dir"):
            given.pop("sample_data", None)
        if checked.get("sample_data"):
            given.pop("data_dir", None)
    given.update(checked)
    return given


def execute(options: argparse.Namespace) -> int:
    """Run, print the table, and say where everything is."""
    config = config_from(options, "report")
    prepare_report(options)

    from tenbin.report.progress import open_progress

    if config.template == AUTO:
        from tenbin.choosing import execute_auto as run
    else:
        from tenbin.run import execute as run
    finished = run(config, open_progress())

    from tenbin.report.terminal import make_console, print_results

    print_results(finished.document)
    if finished.folder is not None:
        console = make_console()
        console.print(f"results  {finished.folder.result_file}", highlight=False, soft_wrap=True)
        console.print(
            f"samples  {finished.folder.path / 'samples.parquet'}", highlight=False, soft_wrap=True
        )
        report_on(options, finished.folder.path)
    return 0


def prepare_report(options: argparse.Namespace) -> None:
    """What `--report` needs must be there before hours of work, not after."""
    if options.report:
        from tenbin.report.charts.drawing import import_altair

        import_altair()


def report_on(options: argparse.Namespace, folder: Path) -> None:
    """Write the report of a run that is over, where `--report` asks for it."""
    if options.report:
        from tenbin.cli.report import write_report

        wanted = folder / "report.html"
        write_report([folder], wanted if options.report is True else Path(options.report))
