"""The command that repeats a stored run. Knows the config's names, which are the flags' names."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

# What a sweep adds to a run has a command of its own.
_SWEEP = ("templates", "num_fewshot_sweep", "seeds", "select_on")
_LEFT_OUT = ("output_path", "system_prompt", "cache_dir")
_USUAL: Mapping[str, Any] = {
    "seeds": 1,
    "batch_size": "auto",
    "encoding": "joint",
    "fewshot": "random",
}


def repeat_command(config: Mapping[str, Any]) -> str:
    """The command line of a run, as a shell takes it."""
    swept = any(config.get(name) not in (None, [], 1) for name in _SWEEP)
    words = ["tenbin", "sweep" if swept else "run"]
    for name, value in config.items():
        if name in _LEFT_OUT or value in (None, False, [], {}) or _USUAL.get(name) == value:
            continue
        words.append(f"--{name}")
        if value is not True:
            words.append(shlex.quote(_written(value)))
    if config.get("system_prompt"):
        words.insert(0, f"SYSTEM_PROMPT={shlex.quote(str(config['system_prompt']))}")
    return " ".join(words)


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}={content}" for name, content in value.items())
    if isinstance(value, list):
        return ",".join(_written(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
