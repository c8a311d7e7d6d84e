"""Backends by name.

Knows the names and where each backend lives, and imports one only when it is asked for: a machine
without torch can still list tasks, read results and draw reports.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from tenbin.backends.base import Backend, BackendSettings, Tokenizer
from tenbin.backends.collector import resting_collector
from tenbin.errors import BackendError, ConfigError


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a backend is found."""

    module: str
    function: str
    """Takes BackendSettings, gives a Backend."""
    extra: str = ""
    """The optional dependencies it needs."""


_HF = Entry("tenbin.backends.hf.backend", "open_hf", "hf")
_HF_TOKENIZER = Entry("tenbin.backends.hf.checkpoint", "open_tokenizer", "hf")

BACKENDS = {
    "hf": _HF,
    "hf-causal": _HF,
    "hf-auto": _HF,
    "scripted": Entry("tenbin.backends.scripted", "open_scripted"),
}
"""`hf-causal` and `hf-auto` are lm-eval's older names of `hf`."""


def open_backend(settings: BackendSettings) -> Backend:
    """Open the backend that the settings name; weights are not loaded yet.

    Args:
        settings: What the user said about the model.

    Returns:
        A backend whose tokenizer and fingerprint are known.

    Raises:
        ConfigError: The name or an argument is unknown.
        BackendError: The model is not there, or a library it needs is missing.
    """
    entry = BACKENDS.get(settings.model)
    if entry is None:
        close = difflib.get_close_matches(settings.model, BACKENDS, n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        raise ConfigError(
            f"unknown model backend {settings.model!r}",
            f"{guess}known backends: {', '.join(sorted(BACKENDS))}",
        )
    return cast(Backend, _open(entry, settings))


def open_tokenizer(settings: BackendSettings) -> Tokenizer:
    """Open the tokenizer of an hf model, or of a folder that holds nothing else.

    Raises:
        ConfigError: An argument is unknown.
        BackendError: The tokenizer is not there, or a library it needs is missing.
    """
    return cast(Tokenizer, _open(_HF_TOKENIZER, settings))


def _open(entry: Entry, settings: BackendSettings) -> object:
    try:
        with resting_collector():
            function = getattr(importlib.import_module(entry.module), entry.function)
            return cast(Callable[[BackendSettings], object], function)(settings)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if not entry.extra or missing == "tenbin":
            raise
        raise BackendError(
            f"the {settings.model} backend needs {missing}, which is not installed",
            f"pip install 'tenbin[{entry.extra}]'",
        ) from error
