"""Attention of a decode step over a paged KV cache, in Triton kernels.

A program takes the query heads that share one key head of one row, and a stretch of its tokens;
long rows are divided among several programs, whose softmaxes a last kernel joins. No slot beyond a
row's position is read. Rows that begin with the same pages are taken together for these pages: one
program reads them once for the queries of all. Imported only where there is a GPU.
"""

from __future__ import annotations

import functools
from typing import Protocol

import torch
import triton
import triton.language as tl

_LOG2_E = 1.4426950408889634
_DTYPES = (torch.float16, torch.bfloat16, torch.float32)
_PROGRAMS = 8
"""Per multiprocessor: rows are divided until there are so many programs."""
_SHORTEST = 128
"""Slots per program: shorter stretches cost more to join than they save."""
_TOGETHER = 64
"""Queries of one program over shared pages."""
_WARPS = 2
_STAGES = 3
"""Of a program over a row's own slots; on an H200 it then reads at 95 % of the copy bandwidth."""
_SHARED_PARTS = 4
"""Programs among which the shared pages of a group are divided, per key head."""


class Pages(Protocol):
    """Which pages the rows of a step read; `paged_cache` has it."""

    table: torch.Tensor
    shared: torch.Tensor
    groups: torch.Tensor


def takes(dtype: torch.dtype, size: int) -> bool:
    """Whether the kernels take heads of this kind."""
    return dtype in _DTYPES and size <= (128 if dtype == torch.float32 else 256)


