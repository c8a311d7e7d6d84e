"""What a tracker gets of a run. Folders of the machine and keys are not among it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from tenbin.config import OPTIONS
from tenbin.report.export import NamedRun
from tenbin.report.export.grid import arrange
from tenbin.report.export.markdown import to_markdown
from tenbin.report.export.names import model_label, short_name
from tenbin.report.export.table import build_table
from tenbin.report.html.summary import score_interval
from tenbin.report.tracking.names import part_name, score_places
from tenbin.results.read import StoredRun
from tenbin.results.schema import MetricScore, RunResult, Sample
from tenbin.version import __version__

_PLACES = ("data_dir", "cache_dir", "output_path", "include_path", "against", "base_url")
"""Options and arguments that say where something is on this machine or in its network."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """What is known of a run from its beginning."""

    id: str
    """The same for the same run, also if it was resumed: a tracker updates what it has of it."""
    model: str
    settings: Mapping[str, str | int | float | bool]
    """Options and the model, by name."""


@dataclass(frozen=True, slots=True)
class TrackedResult:
    """A run that is over."""

    run: TrackedRun
    result: RunResult
    """Without folders."""
    samples: Callable[[], Iterator[Sample]]
    stored: StoredRun | None
    """What the report is made of; None if the run was not stored."""

    @property
    def scores(self) -> dict[str, float]:
        """Every number, under names that line up with those of other runs."""
        result, places = self.result, score_places(self.result)
        found: dict[str, float] = {}
        for id in result.configs:
            for score in result.scores(id):
                found |= _numbers(f"{places[id]}/{part_name(score.metric)}", score)
        for id in result.groups:
            for score in result.group_scores(id):
                found |= _numbers(f"{places[id]}/{part_name(score.metric)}", score)
        return found

    @property
    def state(self) -> str:
        """`partial` for a run that was stopped before its end."""
        return "partial" if self.result.partial else "finished"

    @property
    def marks(self) -> list[str]:
        """What should be seen of a run before its numbers are: short words."""
        sample_rows = any(
            file.source == "sample_data"
            for splits in self.result.data.values()
            for files in splits.values()
            for file in files
        )
        marks = ["sample rows"] if sample_rows else []
        marks += [] if self.result.profile in (None, "tenbin") else [str(self.result.profile)]
        return [*marks, "partial"] if self.result.partial else marks

    @property
    def table(self) -> str:
        """The scores as a Markdown table, with what should be known of them."""
        table = build_table([NamedRun(self.run.model, self.result)], all_metrics=False)
        return to_markdown(arrange(table, percent=False, rows="tasks"))


def tracked_run(run_id: str, model: str, config: Mapping[str, object], **more: Any) -> TrackedRun:
    """A run by its id, the model's name and its recorded options."""
    settings: dict[str, Any] = {"tenbin_version": __version__, "model_name": model}
    for name, value in [*config.items(), *more.items()]:
        settings |= _flat(name, value)
    return TrackedRun(run_id, model, settings)


def tracked_result(
    result: RunResult, samples: Callable[[], Iterator[Sample]], stored: StoredRun | None
) -> TrackedResult:
    """A run that is over, without the folders that its result names."""
    clean = without_folders(result)
    label = model_label(result)
    known = {
        name: value
        for name in ("dtype", "device", "revision", "parameters", "encoding")
        if isinstance(value := clean.model.get(name), str | int | float) and value != ""
    }
    run = tracked_run(
        run_key(result),
        label,
        clean.config,
        **{f"model.{name}": value for name, value in known.items()},
        profile=clean.profile or "tenbin",
        fingerprint=clean.fingerprint,
    )
    return TrackedResult(run, clean, samples, stored)


def run_key(result: RunResult) -> str:
    """What names a run for trackers; runs of earlier versions have no id of their own."""
    if result.run_id:
        return result.run_id
    written = f"{result.fingerprint}\0{result.date}\0{','.join(result.configs)}"
    return hashlib.sha256(written.encode()).hexdigest()[:32]


def without_folders(result: RunResult) -> RunResult:
    """The same result in which files and folders have their names only."""
    data = {
        id: {
            split: [file.model_copy(update={"path": Path(file.path).name}) for file in files]
            for split, files in splits.items()
        }
        for id, splits in result.data.items()
    }
    changes: dict[str, Any] = {
        "config": {name: _named(name, value) for name, value in result.config.items()},
        "model": {name: _named(name, value) for name, value in result.model.items()},
        "data": data,
        "answered_by": [
            one.model_copy(update={"model": short_name(one.model)}) if one.model else one
            for one in result.answered_by
        ],
    }
    return result.model_copy(update=changes)


def _named(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _named(str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_named(name, one) for one in value]
    if not isinstance(value, str):
        return value
    if name in _PLACES:
        return Path(value.rstrip("/")).name
    if name in ("pretrained", "tokenizer", "peft", "model", "gguf_file"):
        return short_name(value)
    absolute = Path(value).is_absolute() or PureWindowsPath(value).is_absolute()
    if absolute or value.startswith("~"):
        return PureWindowsPath(value).name if "\\" in value else Path(value).name
    # A task file, of the tasks that were asked for.
    return Path(value).name if name == "tasks" and value.endswith((".yaml", ".yml")) else value


def _flat(name: str, value: object) -> dict[str, str | int | float | bool]:
    """A setting as values that every tracker takes; what was not set is left out."""
    known = OPTIONS.get(name)
    as_always = known is not None and known.default == value and name != "model"
    if name in _PLACES or as_always:
        return {}
    value = _named(name, value)
    if isinstance(value, Mapping):
        found: dict[str, str | int | float | bool] = {}
        for key, one in value.items():
            found |= _flat(f"{name}.{key}", one) if str(key) not in _PLACES else {}
        return found
    if isinstance(value, list | tuple):
        return {name: ",".join(map(str, value))} if value else {}
    return {name: value} if isinstance(value, str | int | float) else {}


def _numbers(name: str, score: MetricScore) -> dict[str, float]:
    low, high = score_interval(score)
    found = {
        "": score.value,
        "_stderr": score.stderr,
        "_low": low,
        "_high": high,
        "_n": score.detail.n,
        "_failed": score.detail.failed,
    }
    return {f"{name}{end}": float(value) for end, value in found.items() if value is not None}
