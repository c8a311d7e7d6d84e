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

from tenbin.backends.hf.kernels.tree_attention import no_kernel


@contextmanager
def row_positions(positions: torch.Tensor, owners: torch.Tensor | None = None) -> Iterator[None]:
    """Make masks for new tokens at positions of their own inside.

    Args:
        positions: The position of each token.
        owners: The row of each token, rising, where rows have several, on a CPU; to the model,
            each token is a row. None if each row has one.
    """
    # Imported with the first model: they import libraries that nothing else here needs.
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, causal_mask_function
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    causal: list[torch.Tensor] = []

    def allowed(**options: Any) -> torch.Tensor:
        mask = _mask(positions, **options)
        if options["mask_function"] is causal_mask_function and not options.get("kv_offset"):
            causal.append(mask)
        return mask

    def additive(**options: Any) -> torch.Tensor:
        dtype = options.get("dtype", torch.float32)
        zero = torch.zeros((), dtype=dtype, device=positions.device)
        return torch.where(_mask(positions, **options), zero, torch.finfo(dtype).min)

    original = ALL_ATTENTION_FUNCTIONS["sdpa"]
    if positions.device.type == "cpu":
        folded = _for_rows(original, _RowAttention(positions, owners))
    else:
        folded = _for_groups(original, _attend_folded, one_token=True)
        if positions.is_cuda and no_kernel(positions.device) is None:
            folded = _for_causal_rows(folded, positions, causal)
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


def _for_causal_rows(
    original: Callable[..., Any], positions: torch.Tensor, causal: list[torch.Tensor]
) -> Callable[..., Any]:
    """Use the kernel where a token attends to all of its row before it.

    Args:
        original: For everything else: windows, soft caps, masks that a model has changed.
        positions: The position of each row's token.
        causal: The masks that say no more than that.
    """
    from tenbin.backends.hf.kernels.decode_attention_triton import attend, takes

    def chosen(
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: Any,
    ) -> Any:
        is_special = any(options.get(name) is not None for name in (*_SPECIAL, "s_aux"))
        is_causal = any(attention_mask is mask for mask in causal)
        if is_special or not is_causal or query.shape[2] != 1 or not takes(query, value):
            return original(module, query, key, value, attention_mask, **options)
        here = positions.to(query.device)
        return attend(query, key, value, here, options.get("scaling")), None

    return chosen


_ROWS_READ = 8
"""Rows whose keys a CPU reads together, as far as the longest of them reaches."""

_SPECIAL = ("position_bias", "softcap", "cache")
"""Options that change the outcome of transformers' own function; it has no others."""


def _for_rows(original: Callable[..., Any], attend: _RowAttention) -> Callable[..., Any]:
    """Use our attention over rows; transformers' where it does not fit, if that can be used."""

    def chosen(
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: Any,
    ) -> Any:
        is_special = any(options.get(name) is not None for name in _SPECIAL)
        if attention_mask is not None and not is_special and query.shape[2] == 1:
            return attend(query, key, value, attention_mask, options.get("scaling")), None
        if attend.has_drafts:
            raise NotImplementedError("attention of this kind over drafted tokens")
        return original(module, query, key, value, attention_mask, **options)

    return chosen


class _RowAttention:
    """Attention of a decode step on a CPU, where reading the keys takes the time.

    The tokens of a row, its newest and drafted ones, share one reading of its keys, and so do the
    heads of a group. Rows are taken a few at a time, so that short ones need not be read as far as
    the longest.
    """

    def __init__(self, positions: torch.Tensor, owners: torch.Tensor | None) -> None:
        """Plan a step; the same for all layers.

        Args:
            positions: The position of each token.
            owners: The row of each token, rising; None if each row has one.
        """
        self.has_drafts = owners is not None
        rows = list(range(len(positions))) if owners is None else owners.tolist()
        self._rows: int = rows[-1] + 1
        ends, counts, offsets = [0] * self._rows, [0] * self._rows, []
        for row, position in zip(rows, positions.tolist(), strict=True):
            ends[row] = position + 1
            offsets.append(counts[row])
            counts[row] += 1
        self._width = max(counts)
        places = [row * self._width + at for row, at in zip(rows, offsets, strict=True)]
        self._places = torch.tensor(places)
        """Where each token stands when all rows are padded to the longest."""
        self._parts = [
            (at, at + _ROWS_READ, max(ends[at : at + _ROWS_READ]))
            for at in range(0, self._rows, _ROWS_READ)
        ]
        self._biases: dict[tuple[int, int], tuple[torch.Tensor, list[torch.Tensor]]] = {}

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
        padded = query[:, :, 0]
        if self.has_drafts:
            padded = query.new_zeros(self._rows * self._width, heads, size)
            padded[self._places] = query[:, :, 0]
        folded = padded.reshape(*shape, size).permute(0, 2, 3, 1, 4)
        folded = folded.reshape(self._rows, shape[2], -1, size)
        found = query.new_empty(*folded.shape[:3], value.shape[-1])
        biases = self._bias(mask, shape[3], query.dtype)
        for (start, stop, end), bias in zip(self._parts, biases, strict=True):
            found[start:stop] = scaled_dot_product_attention(
                folded[start:stop],
                key[start:stop, :, :end],
                value[start:stop, :, :end],
                attn_mask=bias,
                scale=scale,
            )
        found = found.view(self._rows, shape[2], shape[3], self._width, value.shape[-1])
        found = found.permute(0, 3, 1, 2, 4).reshape(-1, 1, heads, value.shape[-1])
        return found[self._places] if self.has_drafts else found

    def _bias(self, mask: torch.Tensor, groups: int, dtype: torch.dtype) -> list[torch.Tensor]:
        """The mask of each part as numbers to add, each token once per head of a group."""
        if (id(mask), groups) not in self._biases:
            slots = mask.shape[-1]
            # Padding attends to everything: a row of nothing but minus infinity would be NaN.
            padded = torch.zeros(self._rows * self._width, slots, dtype=dtype)
            padded[self._places] = padded[self._places].masked_fill(~mask[:, 0, 0], -torch.inf)
            parts = padded.view(self._rows, 1, 1, self._width, slots)
            whole = parts.expand(-1, -1, groups, -1, -1).reshape(self._rows, 1, -1, slots)
            biases = [whole[a:b, ..., :end].contiguous() for a, b, end in self._parts]
            # The key is valid as long as the mask lives, so it is kept alive.
            self._biases[id(mask), groups] = (mask, biases)
        return self._biases[id(mask), groups][1]


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
