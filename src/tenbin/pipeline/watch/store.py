"""Runs that are there already, by the model's fingerprint, and the place of a new one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tenbin.config import RunConfig
from tenbin.errors import ConfigError, ResultError
from tenbin.records.training_step import step_in_name
from tenbin.results.read import StoredRun, read_run
from tenbin.version import __version__

_OF_THE_PLACE = ("pretrained", "revision", "peft")
"""Model arguments that say where weights are; the fingerprint says which they are."""


class RunStore:
    """The folder of the runs of one training."""

    def __init__(self, folder: Path, config: RunConfig) -> None:
        """Read what is there.

        Args:
            folder: Where runs go.
            config: What every checkpoint is asked.
        """
        self.folder = folder
        self._asked = _asked(config.recorded())
        self._complete: dict[str, Path] = {}
        self._identities: dict[Path, tuple[str, str]] = {}
        for file in sorted(folder.glob("*.json")):
            if file.with_suffix(".run").is_dir():
                self._read(file)

    def _read(self, file: Path) -> None:
        try:
            stored = read_run(file)
        except ResultError:
            return  # half written when it was killed: it is run again, and answers are kept
        result = stored.result
        self._identities[file] = result.fingerprint, _asked(result.config)
        if _asked(result.config) == self._asked and _is_complete(stored):
            self._complete[result.fingerprint] = file

    def known(self, fingerprint: str) -> Path | None:
        """The result of a complete run of the same weights that was asked the same."""
        return self._complete.get(fingerprint)

    def add(self, fingerprint: str, file: Path) -> None:
        """One more run is complete."""
        self._complete[fingerprint] = file
        self._identities[file] = fingerprint, self._asked

    def place(self, name: str, step: int, fingerprint: str) -> Path:
        """Where the run of a checkpoint goes: by its name, and the step where the name has none.

        What another model or other questions left under that name stays.
        """
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "checkpoint"
        if step_in_name(plain) != step:
            plain = f"{plain}-step-{step}"
        own = fingerprint, self._asked
        file = self.folder / f"{plain}.json"
        if self._identities.get(file, own) == own and not self._is_foreign(file):
            return file
        mark = hashlib.sha256("\n".join(own).encode()).hexdigest()[:8]
        return self.folder / f"{plain}-{mark}.json"

    def _is_foreign(self, file: Path) -> bool:
        """Whether a file is there that is no run of ours that can be read."""
        return file.exists() and file not in self._identities and not _is_half_written(file)


def _is_half_written(file: Path) -> bool:
    return file.with_suffix(".run").is_dir()


def _is_complete(stored: StoredRun) -> bool:
    result = stored.result
    if result.partial or result.failures or result.tenbin_version != __version__:
        return False
    try:
        stored.check_samples()
    except ResultError:
        return False
    return True


def _asked(recorded: Mapping[str, Any]) -> str:
    """The options of a run that do not say where it or its weights are."""
    arguments = {
        name: value
        for name, value in (recorded.get("model_args") or {}).items()
        if name not in _OF_THE_PLACE
    }
    rest = {name: value for name, value in recorded.items() if name != "output_path"}
    return json.dumps({**rest, "model_args": arguments}, sort_keys=True, default=str)


def check_folder(folder: Path) -> None:
    """Make the folder of runs.

    Raises:
        ConfigError: That is not possible.
    """
    if folder.suffix == ".json":
        raise ConfigError(
            f"--output_path {folder}: every checkpoint has a run of its own",
            "name a folder, without .json",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"--output_path {folder}: {error.strerror}", "name another folder"
        ) from error
