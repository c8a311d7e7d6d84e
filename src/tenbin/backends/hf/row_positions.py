"""Lets every row of a batch be at a position of its own while one token is added to each.

transformers builds masks as if all rows stood at the same place. For the length of a forward the
functions that make masks are exchanged for ones that ask the model's own rule (causal, windowed,
chunked) at each row's position, so that what a model may read stays the model's business. Grouped
heads are put side by side as queries of one head, which spares copying the keys for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention


@contextmanager
def rows_at(positions: torch.Tensor) -> Iterator[None]:
    """Make masks for one new token a row inside.

    Args:
        positions: Where each row's token stands.
    """
    # Imported with the first model: they bring libraries along that nobody else here needs.
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def allowed(**options: Any) -> torch.Tensor:
        return _mask(positions, **options)

    def additive(**options: Any) -> torch.Tensor:
        dtype = options.get("dtype", torch.float32)
        zero = torch.zeros((), dtype=dtype, device=positions.device)
        return torch.where(_mask(positions, **options), zero, torch.finfo(dtype).min)

    with (
        _exchanged(ALL_MASK_ATTENTION_FUNCTIONS, "sdpa", allowed),
        _exchanged(ALL_MASK_ATTENTION_FUNCTIONS, "eager", additive),
        _exchanged(ALL_ATTENTION_FUNCTIONS, "sdpa", _folding(ALL_ATTENTION_FUNCTIONS["sdpa"])),
    ):
        yield


@contextmanager
def keys_uncopied(device: torch.device) -> Iterator[None]:
    """Let grouped heads read the same keys under a mask inside, where the kernel can.

    transformers copies them for each head as soon as there is a mask, since a GPU's kernels know
    no groups under one; a CPU's does.
    """
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    if device.type != "cpu":
        yield
        return
    grouped = _grouped(ALL_ATTENTION_FUNCTIONS["sdpa"])
    with _exchanged(ALL_ATTENTION_FUNCTIONS, "sdpa", grouped):
        yield


def _mask(positions: torch.Tensor, **options: Any) -> torch.Tensor:
    rows, slots = len(positions), int(options["kv_length"])
    device = positions.device
    batch = torch.arange(rows, device=device)[:, None, None, None]
    head = torch.zeros((1, 1, 1, 1), dtype=torch.long, device=device)
    slot = torch.arange(slots, device=device)[None, None, None, :] + options.get("kv_offset", 0)
    found: torch.Tensor = options["mask_function"](
        batch, head, positions[:, None, None, None], slot
    )
    return found.expand(rows, 1, 1, slots)


def _folding(original: Callable[..., Any]) -> Callable[..., Any]:
    def attend(
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: Any,
    ) -> Any:
        groups = query.shape[1] // key.shape[1]
        special = any(options.get(name) is not None for name in _SPECIAL)
        if groups == 1 or query.shape[2] != 1 or attention_mask is None or special:
            return original(module, query, key, value, attention_mask, **options)
        rows, heads, _, size = query.shape
        found = scaled_dot_product_attention(
            query.reshape(rows, key.shape[1], groups, size),
            key,
            value,
            attn_mask=attention_mask,
            scale=options.get("scaling"),
        )
        return found.reshape(rows, 1, heads, value.shape[-1]), None

    return attend


def _grouped(original: Callable[..., Any]) -> Callable[..., Any]:
    def attend(
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: Any,
    ) -> Any:
        special = any(options.get(name) is not None for name in _SPECIAL)
        if query.shape[1] == key.shape[1] or attention_mask is None or special:
            return original(module, query, key, value, attention_mask, **options)
        found = scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=attention_mask,
            scale=options.get("scaling"),
            enable_gqa=True,
        )
        return found.transpose(1, 2).contiguous(), None

    return attend


_SPECIAL = ("position_bias", "softcap", "cache")
"""What changes the outcome of transformers' own function; it has no other such option."""


@contextmanager
def _exchanged(functions: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    former = functions[name]
    functions[name] = function
    try:
        yield
    finally:
        del functions[name]
        if functions.get(name) is not former:
            functions[name] = former
