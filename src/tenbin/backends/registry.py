"""Backends by name: tenbin's own, and those of installed packages.

A backend is imported only when it is used: a machine without torch can still list tasks, read
results and draw reports. Packages add backends by the entry-point group `tenbin.backends`:

    [project.entry-points."tenbin.backends"]
    sglang = "my_package.backend:SglangBackend"

The entry point names a class (or a function) that takes BackendSettings and gives a Backend, or an
`Entry` where the backend has more to declare.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from tenbin import plugins
from tenbin.backends.base import (
    Backend,
    BackendSettings,
    Tokenizer,
    TokenizerInspector,
    check_backend,
)
from tenbin.backends.gc_pause import paused_gc
from tenbin.errors import BackendError, ConfigError, TenbinError, guess_at

Function: TypeAlias = str | Callable[[BackendSettings], object]
"""A function of BackendSettings, or where it stands: `module:function`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one backend provides."""

    backend: Function
    """Opens a Backend."""
    check: Function | None = None
    """Checks the settings alone: no weights, no tokenizer, no network."""
    reader: Function | None = None
    """Opens a TokenizerInspector, without the weights, or says why there is none to show."""
    extra: str = ""
    """tenbin's extra that installs what the backend needs."""
    on_gpus: bool = False
    """Whether it loads the model onto devices of the machine it runs on."""
    aliases: tuple[str, ...] = ()
    """Further names of a built-in backend."""
    plugin: plugins.Plugin | None = None
    """The entry point it comes from; None for tenbin's own."""


_ENTRIES = {
    "hf": Entry(
        "tenbin.backends.hf.backend:open_hf",
        check="tenbin.backends.checkpoint.location:check_place",
        reader="tenbin.backends.checkpoint.checkpoint:open_inspector",
        extra="hf",
        on_gpus=True,
        aliases=("hf-causal", "hf-auto"),  # lm-eval's older names
    ),
    "scripted": Entry(
        "tenbin.backends.scripted:open_scripted",
        check="tenbin.backends.scripted:open_scripted",
        reader="tenbin.backends.scripted_inspection:open_inspector",
    ),
    "openai": Entry(
        "tenbin.backends.openai.backend:open_completions",
        check="tenbin.backends.openai.backend:check_completions",
        reader="tenbin.backends.openai.tokenizer:open_inspector",
        extra="hf",
    ),
    "openai-chat": Entry(
        "tenbin.backends.openai.backend:open_chat",
        check="tenbin.backends.openai.backend:check_chat",
        reader="tenbin.backends.openai.tokenizer:refuse_chat",
        extra="hf",
    ),
    "vllm": Entry(
        "tenbin.backends.vllm.backend:open_vllm",
        check="tenbin.backends.vllm.arguments:check_arguments",
        reader="tenbin.backends.vllm.checkpoint:open_inspector",
        extra="vllm",
        on_gpus=True,
    ),
}
BACKENDS = {name: entry for first, entry in _ENTRIES.items() for name in (first, *entry.aliases)}
"""tenbin's own, by every name that `--model` takes."""


def backend_names() -> list[str]:
    """All names that `--model` takes, those of installed packages included; nothing is imported."""
    return sorted({*BACKENDS, *plugins.entry_points(plugins.BACKENDS)})


def find_backend(model: str) -> Entry:
    """What the backend of this name provides.

    Raises:
        ConfigError: There is none.
        PluginError: A package's entry point cannot be imported, or takes a name of tenbin's own.
    """
    plugin = plugins.entry_points(plugins.BACKENDS).get(model)
    entry = BACKENDS.get(model)
    if plugin is not None:
        if entry is not None:
            plugin.refuse_clash("backend")
        return _entry_of(plugin)
    if entry is None:
        from tenbin.config.lm_eval_options import hint_for_model

        guess = hint_for_model(model) or guess_at(model, backend_names())
        raise ConfigError(
            f"unknown model backend {model!r}",
            f"{guess}known backends: {', '.join(backend_names())}",
        )
    return entry


def _entry_of(plugin: plugins.Plugin) -> Entry:
    found = plugin.load()
    if isinstance(found, Entry):
        return Entry(found.backend, found.check, found.reader, "", found.on_gpus, (), plugin)
    if not callable(found):
        raise plugin.error("it is neither a class, nor a function, nor an Entry")
    return Entry(found, plugin=plugin)


def open_backend(settings: BackendSettings) -> Backend:
    """Open the backend that the settings name; weights are not loaded yet.

    Args:
        settings: What the user said about the model.

    Returns:
        A backend whose tokenizer and fingerprint are known.

    Raises:
        ConfigError: The name or an argument is unknown.
        BackendError: The model is not there, or a library it needs is missing.
        PluginError: The backend of an installed package failed.
    """
    entry = find_backend(settings.model)
    if settings.workers is not None:
        # Ray wraps any backend; its workers open the one that the settings name.
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


def open_inspector(settings: BackendSettings) -> TokenizerInspector:
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
    return cast(TokenizerInspector, _call_of(entry, entry.reader, settings))


def open_tokenizer(settings: BackendSettings) -> Tokenizer:
    """Open the tokenizer of an hf model, or of a folder that holds nothing else.

    Raises:
        ConfigError: An argument is unknown.
        BackendError: The tokenizer is not there, or a library it needs is missing.
    """
    function = "tenbin.backends.checkpoint.checkpoint:open_tokenizer"
    return cast(Tokenizer, _call_of(BACKENDS["hf"], function, settings))


def _call_of(entry: Entry, function: Function, settings: BackendSettings) -> object:
    if entry.plugin is None:
        return _call(function, settings, f"the {settings.model} backend", entry.extra)
    try:
        found = _call(function, settings, f"the {settings.model} backend", "")
        if function is entry.backend:
            check_backend(found)
        return found
    except TenbinError:
        raise
    except Exception as error:
        raise entry.plugin.error(f"{type(error).__name__}: {error}") from error


def _call(function: Function, settings: BackendSettings, what: str, extra: str) -> object:
    """Call a function of the settings; a missing library is reported with the extra that has it."""
    try:
        with paused_gc():
            return (_imported(function) if isinstance(function, str) else function)(settings)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if not extra or missing == "tenbin":
            raise
        raise BackendError(
            f"{what} needs {missing}, which is not installed", f"pip install 'tenbin[{extra}]'"
        ) from error


def _imported(function: str) -> Callable[[BackendSettings], object]:
    module, _, name = function.partition(":")
    found: Any = getattr(importlib.import_module(module), name)
    return cast(Callable[[BackendSettings], object], found)
