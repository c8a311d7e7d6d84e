"""The command line that repeats a run with chosen templates. Knows a run's recorded config."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

_REPLACED = frozenset(
    {
        "tasks", "template", "templates", "num_fewshot", "num_fewshot_sweep", "seeds",
        "select_on", "limit", "output_path", "cache_dir",
    }
)  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "seed": 1234,
    "batch_size": "auto",
    "encoding": "joint",
    "fewshot": "random",
}


def run_command(config: Mapping[str, Any], ids: Sequence[str], shots: Sequence[int]) -> str:
    """`tenbin run …` with these tasks and shots, and whatever else the run had been told."""
    words = ["tenbin", "run"]
    for name, value in config.items():
        if name in _REPLACED or value in (None, False, [], {}) or _DEFAULTS.get(name) == value:
            continue
        words.append(f"--{name}")
        if value is not True:
            words.append(_written(value))
    words += ["--tasks", ",".join(ids)]
    words += ["--num_fewshot", ",".join(map(str, shots if len(set(shots)) > 1 else shots[:1]))]
    return shlex.join(words)


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}={content}" for name, content in value.items())
    if isinstance(value, list | tuple):
        return ",".join(str(part) for part in value)
    return str(value)
