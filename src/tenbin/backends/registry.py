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
from tenbin.backends.gc_pause import resting_collector
from tenbin.errors import BackendError, ConfigError, guess_at


@dataclass(frozen=True, slots=True)
class Entry:
    """What one backend has. Functions of BackendSettings are written `module:function`."""

    backend: str
    """Gives a Backend."""
    check: str | None = None
    """Looks at settings alone: no weights, no tokenizer, no network."""
    reader: str | None = None
    """Gives a TokenReader, the tokenizer without the model, or says why there is none to show."""
    extra: str = ""
    """The optional dependencies it needs."""
    on_gpus: bool = False
    """Whether it loads the model onto devices of the machine it runs on."""
    aliases: tuple[str, ...] = ()
    """What else it is called."""


_ENTRIES = {
    "hf": Entry(
        "tenbin.backends.hf.backend:open_hf",
        check="tenbin.backends.checkpoint.location:check_place",
        reader="tenbin.backends.text.inspection:open_reader",
        extra="hf",
        on_gpus=True,
        aliases=("hf-causal", "hf-auto"),  # lm-eval's older names
    ),
    "scripted": Entry(
        "tenbin.backends.scripted:open_scripted",
        check="tenbin.backends.scripted:open_scripted",
        reader="tenbin.backends.scripted_inspection:open_reader",
    ),
    "openai": Entry(
        "tenbin.backends.openai.backend:open_completions",
        check="tenbin.backends.openai.checking:check_completions",
        reader="tenbin.backends.openai.reader:open_reader",
        extra="hf",
    ),
    "openai-chat": Entry(
        "tenbin.backends.openai.backend:open_chat",
        check="tenbin.backends.openai.checking:check_chat",
        reader="tenbin.backends.openai.reader:refuse_chat",
        extra="hf",
    ),
    "vllm": Entry(
        "tenbin.backends.vllm.backend:open_vllm",
        check="tenbin.backends.vllm.check:check_model",
        reader="tenbin.backends.vllm.checkpoint:open_reader",
        extra="vllm",
        on_gpus=True,
    ),
}
BACKENDS = {name: entry for first, entry in _ENTRIES.items() for name in (first, *entry.aliases)}
"""By every name that `--model` takes."""


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
    entry = find_backend(settings.model)
    if settings.workers is not None:
        # Around any of them.
        opened = _call("tenbin.backends.ray.backend:open_ray", settings, "--workers", "ray")
    else:
        opened = _call_of(entry, entry.backend, settings)
    return cast(Backend, opened)


def check_arguments(settings: BackendSettings) -> None:
    """Refuse what can be known to be wrong without opening anything heavy.

    Raises:
        ConfigError: The name or an argument is unknown, or a key is not in the environment.
        BackendError: A folder that is named is not there, or a library is missing.
    """
    entry = find_backend(settings.model)
    if entry.check is not None:
        _call_of(entry, entry.check, settings)


def open_reader(settings: BackendSettings) -> TokenReader:
    """Open a model's tokenizer for diagnosis; weights are never loaded.

    Raises:
        ConfigError: The name or an argument is unknown.
        BackendError: The backend shows no tokenizer, or the tokenizer is not there.
    """
    entry = find_backend(settings.model)
    if entry.reader is None:
        raise BackendError(
            f"the {settings.model} backend shows no tokenizer, and without one there is nothing to"
            " look at",
            "name the tokenizer of the model behind it: --model hf --model_args"
            " pretrained=FOLDER_OR_HUB_ID",
        )
    return cast(TokenReader, _call_of(entry, entry.reader, settings))


def find_backend(model: str) -> Entry:
    """What the backend of this name has.

    Raises:
        ConfigError: There is none.
    """
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
    function = "tenbin.backends.checkpoint.checkpoint:open_tokenizer"
    return cast(Tokenizer, _call_of(BACKENDS["hf"], function, settings))


def _call_of(entry: Entry, function: str, settings: BackendSettings) -> object:
    return _call(function, settings, f"the {settings.model} backend", entry.extra)


def _call(function: str, settings: BackendSettings, what: str, extra: str) -> object:
    """Call `module:function`; where a library is missing, say what needs it and how to get it."""
    module, _, name = function.partition(":")
    try:
        with resting_collector():
            found = getattr(importlib.import_module(module), name)
            return cast(Callable[[BackendSettings], object], found)(settings)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if not extra or missing == "tenbin":
            raise
        raise BackendError(
            f"{what} needs {missing}, which is not installed", f"pip install 'tenbin[{extra}]'"
        ) from error
