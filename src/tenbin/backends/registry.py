"""Backends by name.

Knows the names and where each backend lives, and imports one only when it is asked for: a machine
without torch can still list tasks, read results and draw reports.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from tenbin.backends.base import Backend, BackendSettings, Tokenizer, TokenReader
from tenbin.backends.collector import resting_collector
from tenbin.errors import BackendError, ConfigError, guess_at


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
    "openai": Entry("tenbin.backends.openai.backend", "open_completions", "hf"),
    "openai-chat": Entry("tenbin.backends.openai.backend", "open_chat", "hf"),
    "vllm": Entry("tenbin.backends.vllm.backend", "open_vllm", "vllm"),
}
"""`hf-causal` and `hf-auto` are lm-eval's older names of `hf`."""
_RAY = Entry("tenbin.backends.ray.backend", "open_ray", "ray")
"""Around any of these, where the settings ask for workers."""

_HF_READER = Entry("tenbin.backends.hf.inspection", "open_reader", "hf")
READERS = {
    "hf": _HF_READER,
    "hf-causal": _HF_READER,
    "hf-auto": _HF_READER,
    "scripted": Entry("tenbin.backends.scripted_reader", "open_reader"),
    "vllm": Entry("tenbin.backends.vllm.checkpoint", "open_reader", "vllm"),
    "openai": Entry("tenbin.backends.openai.reader", "open_reader", "hf"),
}
"""Backends whose tokenizer can be looked at without the model."""


_HF_CHECK = Entry("tenbin.backends.hf.location", "check_place", "hf")
_CHECKS = {
    "hf": _HF_CHECK,
    "hf-causal": _HF_CHECK,
    "hf-auto": _HF_CHECK,
    "scripted": Entry("tenbin.backends.scripted", "open_scripted"),
    "openai": Entry("tenbin.backends.openai.checking", "check_completions", "hf"),
    "openai-chat": Entry("tenbin.backends.openai.checking", "check_chat", "hf"),
    "vllm": Entry("tenbin.backends.vllm.checking", "check_model", "vllm"),
}
"""Functions that look at settings alone: no weights, no tokenizer, no network."""


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
    entry = _find(settings.model)
    return cast(Backend, _open(entry if settings.workers is None else _RAY, settings))


def check_arguments(settings: BackendSettings) -> None:
    """Refuse what can be known to be wrong without opening anything heavy.

    Raises:
        ConfigError: The name or an argument is unknown, or a key is not in the environment.
        BackendError: A folder that is named is not there, or a library is missing.
    """
    _find(settings.model)
    if (entry := _CHECKS.get(settings.model)) is not None:
        _open(entry, settings)


def open_reader(settings: BackendSettings) -> TokenReader:
    """Open a model's tokenizer for diagnosis; weights are never loaded.

    Raises:
        ConfigError: The name or an argument is unknown.
        BackendError: The backend shows no tokenizer, or the tokenizer is not there.
    """
    _find(settings.model)
    entry = READERS.get(settings.model)
    if entry is None:
        raise BackendError(
            f"the {settings.model} backend shows no tokenizer, and without one there is nothing to"
            " look at",
            "name the tokenizer of the model behind it: --model hf --model_args"
            " pretrained=FOLDER_OR_HUB_ID",
        )
    return cast(TokenReader, _open(entry, settings))


def _find(model: str) -> Entry:
    entry = BACKENDS.get(model)
    if entry is None:
        guess = guess_at(model, BACKENDS)
        raise ConfigError(
            f"unknown model backend {model!r}",
            f"{guess}known backends: {', '.join(sorted(BACKENDS))}",
        )
    return entry


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
        what = "--workers" if entry is _RAY else f"the {settings.model} backend"
        raise BackendError(
            f"{what} needs {missing}, which is not installed",
            f"pip install 'tenbin[{entry.extra}]'",
        ) from error
