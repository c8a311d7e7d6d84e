"""When a device's memory is spent, and how to get some of it back.

Knows torch's ways of saying so; knows no model.
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
