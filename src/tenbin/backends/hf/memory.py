"""Where a model's inputs go, when a device's memory is spent, and how to get some of it back.

Knows torch's ways of saying so; knows no architecture.
"""

from __future__ import annotations

import gc
from typing import Any

import torch

_WORDS = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that a smaller batch could do."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in _WORDS)


def release_memory(device: Any) -> None:
    """Give back what the allocator holds and nobody uses."""
    if device.type == "cpu":
        return
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


def token_budget(device: Any) -> int:
    """Padded tokens a batch starts from; halved when memory says so."""
    return {"cuda": 32768, "mps": 8192}.get(device.type, 4096)


def pack_budget(device: Any) -> int:
    """Tokens a packed tree starts from; halved when memory says so."""
    return {"cuda": 16384, "mps": 4096}.get(device.type, 1024)


def logit_budget(device: Any) -> int:
    """Logits held at a time: a CPU that runs out of memory kills the process unasked."""
    return 1 << 30 if device.type == "cuda" else 1 << 27


def send(values: Any, device: Any) -> torch.Tensor:
    """Numbers as a tensor on a device, without waiting for what the device is doing."""
    tensor = values if isinstance(values, torch.Tensor) else torch.tensor(values)
    if device.type != "cuda":
        return tensor.to(device)
    # Only pinned memory travels while kernels run.
    return tensor.pin_memory().to(device, non_blocking=True)


def input_device(model: Any) -> torch.device:
    """Where token ids go: the device of the embeddings, or the one they are brought to."""
    embeddings = model.get_input_embeddings()
    device: torch.device = embeddings.weight.device
    if device.type != "meta":
        return device
    # Offloaded weights are nowhere until their hook fetches them.
    hook = getattr(embeddings, "_hf_hook", None)
    return torch.device(getattr(hook, "execution_device", None) or "cpu")
