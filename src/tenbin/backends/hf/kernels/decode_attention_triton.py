"""Attention of a decode step in one Triton kernel: each row's keys are read once, as far as it has
any.

A program takes the query heads that share one key head of one row, and a stretch of its slots;
long rows are divided among several programs, whose softmaxes a second kernel joins. No slot beyond
a row's position is read, so rows of very different length stand side by side without cost. This
module is imported only where there is a GPU.
"""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl

_LOG2_E = 1.4426950408889634
_DTYPES = (torch.float16, torch.bfloat16, torch.float32)
_WIDEST = 256
_KEYS = 64
"""Slots per step of a program."""
_PROGRAMS = 8
"""Per multiprocessor: rows are divided until there are so many programs."""
_SHORTEST = 128
"""Slots per program: shorter stretches cost more to join than they save."""


def takes(query: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether the kernel takes tensors of this kind."""
    widest = 128 if query.dtype == torch.float32 else _WIDEST
    return query.dtype in _DTYPES and max(query.shape[-1], value.shape[-1]) <= widest


@triton.jit
def _attend(
    query,
    key,
    value,
    positions,
    partial,
    weights,
    query_row,
    query_head,
    key_row,
    key_head,
    key_slot,
    value_row,
    value_head,
    value_slot,
    scale,
    stretches,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    GROUP_WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    VALUE_SIZE: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    STRETCH: tl.constexpr,
    KEYS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Softmax of one stretch of a row's slots, for the heads that share its keys."""
    row = tl.program_id(0) // KEY_HEADS
    head = tl.program_id(0) % KEY_HEADS
    stretch = tl.program_id(1)
    end = tl.load(positions + row) + 1
    first = stretch * STRETCH
    if first >= end:
        return
    end = tl.minimum(end, first + STRETCH)
    member = tl.arange(0, GROUP_WIDTH)
    across = tl.arange(0, WIDTH)
    value_across = tl.arange(0, VALUE_WIDTH)
    far = row.to(tl.int64)
    own = head * GROUP + member
    q = tl.load(
        query + far * query_row + own[:, None] * query_head + across[None, :],
        mask=(member[:, None] < GROUP) & (across[None, :] < SIZE),
        other=0.0,
    )
    keys = key + far * key_row + head * key_head
    values = value + far * value_row + head * value_head
    peak = tl.full((GROUP_WIDTH,), float("-inf"), tl.float32)
    total = tl.zeros((GROUP_WIDTH,), tl.float32)
    mixed = tl.zeros((GROUP_WIDTH, VALUE_WIDTH), tl.float32)
    for start in range(first, end, KEYS):
        slots = start + tl.arange(0, KEYS)
        inside = slots < end
        k = tl.load(
            keys + slots[None, :] * key_slot + across[:, None],
            mask=inside[None, :] & (across[:, None] < SIZE),
            other=0.0,
        )
        scores = tl.dot(q, k, input_precision=PRECISION) * scale
        scores = tl.where(inside[None, :], scores, float("-inf"))
        higher = tl.maximum(peak, tl.max(scores, 1))
        shares = tl.exp2(scores - higher[:, None])
        fading = tl.exp2(peak - higher)
        total = total * fading + tl.sum(shares, 1)
        v = tl.load(
            values + slots[:, None] * value_slot + value_across[None, :],
            mask=inside[:, None] & (value_across[None, :] < VALUE_SIZE),
            other=0.0,
        )
        mixed = tl.dot(shares.to(v.dtype), v, mixed * fading[:, None], input_precision=PRECISION)
        peak = higher
    place = (row * stretches + stretch) * HEADS + own
    tl.store(
        partial + place[:, None].to(tl.int64) * VALUE_SIZE + value_across[None, :],
        mixed / total[:, None],
        mask=(member[:, None] < GROUP) & (value_across[None, :] < VALUE_SIZE),
    )
    tl.store(weights + place, peak + tl.log2(total), mask=member < GROUP)


@triton.jit
def _join(
    partial,
    weights,
    positions,
    out,
    stretches,
    HEADS: tl.constexpr,
    VALUE_SIZE: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    STRETCH: tl.constexpr,
):
    """Join the softmaxes of a row's stretches, for one head."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    across = tl.arange(0, VALUE_WIDTH)
    used = (tl.load(positions + row) + STRETCH) // STRETCH
    peak = float("-inf")
    total = 0.0
    mixed = tl.zeros((VALUE_WIDTH,), tl.float32)
    for stretch in range(0, used):
        place = (row * stretches + stretch) * HEADS + head
        weight = tl.load(weights + place)
        higher = tl.maximum(peak, weight)
        fading = tl.exp2(peak - higher)
        share = tl.exp2(weight - higher)
        part = tl.load(
            partial + place.to(tl.int64) * VALUE_SIZE + across, mask=across < VALUE_SIZE, other=0.0
        )
        mixed = mixed * fading + part * share
        total = total * fading + share
        peak = higher
    place = (row * HEADS + head).to(tl.int64) * VALUE_SIZE
    tl.store(out + place + across, mixed / total, mask=across < VALUE_SIZE)


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    positions: torch.Tensor,
    scale: float | None,
) -> torch.Tensor:
    """Attend from one new token per row to all slots of the row up to its own.

    Args:
        query: Rows × heads × 1 × size.
        key: Rows × key heads × slots × size.
        value: Likewise.
        positions: The slot of each row's token.
        scale: Of the products; None for one over the root of the size.

    Returns:
        Rows × 1 × heads × size of values.
    """
    rows, heads, _, size = query.shape
    key_heads, slots, value_size = key.shape[1], key.shape[2], value.shape[-1]
    programs = _PROGRAMS * _multiprocessors(query.device)
    wanted = max(1, -(-programs // (rows * key_heads)))
    stretch = max(_SHORTEST, triton.next_power_of_2(-(-slots // wanted)))
    stretches = -(-slots // stretch)
    width, value_width = (max(16, triton.next_power_of_2(n)) for n in (size, value_size))
    partial = torch.empty(
        (rows, stretches, heads, value_size), dtype=torch.float32, device=query.device
    )
    weights = torch.empty((rows, stretches, heads), dtype=torch.float32, device=query.device)
    out = torch.empty((rows, 1, heads, value_size), dtype=query.dtype, device=query.device)
    group = heads // key_heads
    _attend[(rows * key_heads, stretches)](
        query, key, value, positions, partial, weights,
        query.stride(0), query.stride(1), *key.stride()[:3], *value.stride()[:3],
        (size**-0.5 if scale is None else scale) * _LOG2_E, stretches,
        HEADS=heads, KEY_HEADS=key_heads, GROUP=group,
        GROUP_WIDTH=max(16, triton.next_power_of_2(group)),
        SIZE=size, WIDTH=width, VALUE_SIZE=value_size, VALUE_WIDTH=value_width,
        STRETCH=stretch, KEYS=_KEYS if width <= 128 else _KEYS // 2,
        PRECISION="ieee", num_warps=4, num_stages=2,
    )  # fmt: skip
    _join[(rows, heads)](
        partial, weights, positions, out, stretches,
        HEADS=heads, VALUE_SIZE=value_size, VALUE_WIDTH=value_width, STRETCH=stretch, num_warps=1,
    )  # fmt: skip
    return out
