"""The switches by which the hub's libraries are kept off the network."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

VARIABLES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
_CONSTANTS = {
    "huggingface_hub.constants": ("HF_HUB_OFFLINE",),
    "datasets.config": ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"),
}
"""Where libraries keep what they read from the environment when they were imported."""


@contextmanager
def hub_offline(offline: bool = True) -> Iterator[None]:
    """Keep the hub's libraries offline, in this process and in those that it starts.

    They ask the hub even for files that are there, unless these switches are set.

    Args:
        offline: Whether to; otherwise nothing changes.
    """
    if not offline:
        yield
        return
    variables = {name: os.environ.get(name) for name in VARIABLES}
    constants: list[tuple[Any, str, Any]] = [
        (module, name, getattr(module, name))
        for place, names in _CONSTANTS.items()
        if (module := sys.modules.get(place)) is not None
        for name in names
        if hasattr(module, name)
    ]
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    for module, name, _ in constants:
        setattr(module, name, True)
    try:
        yield
    finally:
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for module, name, before in constants:
            setattr(module, name, before)
        _reset_imported(constants)


def _reset_imported(known: list[tuple[Any, str, Any]]) -> None:
    """Let libraries that were imported meanwhile read the environment that there is again."""
    seen = {(module, name) for module, name, _ in known}
    for place, names in _CONSTANTS.items():
        module = sys.modules.get(place)
        for name in names:
            if module is not None and hasattr(module, name) and (module, name) not in seen:
                value = os.environ.get(name, "").strip().lower()
                setattr(module, name, value in {"1", "true", "yes", "on"})
