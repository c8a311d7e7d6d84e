"""The models of a run file: which they are, what each is asked, and which are done already.

Everything that can be wrong in any of them is found here, before the first model loads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenbin.backends.registry import check_arguments
from tenbin.config import AUTO, RunConfig, build_config, check_values
from tenbin.errors import BackendError, ConfigError, ResultError, TenbinError
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.documents import selecting_cells
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.output_folder import check_place
from tenbin.pipeline.prepare import Data, load_data
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import backend_settings
from tenbin.pipeline.sweep import check_auto
from tenbin.results.folder import RunFolder
from tenbin.results.read import read_run
from tenbin.results.schema import RunResult
from tenbin.version import __version__

_DEFAULT_FOLDER = "runs"
_NOT_BY_MODEL = ("output_path", "cache_dir", "ray_address", "models")
_OF_THE_MODEL = ("model", "model_args", "dtype", "device", "batch_size", "workers")


@dataclass(frozen=True, slots=True)
class Entry:
    """One model and its run."""

    name: str
    config: RunConfig

    @property
    def result(self) -> Path:
        """Where its result goes."""
        return Path(str(self.config.output_path))

    @property
    def folder(self) -> RunFolder:
        """The place of its run, which nobody has taken."""
        return RunFolder(self.result.with_suffix(".run"), self.result)


def read_entries(
    shared: Mapping[str, Any],
    models: Sequence[Mapping[str, Any]],
    flags: Mapping[str, Any],
    where: str,
) -> list[Entry]:
    """A run for each model: what the file says for all, and over it what the model's entry says.

    Args:
        shared: Keys of a run, for all models.
        models: Their entries; each may have a `name` and any key but those of places.
        flags: Keys over both.
        where: The file, for messages.

    Raises:
        ConfigError: Naming the entry that is wrong.
    """
    folder = str({**shared, **flags}.get("output_path") or _DEFAULT_FOLDER)
    if folder.endswith(".json"):
        raise ConfigError(
            f"--output_path {folder}: {len(models)} models need a folder", "name one, without .json"
        )
    entries: dict[str, Entry] = {}
    for number, model in enumerate(models, 1):
        place = f"{where}: models, entry {number}"
        own = _own_keys(model, place)
        name = own.pop("name", None) or _name_of({**shared, **own, **flags})
        if name in entries:
            raise ConfigError(
                f"{place}: another entry is called {name!r} too", "give it a `name` of its own"
            )
        target = str(Path(folder) / f"{name}.json")
        try:
            config = build_config({**shared, **own, **flags, "output_path": target})
        except TenbinError as error:
            raise _located(error, f"{place} ({name})") from error
        entries[name] = Entry(name, config)
    return list(entries.values())


def _own_keys(model: Mapping[str, Any], place: str) -> dict[str, Any]:
    if not isinstance(model, Mapping) or not model:
        raise ConfigError(f"{place}: a model is a mapping of keys", "such as `- model_args: …`")
    for name in _NOT_BY_MODEL:
        if name in model:
            raise ConfigError(f"{place}: {name} is said once, for all models")
    rest = {key: value for key, value in model.items() if key != "name"}
    own = check_values(rest, place)
    if "name" in model:
        own["name"] = _as_file_name(str(model["name"]))
    return own


def _name_of(given: Mapping[str, Any]) -> str:
    arguments = given.get("model_args") or {}
    named = arguments.get("pretrained") or arguments.get("model") or given.get("model") or "hf"
    return _as_file_name(Path(str(named)).name)


def _as_file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "model"


def _located(error: TenbinError, place: str) -> TenbinError:
    return type(error)(f"{place}: {error.message}", error.hint)


def check_entries(entries: Sequence[Entry], listener: Listener) -> dict[str, str]:
    """Find faults of tasks, templates, data, model arguments and places in any of the runs.

    Tasks and rows are looked at once for all models that are asked the same.

    Returns:
        The names of models that are not where their entry says, and why: the others can be run.

    Raises:
        TenbinError: Naming the model, where the file itself is wrong.
    """
    failed: dict[str, str] = {}
    seen: dict[str, tuple[list[CellSetup], Data]] = {}
    blank = RunConfig(tasks=())
    for entry in entries:
        config = entry.config
        try:
            try:
                check_arguments(backend_settings(config))
            except BackendError as error:
                failed[entry.name] = str(error)
                continue
            of_the_model = {name: getattr(blank, name) for name in _OF_THE_MODEL}
            asked = config.replaced(output_path=None, **of_the_model)
            if repr(asked) not in seen:
                seen[repr(asked)] = _prepared(config, listener)
            # Which model it is, its own run finds out before it loads it.
            check_place(entry.folder, config, *seen[repr(asked)], fingerprint=None)
        except TenbinError as error:
            raise _located(error, entry.name) from error
    return failed


def _prepared(config: RunConfig, listener: Listener) -> tuple[list[CellSetup], Data]:
    """The cells of a run and their rows; where a template is chosen, all that can be."""
    if config.template == AUTO:
        _, setups, _, data = check_auto(config, listener)
        return setups, data
    setups = choose_cells(config)
    setups += selecting_cells(config, setups)
    data = load_data(config, setups, listener.transfer)
    return data.kept(setups), data


def known_result(entry: Entry) -> RunResult | None:
    """The result of an earlier run of the same, if it lacks nothing; None: it is to be run.

    One with failures is run again: what was answered is in the journal.
    """
    try:
        stored = read_run(entry.result)
        result = stored.result
        same = (
            result.tenbin_version == __version__
            and result.config == entry.config.recorded()
            and not result.failures
            and not result.partial
        )
        if same:
            stored.check_samples()
    except ResultError:
        return None
    return result if same else None
