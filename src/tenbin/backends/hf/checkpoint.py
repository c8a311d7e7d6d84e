"""Opens a model for the hf backend: files, tokenizer, fingerprint, and how to load the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.arguments import HfArguments, read_arguments
from tenbin.backends.checkpoint.checkpoint import CheckpointFiles, open_files
from tenbin.backends.checkpoint.fingerprint import (
    ENGINE_VERSION,
    fingerprint_of,
    identify,
    identify_place,
    library_version,
)
from tenbin.backends.checkpoint.integrity import check_folder
from tenbin.backends.checkpoint.loading import choose_dtype
from tenbin.backends.checkpoint.location import Location, cache_root, locate
from tenbin.backends.checkpoint.training_state import training_step
from tenbin.backends.hf.model.compilation import CompileMode, keep_compiled
from tenbin.backends.hf.model.loading import device_of, load_model
from tenbin.backends.hf.probe_cache import ProbeCache
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.errors import BackendError
from tenbin.version import __version__


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What the hf backend needs of a model before its weights are loaded."""

    tokenizer: HfTokenizer
    fingerprint: str
    load: Callable[[], Any]
    facts: Mapping[str, Any]
    """What results record."""
    engine: str = "auto"
    compilation: CompileMode = "auto"
    probe_cache: ProbeCache = field(default_factory=lambda: ProbeCache(None, {}))
    """What earlier runs found out about the model."""
    packed_weights: bool = True


def open_checkpoint(settings: BackendSettings) -> Checkpoint:
    """Find a model, its tokenizer and its fingerprint.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The model, the device or a library is not there.
    """
    arguments = read_arguments(settings)
    device = device_of(arguments, settings.loads_elsewhere)
    files = open_files(arguments, settings)
    _refuse_encoder_decoder(files)
    tokenizer = files.tokenizer
    dtype = choose_dtype(arguments, files.config, device)
    adapter = _adapter(arguments)
    answers_depend_on = {
        **identify(files.location, arguments, files.hashes),
        "adapter": "" if adapter is None else identify_place(adapter, files.hashes),
        "dtype": dtype,
        "encoding": settings.encoding,
        "add_bos": arguments.add_bos_token,
        "max_length": tokenizer.max_length,
        "quantisation": _quantisation(arguments),
        "attention": arguments.attn_implementation,
        "engine": ENGINE_VERSION,
        # An old word for the engine; part of every fingerprint, so it stays.
        "rung": arguments.engine,
        "transformers": library_version(),
    }
    if device != "cpu" and not settings.loads_elsewhere:
        keep_compiled(cache_root(settings.cache_dir) / "compiled")
    return Checkpoint(
        tokenizer,
        fingerprint_of(answers_depend_on),
        lambda: _loaded(files, arguments, answers_depend_on["model"], dtype, device, adapter),
        _facts(files.location, arguments, dtype, device, adapter),
        arguments.engine,
        cast(CompileMode, arguments.compile),
        _probe_cache(arguments, settings, answers_depend_on),
        arguments.packed_weights,
    )


def _refuse_encoder_decoder(files: CheckpointFiles) -> None:
    """Refuse it before weights are read: part of it would load as another model."""
    if getattr(files.config, "is_encoder_decoder", False):
        raise BackendError(
            f"{files.location.given} is an encoder-decoder model ({files.config.model_type})",
            "the hf backend evaluates decoders alone; serve the model, and use --model openai",
        )


def _loaded(
    files: CheckpointFiles,
    arguments: HfArguments,
    digest: Any,
    dtype: str,
    device: str,
    adapter: Location | None,
) -> Any:
    """Load the model, and check that its files are those that the fingerprint was made of."""
    source = files.source
    model = load_model(source.name, arguments, dtype, device, adapter, **source.options)
    if identify_place(files.location, files.hashes, arguments.subfolder) != digest:
        raise BackendError(
            f"the files of {files.location.given} changed after the run began",
            "run again: no answer was kept under the name of the other model",
        )
    return model


def _probe_cache(
    arguments: HfArguments, settings: BackendSettings, depends_on: Mapping[str, Any]
) -> ProbeCache:
    """Return the cache of probe results; it keeps nothing under `trust_remote_code`.

    Such code may import anything, so no hash covers all that a result depends on.
    """
    folder = cache_root(settings.cache_dir) / "probes"
    # The probe's sequences are made of token ids, so the tokenizer has no part in its result.
    texts = ("tokenizer", "encoding", "add_bos")
    model = {name: part for name, part in depends_on.items() if name not in texts}
    placed = "auto" if arguments.parallelize else arguments.device_map
    return ProbeCache(
        None if arguments.trust_remote_code else folder,
        {**model, "device_map": placed, "tenbin": __version__},
        reuse=arguments.probe == "remembered",
    )


def _adapter(arguments: HfArguments) -> Location | None:
    if arguments.peft is None:
        return None
    found = locate(arguments.peft, HfArguments(""), "adapter_config.json")
    if found.folder is not None and not (found.folder / "adapter_config.json").is_file():
        raise BackendError(
            f"no adapter_config.json in {found.folder}", "peft names the folder of an adapter"
        )
    if found.folder is not None:
        check_folder(found.folder)
    return found


def _quantisation(arguments: HfArguments) -> str:
    return "4bit" if arguments.load_in_4bit else "8bit" if arguments.load_in_8bit else "none"


def _facts(
    location: Location, arguments: HfArguments, dtype: str, device: str, adapter: Location | None
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "model": location.given,
        # A folder has no revision: one that was given had no effect.
        "revision": location.commit,
        "dtype": dtype,
        "device": "device map" if arguments.device_map or arguments.parallelize else device,
        "quantisation": _quantisation(arguments),
        "attention": arguments.attn_implementation or "default",
    }
    if arguments.peft:
        facts["adapter"] = arguments.peft
    if (step := training_step((adapter or location).folder)) is not None:
        facts["training_step"] = step
    if arguments.tokenizer:
        facts["tokenizer"] = arguments.tokenizer
    if location.gguf is not None:
        facts["gguf"] = f"{location.gguf.name}, dequantised to float32"
    return facts
