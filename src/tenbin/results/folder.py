"""Where a run is kept: a folder with result.json, samples.parquet and run.yaml.

`--output_path result.json` writes that file and the folder `result.run` beside it; any other
path is a folder in which each run gets a folder of its own. `reading` reads them back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

from tenbin.errors import ConfigError
from tenbin.files.atomic import atomic_file, remove_abandoned
from tenbin.files.disk_errors import unwritten, writing
from tenbin.results.locking import PlaceLock
from tenbin.results.reading import (
    FACT_RUN,
    FACT_SCHEMA,
    RESULT,
    SAMPLES,
    StoredRun,
    read_run,
)
from tenbin.results.samples import write_samples

RUN_FILE = "run.yaml"
_REMEDY = "name another place with --output_path: all answers are kept in the journal"
_PARTIALS = ".*.partial"
_OF_ONE_RUN = ("sweep.json", "report.html")
"""What other commands put into the folder: it tells of the run that was there then."""

__all__ = [
    "RESULT",
    "RUN_FILE",
    "SAMPLES",
    "RunFolder",
    "StoredRun",
    "choose_folder",
    "discard_reports",
    "leave_folder",
    "read_run",
    "write_run",
]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The place of one run."""

    path: Path
    result_file: Path
    """Where the user asked for result.json; the folder has one too."""
    lock: PlaceLock | None = None
    """Keeps other runs out; None: nobody was kept out."""


def choose_folder(output_path: str | None, model: str, stamp: str) -> RunFolder:
    """Decide where a run goes and take the place, before any work is done.

    What dead processes left there half written is taken away.

    Args:
        output_path: What the user said: a .json file, a folder, or nothing.
        model: Names a folder of its own among others.
        stamp: The run's time, as text.

    Raises:
        ConfigError: The place cannot be written, or another run writes there.
    """
    wanted = Path(output_path) if output_path else Path("runs")
    try:
        if wanted.suffix == ".json":
            path, result_file = wanted.with_suffix(".run"), wanted
            path.mkdir(parents=True, exist_ok=True)
        else:
            path = _own_folder(wanted, model, stamp)
            result_file = path / RESULT
        if result_file.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(result_file))
        lock = PlaceLock(path)
        remove_abandoned(path, _PARTIALS)
        remove_abandoned(result_file.parent, f".{escape(result_file.name)}.*.partial")
    except OSError as error:
        failed = unwritten(wanted, error, "name another place with --output_path")
        raise ConfigError(f"--output_path: {failed.message}", failed.hint) from error
    return RunFolder(path, result_file, lock)


def _own_folder(place: Path, model: str, stamp: str) -> Path:
    """A new folder among others; two runs that begin in the same second get two."""
    name = re.sub(r"[^\w.-]+", "-", Path(model).name).strip("-") or "model"
    place.mkdir(parents=True, exist_ok=True)
    remove_abandoned(place, f"*/{_PARTIALS}")
    number = 1
    while True:
        path = place / (f"{stamp}-{name}" + (f"-{number}" if number > 1 else ""))
        try:
            path.mkdir()
            return path
        except FileExistsError:
            number += 1


def leave_folder(folder: RunFolder) -> None:
    """Let others in; a folder that holds nothing, because the run never began, is taken away."""
    if folder.lock is not None:
        folder.lock.release()
    with suppress(OSError):
        folder.path.rmdir()


def write_run(
    folder: RunFolder,
    document: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    run_file: Mapping[str, Any],
) -> dict[str, Any]:
    """Write all files of a run; each appears whole or not at all.

    All are written out before the first gets its name. Where the process is killed between two
    names, the digest in result.json tells that they do not belong together.

    Returns:
        The document as it was written: with what identifies the samples.
    """
    from tenbin.files.yaml_text import write_yaml

    path = folder.path
    facts = {FACT_SCHEMA: str(document.get("schema_version"))}
    if "run_id" in document:
        facts[FACT_RUN] = document["run_id"]
    results = dict.fromkeys((folder.result_file, path / RESULT))
    with ExitStack() as names:
        names.enter_context(writing(path, _REMEDY))
        # They get their names in the opposite order: samples first, the user's own file last.
        results_written = [names.enter_context(atomic_file(file)) for file in results]
        settings = names.enter_context(atomic_file(path / RUN_FILE))
        samples = names.enter_context(atomic_file(path / SAMPLES))
        written = write_samples(samples, rows, facts)
        complete = {**document, "samples": {"sha256": written.sha256, "bytes": written.bytes}}
        text = json.dumps(complete, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        for file in results_written:
            file.write_text(text, encoding="utf-8")
        settings.write_text(write_yaml(dict(run_file)), encoding="utf-8")
    return complete


def discard_reports(folder: RunFolder) -> None:
    """Take away what was made of another run that was kept here."""
    with writing(folder.path, _REMEDY):
        for name in _OF_ONE_RUN:
            (folder.path / name).unlink(missing_ok=True)
