"""Devices and their memory: tokens per batch, out-of-memory errors, copies to a device."""

from __future__ import annotations

import ctypes
import gc
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tenbin.backends.hf.model.ram import all_ram, free_ram

_WORDS = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")
_SHARE = 0.85
"""Part of a GPU's free memory that a batch may fill."""
_CPU_SHARE = 0.25
"""Part of the free RAM: other processes use it too, and Linux kills whoever takes too much."""
_SIZES = (1024, 4096)
"""Tokens of the two batches whose memory is measured."""
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Names of settings in glibc's malloc.h."""
_LARGEST_KEPT = 32 << 20
"""Larger blocks are given back; glibc takes no larger number."""
_KEPT = 1 << 30
_LEAST = 64
"""Tokens per batch even if memory seems to be used up; halving finds out the rest."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that a smaller batch could succeed."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in _WORDS)


def release_memory(device: Any) -> None:
    """Return memory to the device that the allocator holds unused."""
    if device.type == "cpu":
        return
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


def keep_freed_memory() -> None:
    """Let the C library keep memory that a forward pass frees for the next one.

    By default glibc returns large blocks to the system at once, and every layer gets its own again
    page by page: on a CPU that is a twentieth of a forward pass. Peak memory stays the same;
    between passes up to 1 GiB more is kept. Other C libraries are left alone.
    """
    try:
        adjust = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    # In this order: either turns off glibc's own choice of the other.
    adjust(_MMAP_THRESHOLD, _LARGEST_KEPT)
    adjust(_TRIM_THRESHOLD, _KEPT)


def token_budget(device: Any) -> int:
    """Return the padded tokens per batch to start with; halved after an out-of-memory error."""
    return {"cuda": 32768, "mps": 8192}.get(device.type, 4096)


def pack_budget(device: Any) -> int:
    """Return the most tokens per packed tree; less where memory is short."""
    return {"cuda": 32768, "mps": 4096}.get(device.type, 4096)


def fitted_budget(
    device: Any,
    config: Any,
    most: int,
    measure: Callable[[int], object],
    share: float | None = None,
) -> int:
    """Return the tokens per batch that memory holds, by what is free or by a share of the whole.

    Args:
        device: Where the model runs.
        config: That of the text model; the need of a CPU is estimated from it.
        most: The largest result.
        measure: Computes a batch of so many tokens; the need of a GPU is measured with two.
        share: Part of the device's memory to count on, whatever is free. The result is then `most`
            halved a number of times: the same on all devices that are about the same.
    """
    if device.type == "cuda":
        small, large = (_peak(device, measure, size) for size in _SIZES)
        each = max(1.0, (large - small) / (_SIZES[1] - _SIZES[0]))
        free = _free_on_gpu(device) if share is None else _promised_on_gpu(device, share)
        room = _SHARE * free - max(0.0, small - each * _SIZES[0])
    else:
        ram = free_ram() if share is None else promised_ram(share)
        if ram is None:
            return most
        each, room = token_bytes(config, most), _CPU_SHARE * ram
    if share is None:
        return max(min(_LEAST, most), min(most, int(room / each)))
    budget = most
    while budget > _LEAST and budget * each > room:
        budget //= 2
    return budget


def _peak(device: Any, measure: Callable[[int], object], size: int) -> float:
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    measure(size)
    return float(torch.cuda.max_memory_allocated(device) - before)


def _free_on_gpu(device: Any) -> int:
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + held


def promised_memory(device: Any, share: float) -> int | None:
    """Return a share of a device's memory in bytes, minus what the model itself takes on a GPU."""
    return _promised_on_gpu(device, share) if device.type == "cuda" else promised_ram(share)


def _promised_on_gpu(device: Any, share: float) -> int:
    held = torch.cuda.memory_allocated(device)
    return max(0, int(share * torch.cuda.get_device_properties(device).total_memory) - held)


def promised_ram(share: float) -> int | None:
    """Return a share of all RAM in bytes; None if the system does not say."""
    whole = all_ram()
    return None if whole is None else int(share * whole)


def token_bytes(config: Any, longest: int) -> int:
    """Return an upper estimate of the bytes that one token takes in a layer.

    Args:
        config: That of the text model.
        longest: Tokens that one token may attend to.
    """

    def size(*names: str, default: int) -> int:
        values = [getattr(config, name, None) for name in names]
        return max([value for value in values if isinstance(value, int)], default=default)

    hidden = size("hidden_size", "n_embd", default=4096)
    inner = size("intermediate_size", "n_inner", "ffn_dim", default=4 * hidden)
    heads = size("num_attention_heads", "n_head", default=32)
    return 4 * (16 * hidden + 4 * inner + 3 * heads * longest)


def logit_budget(device: Any) -> int:
    """Return the logits held at a time; on a CPU, running out of memory ends the process."""
    return 1 << 30 if device.type == "cuda" else 1 << 27


def send(values: torch.Tensor | Sequence[int], device: Any) -> torch.Tensor:
    """Copy integers to a device without waiting for what the device is doing."""
    tensor = values if isinstance(values, torch.Tensor) else _numbers(values)
    if device.type != "cuda":
        return tensor.to(device)
    # Only copies from pinned memory overlap with kernels.
    return tensor.pin_memory().to(device, non_blocking=True)


def _numbers(values: Sequence[int]) -> torch.Tensor:
    """Faster than torch.tensor, which inspects every number several times."""
    if not values:
        return torch.empty(0, dtype=torch.long)
    return torch.frombuffer(array("q", values), dtype=torch.long)


def input_device(model: Any) -> torch.device:
    """Return the device of token ids: that of the embeddings, or the one they are fetched to."""
    embeddings = model.get_input_embeddings()
    device: torch.device = embeddings.weight.device
    if device.type != "meta":
        return device
    # Offloaded weights are on no device until their hook fetches them.
    hook = getattr(embeddings, "_hf_hook", None)
    return torch.device(getattr(hook, "execution_device", None) or "cpu")
