"""Where a run is kept: a folder with result.json, samples.parquet and run.yaml.

`--output_path result.json` writes that file and the folder `result.run` beside it; any other
path is a folder in which each run gets a folder of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenbin.atomic import atomic_file, write_atomically
from tenbin.errors import ConfigError, ResultError
from tenbin.results.samples import read_samples, write_samples

RESULT, SAMPLES, RUN_FILE = "result.json", "samples.parquet", "run.yaml"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The place of one run."""

    path: Path
    result_file: Path
    """Where the user asked for result.json; the folder has one too."""


def choose_folder(output_path: str | None, model: str, stamp: str) -> RunFolder:
    """Decide where a run goes and make sure it can be written, before any work is done.

    Args:
        output_path: What the user said: a .json file, a folder, or nothing.
        model: Names a folder of its own among others.
        stamp: The run's time, as text.
    """
    wanted = Path(output_path) if output_path else Path("runs")
    if wanted.suffix == ".json":
        folder = RunFolder(wanted.with_suffix(".run"), wanted)
    else:
        name = re.sub(r"[^\w.-]+", "-", Path(model).name).strip("-") or "model"
        place = wanted / f"{stamp}-{name}"
        folder = RunFolder(place, place / RESULT)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        if folder.result_file.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(folder.result_file))
        probe = folder.path / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError(
            f"--output_path: {error.filename or folder.path} cannot be written: {error.strerror}",
            "name a place you may write to",
        ) from error
    return folder


def discard_empty(folder: RunFolder) -> None:
    """Take back the folder of a run that never began; one that holds anything stays."""
    with suppress(OSError):
        folder.path.rmdir()


def write_run(
    folder: RunFolder,
    document: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    run_file: Mapping[str, Any],
) -> None:
    """Write all files of a run; each appears whole or not at all."""
    import yaml

    samples = folder.path / SAMPLES
    with atomic_file(samples) as partial:
        write_samples(partial, rows)
    write_atomically(
        folder.path / RUN_FILE, yaml.safe_dump(dict(run_file), allow_unicode=True, sort_keys=False)
    )
    written = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    write_atomically(folder.path / RESULT, written)
    if folder.result_file != folder.path / RESULT:
        write_atomically(folder.result_file, written)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run read back."""

    path: Path
    document: Mapping[str, Any]

    def samples(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Every document of the run, whole or in some columns."""
        return read_samples(self.path / SAMPLES, columns)


def read_run(path: str | Path) -> StoredRun:
    """A stored run, by its folder or its result.json.

    Raises:
        ResultError: When there is no run, or it is damaged.
    """
    place = Path(path)
    if place.suffix == ".json" and place.with_suffix(".run").is_dir():
        place = place.with_suffix(".run")
    folder = place.parent if place.name == RESULT else place
    try:
        document = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ResultError(
            f"{path}: no stored run there", f"name a run folder or its {RESULT}"
        ) from error
    except (OSError, ValueError) as error:
        raise ResultError(f"{folder / RESULT}: cannot be read: {error}") from error
    return StoredRun(folder, document)
