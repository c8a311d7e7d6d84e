"""The model arguments of the vllm backend: tenbin's own names, and vLLM's engine options.

Names and types of the options come from the installed vLLM, whatever its version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from tenbin.backends.base import BackendSettings, refuse_argument
from tenbin.backends.checkpoint.arguments import HfArguments, as_boolean
from tenbin.backends.checkpoint.arguments import read_arguments as read_hf_arguments
from tenbin.backends.checkpoint.location import check_path
from tenbin.backends.vllm.processes import quiet_import
from tenbin.errors import ConfigError

SCORING = ("auto", "prefix_cache", "prompt_logprobs")

_FILES = (
    "pretrained",
    "revision",
    "tokenizer",
    "use_fast_tokenizer",
    "add_bos_token",
    "dtype",
    "max_length",
    "trust_remote_code",
    "gguf_file",
)
"""Arguments that mean the same as for the hf backend."""

_KEPT = {
    "model": "name the model as pretrained=…",
    "skip_tokenizer_init": "texts are encoded by tenbin",
    "tokenizer_mode": "texts are encoded by tenbin",
    "tokenizer_revision": "texts are encoded by tenbin",
    "generation_config": "sampling is set with --gen_kwargs",
    "override_generation_config": "sampling is set with --gen_kwargs",
    "logits_processors": "answers must be the model's own",
    "logprobs_mode": "scores are plain log-probabilities",
    "runner": "the model has to generate",
    "convert": "the model has to generate",
}
"""Options that tenbin sets itself, and why."""


@dataclass(frozen=True, slots=True)
class VllmArguments:
    """The model arguments of one run."""

    files: HfArguments
    """Where the model is and how texts are encoded, as for the hf backend."""
    scoring: str
    """The scoring method: `auto`, `prefix_cache` or `prompt_logprobs`."""
    options: Mapping[str, Any]
    """vLLM's engine options, with its names and types."""


def read_arguments(settings: BackendSettings) -> VllmArguments:
    """Check the model arguments against the installed vLLM.

    Raises:
        ConfigError: A name is unknown, or a value is wrong.
    """
    given = dict(settings.model_args)
    if not given.get("pretrained"):
        raise ConfigError(
            "the vllm backend needs a model",
            "add --model_args pretrained=FOLDER_OR_HUB_ID",
        )
    scoring = str(given.pop("scoring", "auto"))
    if scoring not in SCORING:
        raise ConfigError(f"model argument scoring={scoring!r} is not one of {', '.join(SCORING)}")
    window = given.pop("max_model_len", None)
    own = {name: given.pop(name) for name in _FILES if name in given}
    known = engine_options()
    options = {name: _typed(name, value, known) for name, value in given.items()}
    _refuse_copies(options)
    if window is not None:
        own["max_length"] = _window(own.get("max_length"), _typed("max_model_len", window, known))
    files = read_hf_arguments(replace(settings, model_args=own, device=None))
    if folder := options.get("download_dir"):
        files = replace(files, cache_dir=folder)
    if isinstance(settings.batch_size, int):
        options.setdefault("max_num_seqs", settings.batch_size)
    return VllmArguments(files, scoring, options)


def check_arguments(settings: BackendSettings) -> None:
    """Check the settings of a `vllm` model before vLLM is started.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: There is nothing at the path that is named; a hub id is not looked up.
    """
    check_path(read_arguments(settings).files)


def engine_options() -> dict[str, Any]:
    """The installed vLLM's engine options, each as the action of its own argument parser."""
    with quiet_import():
        from vllm.engine.arg_utils import EngineArgs
        from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = EngineArgs.add_cli_args(FlexibleArgumentParser())
    actions = {action.dest: action for action in parser._actions}
    names = [field.name for field in fields(EngineArgs) if not field.name.startswith("_")]
    return {name: actions[name] for name in names if name in actions}


def _typed(name: str, value: object, known: Mapping[str, Any]) -> Any:
    """A value as vLLM's command line would read it; typed values of a run file stay as they are."""
    if reason := _KEPT.get(name):
        raise ConfigError(f"the vLLM option {name} is set by tenbin", reason)
    if name not in known:
        names = sorted({*_FILES, "scoring", *known} - set(_KEPT))
        own = ", ".join((*_FILES, "scoring"))
        refuse_argument(name, "vllm", names, f"{own} and the engine options of the installed vLLM")
    action = known[name]
    if not isinstance(value, str) or value == "None":
        return None if value == "None" else value
    try:
        # Options without a value on vLLM's command line are switches.
        typed = as_boolean(value) if action.nargs == 0 else (action.type or str)(value)
    except (ValueError, TypeError, _argument_error()) as error:
        raise ConfigError(f"model argument {name}={value!r}: {error}") from None
    if action.choices is not None and typed not in action.choices:
        allowed = ", ".join(map(str, action.choices))
        raise ConfigError(f"model argument {name}={value!r} is not one of {allowed}")
    return typed


def _argument_error() -> type[Exception]:
    from argparse import ArgumentTypeError

    return ArgumentTypeError


def _window(max_length: object, max_model_len: object) -> object:
    if max_length is not None and str(max_length) != str(max_model_len):
        raise ConfigError(
            f"max_length is {max_length} and max_model_len is {max_model_len}: both mean the"
            " tokens that the model takes",
            "give one of them",
        )
    return max_model_len


def _refuse_copies(options: Mapping[str, Any]) -> None:
    """Refuse several copies of the model in one process: they need workers."""
    copies = options.get("data_parallel_size") or 1
    if copies != 1:
        raise ConfigError(
            f"data_parallel_size={copies}: inside one process vLLM runs one copy of the model",
            f"leave it out and give --workers {copies}: that many copies side by side, each with"
            " its own tensor_parallel_size",
        )
