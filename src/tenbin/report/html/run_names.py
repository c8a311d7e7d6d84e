"""What the runs of a page are called, and the settings by which they differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from tenbin.report.export.names import model_label
from tenbin.report.html.model import DifferingSetting
from tenbin.results.folder import numbered_names, run_name
from tenbin.results.read import StoredRun

_OF_THE_PLACE = ("tasks", "output_path", "cache_dir", "no_cache", "data_dir", "offline", "report")
"""Options that say what is run or where, not how: the table of scores shows the tasks."""
_LONGEST = 120
"""Characters of a setting's value."""


def name_page_runs(runs: Sequence[StoredRun]) -> list[str]:
    """Return a name for every run, each different from all others.

    A run is called by its model. What the user called the run stands in for a model that has no
    name of its own, and behind the names of models that are the same.
    """
    names = [_model_or_file(run) if len(runs) > 1 else model_label(run.result) for run in runs]
    known = Counter(names)
    names = [
        name if known[name] == 1 else _distinguished(name, run)
        for name, run in zip(names, runs, strict=True)
    ]
    known = Counter(names)
    names = [
        name if known[name] == 1 else f"{run.path.parent.name}/{name}"
        for name, run in zip(names, runs, strict=True)
    ]
    return numbered_names(names)


def _model_or_file(run: StoredRun) -> str:
    """The model's name; the scripted backend calls every model by its own name."""
    name = model_label(run.result)
    return run_name(run.path) if name == (run.result.engine or {}).get("name") else name


def _distinguished(name: str, run: StoredRun) -> str:
    own = run_name(run.path)
    return own if name in own else f"{name} ({own})"


def differing_settings(runs: Sequence[StoredRun]) -> list[DifferingSetting]:
    """Return the options that differ between runs, with each run's value."""
    if len(runs) < 2:
        return []
    settings = [_settings(run) for run in runs]
    names = dict.fromkeys(name for one in settings for name in one)
    rows = [DifferingSetting(name, tuple(one.get(name, "–") for one in settings)) for name in names]
    return [row for row in rows if len(set(row.values)) > 1]


def _settings(run: StoredRun) -> dict[str, str]:
    config = {
        name: value
        for name, value in run.result.config.items()
        if name not in _OF_THE_PLACE and value not in (None, [], {}, "", False)
    }
    described = {
        "profile": run.result.profile,
        **config,
        "dtype": run.result.model.get("dtype"),
        "tenbin": run.result.tenbin_version,
    }
    return {name: _shown(value) for name, value in described.items() if value is not None}


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{name}={_shown(entry)}" for name, entry in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(map(_shown, value))
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
