"""Loads a model's weights: device, placement, quantisation and adapters.

The device is checked before any file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from tenbin.backends.checkpoint.arguments import HfArguments
from tenbin.backends.checkpoint.loading import cannot_load
from tenbin.backends.checkpoint.location import Location
from tenbin.backends.checkpoint.quiet import quiet_libraries
from tenbin.backends.hf.model.memory import is_out_of_memory
from tenbin.backends.hf.model.weight_transfer import send_weights
from tenbin.errors import BackendError

_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")


def device_of(arguments: HfArguments, elsewhere: bool = False) -> str:
    """Return the device that the arguments mean; a device map may be the name of one.

    Args:
        arguments: The model arguments.
        elsewhere: Whether the model is loaded on another machine, whose devices are not checked.

    Raises:
        BackendError: There is no such device.
    """
    if arguments.device_map is not None and arguments.device_map not in _MAPS:
        return arguments.device_map if elsewhere else choose_device(arguments.device_map)
    if elsewhere and arguments.device not in (None, "auto"):
        return str(arguments.device)
    return choose_device(arguments.device)


def choose_device(wanted: str | None) -> str:
    """Return the device to use.

    Args:
        wanted: `cpu`, `cuda`, `cuda:N`, `mps`; `auto` or None takes the best there is.

    Raises:
        BackendError: There is no such device.
    """
    has_mps = torch.backends.mps.is_available()
    if wanted in (None, "auto"):
        return "cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu"
    try:
        device = torch.device(str(wanted))
    except RuntimeError:
        raise BackendError(
            f"{wanted!r} is no device", "give --device cpu, cuda, cuda:N, mps or auto"
        ) from None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= count:
        raise BackendError(
            f"device {wanted} was asked for, but torch sees {count} CUDA devices",
            "use --device cpu, or install a torch build for this GPU's CUDA version",
        )
    if device.type == "mps" and not has_mps:
        raise BackendError("device mps was asked for, but there is none", "use --device cpu")
    return str(wanted)


def load_model(
    source: str,
    arguments: HfArguments,
    dtype: str,
    device: str,
    adapter: Location | None = None,
    **options: Any,
) -> Any:
    """Load a causal language model in eval mode onto its device.

    Args:
        source: Folder or hub id.
        arguments: For placement, quantisation and attention.
        dtype: Name of the dtype.
        device: Where it goes, unless a device map places it.
        adapter: A PEFT adapter on top of the weights.
        **options: Passed on to transformers: revision, subfolder, trust_remote_code, cache_dir.

    Raises:
        BackendError: It cannot be loaded.
    """
    from transformers import AutoModelForCausalLM

    options["dtype"] = getattr(torch, dtype)
    options |= _placement(arguments, dtype, device)
    if arguments.attn_implementation:
        options["attn_implementation"] = arguments.attn_implementation
    try:
        with quiet_libraries():
            model, report = _loaded_quickly(
                lambda: AutoModelForCausalLM.from_pretrained(
                    source, output_loading_info=True, **options
                ),
                options,
            )
            _refuse_missing(source, report)
            if adapter is not None:
                model = _adapted(model, adapter)
            if "device_map" not in options:
                if torch.device(device).type == "cuda":
                    send_weights(model, device)
                model = model.to(device)
    except BackendError:
        raise
    except Exception as error:
        # Any kind: damaged files, mismatched shapes and full memory each raise their own.
        hint = None
        if is_out_of_memory(error):
            hint = "give dtype=bfloat16, load_in_4bit=True, device_map=auto, or a larger device"
        raise cannot_load(source, error, hint) from error
    model.eval()
    return model.requires_grad_(False) if not _is_quantised(arguments) else model


def _loaded_quickly(load: Callable[[], Any], options: Mapping[str, Any]) -> Any:
    """Load a model without torch's compiler, if it can be made so."""
    if "device_map" in options:
        return load()
    try:
        with _no_compiler_for_meta():
            return load()
    except RuntimeError as error:
        # A model that counts together with weights of its own; it fails before any file is read.
        if "meta" not in str(error):
            raise
    return load()


@contextmanager
def _no_compiler_for_meta() -> Iterator[None]:
    """Let weights that have no memory yet be made without torch's compiler.

    transformers makes a model of such weights and puts those of the file in their place. What such
    tensors are like is worked out in Python by some of torch's functions, which import the compiler
    for it: that takes longer than loading a small model. So no random values are drawn for them,
    which would be nowhere; and tables of positions are computed at once, on the CPU.
    """
    init: Any = torch.nn.init
    count, draw = torch.arange, getattr(init, "_no_grad_normal_", None)

    def drawn(tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        return tensor if tensor.is_meta or draw is None else draw(tensor, *arguments, **options)

    def counted(*arguments: Any, **options: Any) -> torch.Tensor:
        if options.get("device") is None and torch.empty(0).is_meta:
            options["device"] = "cpu"
        return count(*arguments, **options)

    torch.arange = counted
    if draw is not None:
        init._no_grad_normal_ = drawn
    try:
        yield
    finally:
        torch.arange = count
        if draw is not None:
            init._no_grad_normal_ = draw


def _is_quantised(arguments: HfArguments) -> bool:
    return arguments.load_in_4bit or arguments.load_in_8bit


def _placement(arguments: HfArguments, dtype: str, device: str) -> dict[str, Any]:
    placed: dict[str, Any] = {}
    if arguments.parallelize or arguments.device_map:
        placed["device_map"] = arguments.device_map or "auto"
    if _is_quantised(arguments):
        from transformers import BitsAndBytesConfig

        placed["quantization_config"] = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_4bit=arguments.load_in_4bit,
            load_in_8bit=arguments.load_in_8bit,
            bnb_4bit_compute_dtype=getattr(torch, dtype),
        )
        placed.setdefault("device_map", {"": device})
    return placed


def _refuse_missing(source: str, report: Any) -> None:
    """Refuse missing weights: transformers initialises them randomly and only warns."""
    if missing := sorted(report["missing_keys"]):
        raise BackendError(
            f"the model at {source} lacks {len(missing)} of its weights, {missing[0]} among them",
            "the files are incomplete, or they hold another kind of model than config.json says",
        )


def _adapted(model: Any, adapter: Location) -> Any:
    from peft import PeftModel

    options: dict[str, Any] = {"revision": adapter.commit} if adapter.commit else {}
    return PeftModel.from_pretrained(model, adapter.source, **options)
