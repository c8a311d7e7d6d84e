"""Attention of a decode step in which every row is at a position of its own.

transformers builds masks as if all rows stood at the same position. For the length of a forward
pass the functions that make masks are replaced by ones that evaluate the model's own rule (causal,
windowed, chunked) at each row's position, so that what a token attends to stays the model's
business. Grouped heads are folded into queries of one head, which avoids copying the keys for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention


@contextmanager
def row_positions(positions: torch.Tensor, owners: torch.Tensor | None = None) -> Iterator[None]:
    """Make masks for new tokens at positions of their own inside.

    Args:
        positions: The position of each token.
        owners: The row of each token, rising, where rows have several; to the model, each token
            is a row. None if each row has one.
    """
    # Imported with the first model: they import libraries that nothing else here needs.
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def allowed(**options: Any) -> torch.Tensor:
        return _mask(positions, **options)

    def additive(**options: Any) -> torch.Tensor:
        dtype = options.get("dtype", torch.float32)
        zero = torch.zeros((), dtype=dtype, device=positions.device)
        return torch.where(_mask(positions, **options), zero, torch.finfo(dtype).min)

    if owners is None:
        folded = _for_groups(ALL_ATTENTION_FUNCTIONS["sdpa"], _attend_folded, one_token=True)
    else:
        folded = _for_drafts(_Drafted(owners))
    with (
        _replaced(ALL_MASK_ATTENTION_FUNCTIONS, "sdpa", allowed),
        _replaced(ALL_MASK_ATTENTION_FUNCTIONS, "eager", additive),
        _replaced(ALL_ATTENTION_FUNCTIONS, "sdpa", folded),
    ):
        yield


@contextmanager
def grouped_keys(device: torch.device) -> Iterator[None]:
    """Let grouped heads share their keys under a mask inside, where the kernel can.

    transformers copies the keys for each head as soon as there is a mask, since a GPU's kernels
    support no groups under one; the CPU's kernel does.
    """
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    if device.type != "cpu":
        yield
        return
    grouped = _for_groups(ALL_ATTENTION_FUNCTIONS["sdpa"], _attend_grouped)
    with _replaced(ALL_ATTENTION_FUNCTIONS, "sdpa", grouped):
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


def _for_groups(
    original: Callable[..., Any], attend: Callable[..., torch.Tensor], one_token: bool = False
) -> Callable[..., Any]:
    """Use our attention where heads share keys under a mask, and transformers' elsewhere.

    Args:
        original: transformers' own function.
        attend: Takes query, key and value, then mask and scale by name.
        one_token: Whether it supports only rows of a single new token.
    """

    def chosen(
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: Any,
    ) -> Any:
        is_grouped = query.shape[1] != key.shape[1] and attention_mask is not None
        is_special = any(options.get(name) is not None for name in _SPECIAL)
        if not is_grouped or is_special or (one_token and query.shape[2] != 1):
            return original(module, query, key, value, attention_mask, **options)
        scale = options.get("scaling")
        return attend(query, key, value, attn_mask=attention_mask, scale=scale), None

    return chosen


_SPECIAL = ("position_bias", "softcap", "cache")
"""Options that change the outcome of transformers' own function; it has no others."""


def _for_drafts(attend: _Drafted) -> Callable[..., Any]:
    """Use attention of rows with several tokens; what it does not support is an error."""

    def chosen(
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: Any,
    ) -> Any:
        is_special = any(options.get(name) is not None for name in _SPECIAL)
        if attention_mask is None or is_special or query.shape[2] != 1:
            raise NotImplementedError("attention of this kind over drafted tokens")
        return attend(query, key, value, attention_mask, options.get("scaling")), None

    return chosen


class _Drafted:
    """Attention in which the tokens of a row share one reading of its keys."""

    def __init__(self, owners: torch.Tensor) -> None:
        self._rows = int(owners[-1]) + 1
        first = torch.searchsorted(owners, torch.arange(self._rows, device=owners.device))
        offsets = torch.arange(len(owners), device=owners.device) - first[owners]
        self._width = int(offsets.max()) + 1
        self._places = owners * self._width + offsets
        """Where each token stands when all rows are padded to the longest."""
        self._masks: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __call__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor,
        scale: float | None,
    ) -> torch.Tensor:
        heads, size = query.shape[1], query.shape[3]
        shape = (self._rows, self._width, key.shape[1], heads // key.shape[1])
        padded = query.new_zeros(self._rows * self._width, heads, size)
        padded[self._places] = query[:, :, 0]
        folded = padded.view(*shape, size).permute(0, 2, 3, 1, 4)
        found = scaled_dot_product_attention(
            folded.reshape(self._rows, shape[2], -1, size),
            key,
            value,
            attn_mask=self._mask(mask, shape[3]),
            scale=scale,
        )
        found = found.view(self._rows, shape[2], shape[3], self._width, value.shape[-1])
        found = found.permute(0, 3, 1, 2, 4).reshape(-1, 1, heads, value.shape[-1])
        return found[self._places]

    def _mask(self, mask: torch.Tensor, groups: int) -> torch.Tensor:
        """A mask for padded rows, each token once per head of a group; the same in many layers."""
        if id(mask) not in self._masks:
            slots = mask.shape[-1]
            padded = torch.ones(
                self._rows * self._width, slots, dtype=mask.dtype, device=mask.device
            )
            padded[self._places] = mask[:, 0, 0]
            parts = padded.view(self._rows, 1, 1, self._width, slots)
            whole = parts.expand(-1, -1, groups, -1, -1).reshape(self._rows, 1, -1, slots)
            # The key is valid as long as the mask lives, so it is kept alive.
            self._masks[id(mask)] = (mask, whole)
        return self._masks[id(mask)][1]


def _attend_folded(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **options: Any
) -> torch.Tensor:
    """Fold the heads that share keys into queries of one head."""
    rows, heads, _, size = query.shape
    folded = query.reshape(rows, key.shape[1], heads // key.shape[1], size)
    found = scaled_dot_product_attention(folded, key, value, **options)
    return found.reshape(rows, 1, heads, value.shape[-1])


def _attend_grouped(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **options: Any
) -> torch.Tensor:
    """Let the kernel broadcast the keys that heads share."""
    found = scaled_dot_product_attention(query, key, value, enable_gqa=True, **options)
    return found.transpose(1, 2).contiguous()


@contextmanager
def _replaced(functions: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    former = functions[name]
    functions[name] = function
    try:
        yield
    finally:
        del functions[name]
        if functions.get(name) is not former:
            functions[name] = former
