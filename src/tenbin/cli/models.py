"""`tenbin run --config` with a list of models: a run for each, and one table at the end."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tenbin.cli.exit_codes import ERROR, SOME_FAILED, code_of_run
from tenbin.cli.run import flags_of, prepare_report, without_other_data
from tenbin.config import ModelsFile
from tenbin.pipeline.many_models.run import Ended
from tenbin.pipeline.progress import Listener


def execute_models(options: argparse.Namespace, file: ModelsFile) -> int:
    """Run all models and show their scores."""
    from tenbin.pipeline.many_models.entries import check_entries, read_entries
    from tenbin.pipeline.many_models.run import run_entries
    from tenbin.report.terminal.many_models import print_models
    from tenbin.report.terminal.progress import NamedProgress, open_progress

    flags = flags_of(options, "report")
    shared = without_other_data(file.shared, flags)
    entries = read_entries(shared, file.models, flags, str(options.config))
    prepare_report(options)
    speaker = open_progress()
    check_entries(entries, speaker)
    total, so_far = len(entries), 0

    def told(one: Ended) -> None:
        nonlocal so_far
        so_far += 1
        said = {"known": "complete already", "finished": "finished"}.get(one.state, one.reason)
        speaker.message(f"{so_far} of {total} models: {one.name}: {said}")

    def one_by_one(name: str) -> Listener:
        speaker.message(f"model {name}")
        return open_progress()

    ended = run_entries(entries, file.at_once, one_by_one, NamedProgress, told)
    print_models([(one.name, one.scores, one.reason) for one in ended])
    folders = [
        entry.result.with_suffix(".run")
        for entry, one in zip(entries, ended, strict=True)
        if one.state != "failed"
    ]
    _report(options, folders, entries[0].result.parent)
    failed = [one for one in ended if one.state == "failed"]
    if failed:
        return ERROR if len(failed) == len(ended) else SOME_FAILED
    return max(code_of_run(one.scores) for one in ended)


def _report(options: argparse.Namespace, folders: Sequence[Path], place: Path) -> None:
    if options.report and folders:
        from tenbin.cli.report import write_report

        wanted = place / "report.html"
        write_report(folders, wanted if options.report is True else Path(options.report))