def members_per_group(heads_per_key: int) -> int:
    """How many rows one program over shared pages takes."""
    return max(2, _TOGETHER // int(triton.next_power_of_2(heads_per_key)))


@triton.jit
def _attend_own(
    query,
    key,
    value,
    positions,
    table,
    shared,
    partial,
    weights,
    query_row,
    query_head,
    page_stride,
    head_stride,
    table_row,
    scale,
    parts,
    FIRST: tl.constexpr,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    GROUP_WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    STRETCH: tl.constexpr,
    PAGE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Softmax of one stretch of a row's own slots, for the heads that share its keys."""
    row = tl.program_id(0) // KEY_HEADS
    head = tl.program_id(0) % KEY_HEADS
    stretch = tl.program_id(1)
    end = tl.load(positions + row).to(tl.int32) + 1
    first = stretch * STRETCH
    if FIRST > 0:
        first += tl.load(shared + row)
    if first >= end:
        return
    end = tl.minimum(end, first + STRETCH)
    member = tl.arange(0, GROUP_WIDTH)
    across = tl.arange(0, WIDTH)
    inner = tl.arange(0, PAGE)
    own = head * GROUP + member
    q = tl.load(
        query + row.to(tl.int64) * query_row + own[:, None] * query_head + across[None, :],
        mask=(member[:, None] < GROUP) & (across[None, :] < SIZE),
        other=0.0,
    )
    peak = tl.full((GROUP_WIDTH,), float("-inf"), tl.float32)
    total = tl.zeros((GROUP_WIDTH,), tl.float32)
    mixed = tl.zeros((GROUP_WIDTH, WIDTH), tl.float32)
    for start in range(first, end, PAGE):
        page = tl.load(table + row * table_row + start // PAGE).to(tl.int64)
        at = page * page_stride + head * head_stride
        inside = start + inner < end
        k = tl.load(
            key + at + inner[None, :] * SIZE + across[:, None],
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
            value + at + inner[:, None] * SIZE + across[None, :],
            mask=inside[:, None] & (across[None, :] < SIZE),
            other=0.0,
        )
        mixed = tl.dot(shares.to(v.dtype), v, mixed * fading[:, None], input_precision=PRECISION)
        peak = higher
    place = (row * parts + FIRST + stretch) * HEADS + own
    tl.store(
        partial + place[:, None].to(tl.int64) * SIZE + across[None, :],
        mixed / total[:, None],
        mask=(member[:, None] < GROUP) & (across[None, :] < SIZE),
    )
    tl.store(weights + place, peak + tl.log2(total), mask=member < GROUP)


@triton.jit
def _attend_shared(
    query,
    key,
    value,
    table,
    shared,
    groups,
    partial,
    weights,
    query_row,
    query_head,
    page_stride,
    head_stride,
    table_row,
    scale,
    parts,
    FIRST: tl.constexpr,
    MEMBERS: tl.constexpr,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    GROUP_WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    PAGE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Softmax of a part of a group's shared slots, for all its rows at once."""
    group = tl.program_id(0) // KEY_HEADS
    head = tl.program_id(0) % KEY_HEADS
    part = tl.program_id(1)
    leader = tl.load(groups + group * MEMBERS)
    if leader < 0:
        return
    length = tl.load(shared + leader)
    stretch = (length + FIRST * PAGE - 1) // (FIRST * PAGE) * PAGE
    first = part * stretch
    if first >= length:
        return
    end = tl.minimum(length, first + stretch)
    both = tl.arange(0, MEMBERS * GROUP_WIDTH)
    row = tl.load(groups + group * MEMBERS + both // GROUP_WIDTH)
    own = head * GROUP + both % GROUP_WIDTH
    used = (row >= 0) & (both % GROUP_WIDTH < GROUP)
    row = tl.maximum(row, 0)
    across = tl.arange(0, WIDTH)
    inner = tl.arange(0, PAGE)
    q = tl.load(
        query + row[:, None].to(tl.int64) * query_row + own[:, None] * query_head + across[None, :],
        mask=used[:, None] & (across[None, :] < SIZE),
        other=0.0,
    )
    peak = tl.full((MEMBERS * GROUP_WIDTH,), float("-inf"), tl.float32)
    total = tl.zeros((MEMBERS * GROUP_WIDTH,), tl.float32)
    mixed = tl.zeros((MEMBERS * GROUP_WIDTH, WIDTH), tl.float32)
    for start in range(first, end, PAGE):
        # Shared pages are full: no slot of them needs a mask.
        page = tl.load(table + leader * table_row + start // PAGE).to(tl.int64)
        at = page * page_stride + head * head_stride
        k = tl.load(
            key + at + inner[None, :] * SIZE + across[:, None],
            mask=(across[:, None] < SIZE) & (inner[None, :] >= 0),
            other=0.0,
        )
        scores = tl.dot(q, k, input_precision=PRECISION) * scale
        higher = tl.maximum(peak, tl.max(scores, 1))
        shares = tl.exp2(scores - higher[:, None])
        fading = tl.exp2(peak - higher)
        total = total * fading + tl.sum(shares, 1)
        v = tl.load(
            value + at + inner[:, None] * SIZE + across[None, :],
            mask=(across[None, :] < SIZE) & (inner[:, None] >= 0),
            other=0.0,
        )
        mixed = tl.dot(shares.to(v.dtype), v, mixed * fading[:, None], input_precision=PRECISION)
        peak = higher
    place = (row * parts + part) * HEADS + own
    tl.store(
        partial + place[:, None].to(tl.int64) * SIZE + across[None, :],
        mixed / total[:, None],
        mask=used[:, None] & (across[None, :] < SIZE),
    )
    tl.store(weights + place, peak + tl.log2(total), mask=used)


@triton.jit
def _join(
    partial,
    weights,
    positions,
    shared,
    out,
    parts,
    FIRST: tl.constexpr,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    STRETCH: tl.constexpr,
    PAGE: tl.constexpr,
):
    """Join the softmaxes of a row's parts, for one head."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    across = tl.arange(0, WIDTH)
    length = tl.load(positions + row).to(tl.int32) + 1
    with_group = 0
    if FIRST > 0:
        together = tl.load(shared + row)
        length -= together
        stretch = (together + FIRST * PAGE - 1) // (FIRST * PAGE) * PAGE
        # Divided only where there is something: -1 // 1 is -1.
        with_group = tl.where(together > 0, (together + stretch - 1) // tl.maximum(stretch, 1), 0)
    used = with_group + (length + STRETCH - 1) // STRETCH
    peak = float("-inf")
    total = 0.0
    mixed = tl.zeros((WIDTH,), tl.float32)
    for at in range(0, used):
        part = tl.where(at < with_group, at, at - with_group + FIRST)
        place = (row * parts + part) * HEADS + head
        weight = tl.load(weights + place)
        higher = tl.maximum(peak, weight)
        fading = tl.exp2(peak - higher)
        share = tl.exp2(weight - higher)
        found = tl.load(partial + place.to(tl.int64) * SIZE + across, mask=across < SIZE, other=0.0)
        mixed = mixed * fading + found * share
        total = total * fading + share
        peak = higher
    place = (row * HEADS + head).to(tl.int64) * SIZE
    tl.store(out + place + across, mixed / total, mask=across < SIZE)


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def attend_pages(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    positions: torch.Tensor,
    pages: Pages,
    reach: int,
    scale: float,
    has_groups: bool,
) -> torch.Tensor:
    """Attend from one new token per row to all tokens of the row up to its own.

    Args:
        query: Rows × heads × size.
        key: Pages × key heads × slots × size.
        value: Likewise.
        positions: The position of each row's token.
        pages: Which pages the rows read.
        reach: At least the largest position plus one.
        scale: Of the products.
        has_groups: Whether any rows share pages.

    Returns:
        Rows × heads times size.
    """
    rows, heads, size = query.shape
    key_heads, page = key.shape[1], key.shape[2]
    group = heads // key_heads
    programs = _PROGRAMS * _multiprocessors(query.device)
    wanted = max(1, -(-programs // (rows * key_heads)))
    stretch = max(_SHORTEST, triton.next_power_of_2(-(-reach // wanted)))
    first = _SHARED_PARTS if has_groups else 0
    parts = first + -(-reach // stretch)
    device, width = query.device, max(16, triton.next_power_of_2(size))
    partial = torch.empty((rows, parts, heads, size), dtype=torch.float32, device=device)
    weights = torch.empty((rows, parts, heads), dtype=torch.float32, device=device)
    out = torch.empty((rows, heads * size), dtype=query.dtype, device=device)
    strides = (query.stride(0), query.stride(1), key.stride(0), key.stride(1))
    common = {
        "FIRST": first, "HEADS": heads, "SIZE": size, "WIDTH": width, "PAGE": page,
    }  # fmt: skip
    shape = {"KEY_HEADS": key_heads, "GROUP": group, "PRECISION": "ieee"}
    _attend_own[(rows * key_heads, parts - first)](
        query, key, value, positions, pages.table, pages.shared, partial, weights,
        *strides, pages.table.stride(0), scale * _LOG2_E, parts,
        **common, **shape, GROUP_WIDTH=max(16, triton.next_power_of_2(group)),
        STRETCH=stretch, num_warps=_WARPS, num_stages=_STAGES,
    )  # fmt: skip
    if has_groups:
        _attend_shared[(pages.groups.shape[0] * key_heads, first)](
            query, key, value, pages.table, pages.shared, pages.groups, partial, weights,
            *strides, pages.table.stride(0), scale * _LOG2_E, parts,
            **common, **shape, MEMBERS=pages.groups.shape[1],
            GROUP_WIDTH=triton.next_power_of_2(group), num_warps=4, num_stages=2,
        )  # fmt: skip
    _join[(rows, heads)](
        partial, weights, positions, pages.shared, out, parts,
        **common, STRETCH=stretch, num_warps=1,
    )  # fmt: skip
    return out
