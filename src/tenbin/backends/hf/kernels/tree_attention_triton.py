"""Attention over a packed tree in one Triton kernel: shared keys are read in place.

Flash attention over lists of key tiles (`tiles`), under the rule that query i attends to key j
where j <= i < end(j). Windows, soft caps and sinks are part of it. This module is imported only
where there is a GPU.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import triton
import triton.language as tl

from tenbin.backends.hf.kernels.tiles import Tiles

ROWS = 128
"""Queries per tile."""
KEYS = 64
"""Keys per tile."""
_LOG2_E = tl.constexpr(1.4426950408889634)
_DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def takes(query: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether the kernel takes tensors of this kind."""
    widest = 128 if query.dtype == torch.float32 else 256
    return query.dtype in _DTYPES and max(query.shape[-1], value.shape[-1]) <= widest


@triton.jit
def _read_tiles(
    mixed,
    peak,
    total,
    queries,
    places,
    place_positions,
    key,
    value,
    key_stride,
    value_stride,
    ends,
    positions,
    listed,
    first,
    last,
    count,
    scale,
    cap,
    window,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    VALUE_SIZE: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    KEYS: tl.constexpr,
    MASKED: tl.constexpr,
    CAPPED: tl.constexpr,
    WINDOWED: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Take the listed key tiles into a running softmax."""
    across = tl.arange(0, WIDTH)
    value_across = tl.arange(0, VALUE_WIDTH)
    for at in range(first, last):
        keys = tl.load(listed + at) * KEYS + tl.arange(0, KEYS)
        inside = keys < count
        far = keys.to(tl.int64)
        k = tl.load(
            key + far[None, :] * key_stride + across[:, None],
            mask=inside[None, :] & (across[:, None] < SIZE),
            other=0.0,
        )
        scores = tl.dot(queries, k, input_precision=PRECISION) * scale
        if CAPPED:
            # The hyperbolic tangent, by an exponential that stays in range.
            shrunk = tl.exp2(-2.0 * _LOG2_E * tl.abs(scores) / cap)
            bent = cap * (1.0 - shrunk) / (1.0 + shrunk)
            scores = tl.where(scores < 0, -bent, bent)
        scores = scores * _LOG2_E
        if MASKED:
            end = tl.load(ends + keys, mask=inside, other=0)
            seen = (keys[None, :] <= places[:, None]) & (places[:, None] < end[None, :])
            if WINDOWED:
                there = tl.load(positions + keys, mask=inside, other=0)
                seen = seen & (place_positions[:, None] - there[None, :] < window)
            scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(peak, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        fading = tl.exp2(peak - higher)
        total = total * fading + tl.sum(weights, 1)
        v = tl.load(
            value + far[:, None] * value_stride + value_across[None, :],
            mask=inside[:, None] & (value_across[None, :] < VALUE_SIZE),
            other=0.0,
        )
        mixed = tl.dot(weights.to(v.dtype), v, mixed * fading[:, None], input_precision=PRECISION)
        peak = higher
    return mixed, peak, total


@triton.jit(do_not_specialize=["count"])
def _attend(
    query,
    key,
    value,
    out,
    query_stride,
    query_head,
    key_stride,
    key_head,
    value_stride,
    value_head,
    out_stride,
    out_head,
    ends,
    positions,
    listed,
    borders,
    sinks,
    count,
    scale,
    cap,
    window,
    GROUPS: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    VALUE_SIZE: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
    CAPPED: tl.constexpr,
    WINDOWED: tl.constexpr,
    SINKING: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One tile of queries of one head."""
    head = tl.program_id(0)
    tile = tl.program_id(1)
    places = tile * ROWS + tl.arange(0, ROWS)
    inside = places < count
    far = places.to(tl.int64)
    across = tl.arange(0, WIDTH)
    value_across = tl.arange(0, VALUE_WIDTH)
    queries = tl.load(
        query + head * query_head + far[:, None] * query_stride + across[None, :],
        mask=inside[:, None] & (across[None, :] < SIZE),
        other=0.0,
    )
    place_positions = tl.load(positions + places, mask=inside, other=0)
    key += (head // GROUPS) * key_head
    value += (head // GROUPS) * value_head
    if SINKING:
        # A key that takes part in the softmax and brings no value.
        peak = tl.zeros([ROWS], tl.float32) + tl.load(sinks + head).to(tl.float32) * _LOG2_E
        total = tl.zeros([ROWS], tl.float32) + 1.0
    else:
        # Finite: the difference of two infinities is no number.
        peak = tl.zeros([ROWS], tl.float32) - 1e30
        total = tl.zeros([ROWS], tl.float32)
    mixed = tl.zeros([ROWS, VALUE_WIDTH], tl.float32)
    first = tl.load(borders + 2 * tile)
    middle = tl.load(borders + 2 * tile + 1)
    last = tl.load(borders + 2 * tile + 2)
    mixed, peak, total = _read_tiles(
        mixed, peak, total, queries, places, place_positions, key, value, key_stride, value_stride,
        ends, positions, listed, first, middle, count, scale, cap, window,
        SIZE, WIDTH, VALUE_SIZE, VALUE_WIDTH, KEYS, False, CAPPED, WINDOWED, PRECISION,
    )  # fmt: skip
    mixed, peak, total = _read_tiles(
        mixed, peak, total, queries, places, place_positions, key, value, key_stride, value_stride,
        ends, positions, listed, middle, last, count, scale, cap, window,
        SIZE, WIDTH, VALUE_SIZE, VALUE_WIDTH, KEYS, True, CAPPED, WINDOWED, PRECISION,
    )  # fmt: skip
    tl.store(
        out + head * out_head + far[:, None] * out_stride + value_across[None, :],
        (mixed / total[:, None]).to(out.dtype.element_ty),
        mask=inside[:, None] & (value_across[None, :] < VALUE_SIZE),
    )


def attend(
    tiles: Tiles,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float,
    window: int | None = None,
    cap: float | None = None,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of one layer over a pack.

    Args:
        tiles: The pack's lists, made for the same window.
        query: Heads × tokens × size.
        key: Key heads × tokens × size.
        value: Key heads × tokens × its size.
        scale: Of the scores.
        window: Sliding window.
        cap: Soft cap of the scores.
        sinks: One logit per head that takes part in every softmax and adds nothing.

    Returns:
        Tokens × heads × value's size.
    """
    query, key, value = (
        part if part.stride(-1) == 1 else part.contiguous() for part in (query, key, value)
    )
    heads, count, size = query.shape
    width, value_width = (max(16, triton.next_power_of_2(n)) for n in (size, value.shape[-1]))
    out = query.new_empty(count, heads, value.shape[-1])
    wide = max(width, value_width) * query.element_size()
    with torch.cuda.device(query.device) if query.is_cuda else torch.inference_mode():
        _attend[heads, -(-count // ROWS)](
            query, key, value, out,
            query.stride(1), query.stride(0), key.stride(1), key.stride(0),
            value.stride(1), value.stride(0), out.stride(0), out.stride(1),
            tiles.ends, tiles.positions, tiles.listed, tiles.borders,
            tiles.ends if sinks is None else sinks,
            count, scale, cap or 0.0, window or 0,
            heads // key.shape[0], size, width, value.shape[-1], value_width, ROWS, KEYS,
            cap is not None, window is not None, sinks is not None,
            "ieee" if query.dtype == torch.float32 else "tf32",
            num_warps=4 if wide <= 256 else 8,
            num_stages=_stages(query.device, wide),
        )  # fmt: skip
    return out


@functools.cache
def _stages(device: torch.device, wide: int) -> int:
    """Pipeline stages: tiles of keys and values in flight, as many as a multiprocessor holds.

    Args:
        device: Where the kernel runs.
        wide: Bytes of a token's key.
    """
    if device.type != "cuda":
        return 1
    held: Any = torch.cuda.get_device_properties(device)
    room = held.shared_memory_per_block_optin - ROWS * wide
    return int(max(1, min(3 if wide <= 128 else 2, room // (2 * KEYS * wide))))
