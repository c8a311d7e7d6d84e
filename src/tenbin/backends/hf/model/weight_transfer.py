"""Copies weights to a GPU from several threads.

A weight that was just loaded is a window into its file. One thread that copies it meets every page
of the file for the first time, and is several times slower than the bus (5 GB/s beside an H200).
So several threads copy, each through memory that the GPU reads by itself. The bytes are the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

_THREADS = 8
_CHUNK = 16 << 20
"""Bytes copied at a time; each thread holds as many."""
_LARGE = 1 << 20
"""Bytes of a weight that is worth it; the rest is a small part of every model."""

Copy = Callable[[torch.Tensor, torch.Tensor], None]
"""Copies bytes into memory of the device."""


def send_weights(model: Any, device: str, chunk: int = _CHUNK, large: int = _LARGE) -> None:
    """Move a model's large weights from the CPU to a device; the rest stays where it is.

    Args:
        model: In memory of the CPU.
        device: Where they go.
        chunk: Bytes copied at a time.
        large: Bytes of the smallest weight that is moved.
    """
    moved = [
        (weight, torch.empty_like(weight.data, device=device))
        for weight in model.parameters()
        if _is_plain(weight.data) and weight.data.nbytes >= large
    ]
    staging = _Staging(torch.device(device), chunk)
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1), "tenbin-weights") as threads:
        parts = (pair for weight, place in moved for pair in _parts(place, weight.data, chunk))
        for done in [threads.submit(staging.copy, *pair) for pair in parts]:
            done.result()
    for weight, place in moved:
        weight.data = place


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether its bytes are all that there is to it, in one piece on the CPU."""
    return (
        type(tensor) is torch.Tensor
        and tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and tensor.is_contiguous()
        and tensor.dim() > 0
    )


def _parts(
    place: torch.Tensor, tensor: torch.Tensor, chunk: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Both as bytes, a piece at a time."""
    to, of = (one.view(-1).view(torch.uint8) for one in (place, tensor))
    for start in range(0, len(of), chunk):
        yield to[start : start + chunk], of[start : start + chunk]


class _Staging:
    """Copies through a staging buffer of each thread."""

    def __init__(self, device: torch.device, chunk: int) -> None:
        self._device, self._chunk = device, chunk
        self._own = threading.local()
        if device.type == "cuda":
            # The new memory may have belonged to work that is still going on.
            torch.cuda.synchronize(device)

    def copy(self, place: torch.Tensor, tensor: torch.Tensor) -> None:
        """Copy bytes, and wait until they are there."""
        if not hasattr(self._own, "copy"):
            self._own.copy = _staged(self._device, self._chunk)
        self._own.copy(place, tensor)


def _plainly(place: torch.Tensor, tensor: torch.Tensor) -> None:
    place.copy_(tensor)


def _staged(device: torch.device, chunk: int) -> Copy:
    """A copy through a buffer of its own in pinned memory."""
    if device.type != "cuda":
        return _plainly
    try:
        with torch.cuda.device(device):
            buffer = torch.empty(chunk, dtype=torch.uint8, pin_memory=True)
    except RuntimeError:
        return _plainly  # the system gives no such memory: slower, and the same bytes
    stream: Any = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def copy(place: torch.Tensor, tensor: torch.Tensor) -> None:
        part = buffer[: len(tensor)]
        part.copy_(tensor)
        with torch.cuda.stream(stream):
            place.copy_(part, non_blocking=True)
        stream.synchronize()

    return copy
