"""A hash of a model that is already in memory, over every byte of its tensors.

Computed where the tensors are, so that weights on a GPU need not be copied, and with integers
alone, so that the hash is the same on every device. Each 64-bit word is mixed with its position,
and the results are added up: one word that changes always changes the sum. It distinguishes models;
it does not withstand somebody who constructs a collision.
"""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from tenbin.backends.hf.generation.sampler import GOLDEN, splitmix64
from tenbin.errors import BackendError

_WORD = 8
_WORDS = {"cuda": 1 << 23}
_WORDS_ELSEWHERE = 1 << 16
"""Words that are mixed at a time: what a CPU's cache holds; a GPU wants more work a call."""


def model_digest(model: Any) -> str:
    """A hash of a model's configuration, adapters and tensors.

    Raises:
        BackendError: Some of its weights are not in memory.
    """
    digest = hashlib.sha256(model.config.to_json_string(use_diff=False).encode())
    # Its end tokens end answers.
    settings = getattr(model, "generation_config", None)
    digest.update(str(getattr(settings, "eos_token_id", None)).encode())
    for name, adapter in sorted(getattr(model, "peft_config", {}).items()):
        digest.update(f"{name}\0{sorted(adapter.to_dict().items(), key=str)}\0".encode())
    for name, tensor in sorted(model.state_dict().items()):
        if isinstance(tensor, torch.Tensor):
            digest.update(f"{name}\0{tuple(tensor.shape)}\0{tensor.dtype}\0".encode())
            digest.update(f"{tensor_digest(tensor, name)}\0".encode())
        else:
            digest.update(f"{name}\0{tensor}\0".encode())
    return digest.hexdigest()


@torch.inference_mode()
def tensor_digest(tensor: torch.Tensor, name: str = "a tensor") -> int:
    """A number that depends on every byte of a tensor and on its place.

    Raises:
        BackendError: The tensor's bytes are not in memory.
    """
    if tensor.is_meta:
        raise BackendError(
            f"{name} is not in memory: the model is offloaded",
            "load the model whole, or name its folder with --model hf",
        )
    tensor = tensor.detach()
    if tensor.device.type not in ("cpu", "cuda"):
        tensor = tensor.cpu()
    flat = tensor.reshape(-1)
    if flat.stride(0) != 1 or flat.storage_offset() * flat.element_size() % _WORD:
        # Words of 64 bits need an aligned start, which a part of another tensor may not have.
        flat = flat.clone(memory_format=torch.contiguous_format)
    data = flat.view(torch.uint8)
    whole = len(data) // _WORD * _WORD
    step = _WORDS.get(data.device.type, _WORDS_ELSEWHERE)
    places = torch.arange(min(step, len(data) // _WORD + 1), device=data.device) * GOLDEN
    total = torch.zeros((), dtype=torch.int64, device=data.device)
    words = data[:whole].view(torch.int64)
    for at in range(0, len(words), step):
        part = words[at : at + step]
        total += splitmix64(part + places[: len(part)] + _wrapped(at * GOLDEN)).sum()
    rest = int.from_bytes(bytes(data[whole:].tolist()), "little")
    return int(total) ^ (rest << 64)


def _wrapped(number: int) -> int:
    """As a signed number of 64 bits."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
