"""Writes an export to the file, or the folder of files, that a user names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tenbin.errors import ConfigError
from tenbin.files.disk_errors import write_output, writing
from tenbin.report.export.formats import (
    EVERY_EVAL_EVER,
    MODEL_CARD,
    ExportSettings,
    check_format,
    export_text,
)
from tenbin.report.export.table import NamedRun

_REMEDY = "name another with --output"


def write_export(
    runs: Sequence[NamedRun], to: str, settings: ExportSettings, output: Path
) -> list[Path]:
    """Write scores in a format.

    Args:
        runs: The runs.
        to: The format.
        settings: How they are exported.
        output: The file; for Every Eval Ever with several runs a folder, which gets a file for
            each.

    Returns:
        The files.

    Raises:
        ConfigError: The format is unknown or cannot hold these runs, or a model card is there.
        StorageError: A file cannot be written.
    """
    check_format(to)
    if to == MODEL_CARD and output.exists() and output.is_file():
        # A card has text of its own, which nothing here could restore.
        raise ConfigError(
            f"{output} is there already, and a model card is not replaced",
            "write to another file, and copy model-index into the card",
        )
    if to != EVERY_EVAL_EVER or len(runs) == 1:
        write_output(output, export_text(runs, to, settings), _REMEDY)
        return [output]
    files = {run.name: output / f"{_file_name(run.name)}.json" for run in runs}
    if len(set(files.values())) < len(files):
        raise ConfigError("two runs would be written to one file", "give them names: --names")
    with writing(output, _REMEDY):
        output.mkdir(parents=True, exist_ok=True)
    for run in runs:
        write_output(files[run.name], export_text([run], to, settings), _REMEDY)
    return list(files.values())


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "run"
