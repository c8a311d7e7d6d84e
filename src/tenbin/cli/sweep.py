"""`tenbin sweep`: every template in one run, and what choosing the best is worth."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tenbin.cli.exit_codes import code_of_run
from tenbin.cli.run import config_from, prepare_report, report_on
from tenbin.errors import ConfigError
from tenbin.files.disk_errors import write_output

_NOT_CONFIG = ("run", "metric", "format", "report_file", "report")
_Reported: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]
"""What a sweep says, and the document of its run."""


def execute(options: argparse.Namespace) -> int:
    """Run a sweep or read one back, and print what it says."""
    report, document = _stored(options) if options.run else _fresh(options)
    if options.report_file:
        _write(Path(options.report_file), report)
    if options.format == "json":
        print(json.dumps(report, ensure_ascii=False, indent=2))
        return code_of_run(document)

    from tenbin.report.terminal.sweep import print_run_notes, print_sweep
    from tenbin.results.schema import RunResult

    print_sweep(report)
    print_run_notes(RunResult.model_validate(document))
    return code_of_run(document)


def _stored(options: argparse.Namespace) -> _Reported:
    given = [
        f"--{name}"
        for name, value in vars(options).items()
        if value is not None and name not in {"command", *_NOT_CONFIG}
    ]
    if given:
        raise ConfigError(
            f"{options.run} is a stored run: {', '.join(given)} would need a new one",
            "leave the run out to evaluate, or the flags to read it back",
        )

    from tenbin.pipeline.sweep import full_report
    from tenbin.results.outcomes import outcomes_of
    from tenbin.results.read import read_run

    stored = read_run(options.run)
    report = full_report(stored.document, outcomes_of(stored.sample_rows()), options.metric)
    return report, stored.document


def _fresh(options: argparse.Namespace) -> _Reported:
    config = config_from(options, *_NOT_CONFIG)
    prepare_report(options)

    from tenbin.pipeline.sweep import execute_sweep
    from tenbin.report.terminal.progress import open_progress

    finished = execute_sweep(config, open_progress(), options.metric)
    if finished.run.folder is not None:
        _write(finished.run.folder.path / "sweep.json", finished.report)
        report_on(options, finished.run.folder.path)
    return finished.report, finished.run.document


def _write(path: Path, report: Mapping[str, Any]) -> None:
    text = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    write_output(path, text, "name another place with -o or --output_path")
