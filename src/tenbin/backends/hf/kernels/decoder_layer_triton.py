"""The small operations of a decoder layer, each in one kernel.

Between the matrix products of a layer stand a residual sum with its norm, the rotary embedding, in
decode steps with the write into the KV cache, and the gate of the feed-forward part. One by one in
torch they are some twenty kernels per layer: at one token per row they cost as much as the
products, and in packs about a third, for reading and writing the same numbers again and again.
Rounding is that of the model's own modules: to its dtype after the norm and before the norm's
weight, and after the gate's activation. Imported only where there is a GPU.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _add_norm(new, residual, weight, out, eps, size, ADD: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    across = tl.arange(0, WIDTH)
    inside = across < size
    value = tl.load(new + row * size + across, mask=inside, other=0.0)
    if ADD:
        before = tl.load(residual + row * size + across, mask=inside, other=0.0)
        value = (value.to(tl.float32) + before.to(tl.float32)).to(value.dtype)
        tl.store(residual + row * size + across, value, mask=inside)
    wide = value.to(tl.float32)
    wide = wide * tl.rsqrt(tl.sum(wide * wide) / size + eps)
    factor = tl.load(weight + across, mask=inside, other=0.0)
    normed = wide.to(value.dtype).to(tl.float32) * factor.to(tl.float32)
    tl.store(out + row * size + across, normed, mask=inside)


@triton.jit
def _rotate_write(
    projected,
    cos,
    sin,
    positions,
    table,
    query_norm,
    key_norm,
    query,
    key,
    value,
    projected_row,
    angle_row,
    table_row,
    page_stride,
    head_stride,
    eps,
    HEADS: tl.constexpr,
    KEY_HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    HALF_WIDTH: tl.constexpr,
    PAGE: tl.constexpr,
    NORMS: tl.constexpr,
):
    row = tl.program_id(0)
    head = tl.program_id(1)
    half = SIZE // 2
    across = tl.arange(0, HALF_WIDTH)
    inside = across < half
    source = projected + row.to(tl.int64) * projected_row + head * SIZE + across
    low = tl.load(source, mask=inside, other=0.0)
    high = tl.load(source + half, mask=inside, other=0.0)
    position = tl.load(positions + row).to(tl.int32)
    page = tl.load(table + row * table_row + position // PAGE).to(tl.int64)
    slot = page * page_stride + position % PAGE * SIZE + across
    if head < HEADS + KEY_HEADS:
        first = low.to(tl.float32)
        second = high.to(tl.float32)
        if NORMS:
            square = tl.sum(first * first) + tl.sum(second * second)
            factor = tl.rsqrt(square / SIZE + eps)
            weight = query_norm
            if head >= HEADS:
                weight = key_norm
            first = (first * factor).to(low.dtype).to(tl.float32)
            second = (second * factor).to(low.dtype).to(tl.float32)
            first *= tl.load(weight + across, mask=inside, other=0.0).to(tl.float32)
            second *= tl.load(weight + half + across, mask=inside, other=0.0).to(tl.float32)
        angle = row * angle_row + across
        cos_low = tl.load(cos + angle, mask=inside, other=0.0).to(tl.float32)
        sin_low = tl.load(sin + angle, mask=inside, other=0.0).to(tl.float32)
        cos_high = tl.load(cos + angle + half, mask=inside, other=0.0).to(tl.float32)
        sin_high = tl.load(sin + angle + half, mask=inside, other=0.0).to(tl.float32)
        turned_low = first * cos_low - second * sin_low
        turned_high = second * cos_high + first * sin_high
        if head < HEADS:
            target = query + (row * HEADS + head).to(tl.int64) * SIZE + across
        else:
            target = key + slot + (head - HEADS) * head_stride
        tl.store(target, turned_low, mask=inside)
        tl.store(target + half, turned_high, mask=inside)
    else:
        target = value + slot + (head - HEADS - KEY_HEADS) * head_stride
        tl.store(target, low, mask=inside)
        tl.store(target + half, high, mask=inside)


@triton.jit
def _rotate(
    states,
    cos,
    sin,
    norm,
    states_row,
    angle_row,
    eps,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    HEADS_WIDTH: tl.constexpr,
    HALF_WIDTH: tl.constexpr,
    NORM: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    half = SIZE // 2
    head = tl.arange(0, HEADS_WIDTH)[:, None]
    across = tl.arange(0, HALF_WIDTH)[None, :]
    within = across < half
    inside = (head < HEADS) & within
    place = states + row * states_row + head * SIZE + across
    low = tl.load(place, mask=inside, other=0.0)
    high = tl.load(place + half, mask=inside, other=0.0)
    dtype = low.dtype
    first = low.to(tl.float32)
    second = high.to(tl.float32)
    if NORM:
        square = tl.sum(first * first, axis=1) + tl.sum(second * second, axis=1)
        factor = tl.rsqrt(square / SIZE + eps)[:, None]
        first = (first * factor).to(dtype).to(tl.float32)
        second = (second * factor).to(dtype).to(tl.float32)
        first *= tl.load(norm + across, mask=within, other=0.0).to(tl.float32)
        second *= tl.load(norm + half + across, mask=within, other=0.0).to(tl.float32)
        first = first.to(dtype).to(tl.float32)
        second = second.to(dtype).to(tl.float32)
    angle = row * angle_row + across
    cos_low = tl.load(cos + angle, mask=within, other=0.0).to(tl.float32)
    sin_low = tl.load(sin + angle, mask=within, other=0.0).to(tl.float32)
    cos_high = tl.load(cos + angle + half, mask=within, other=0.0).to(tl.float32)
    sin_high = tl.load(sin + angle + half, mask=within, other=0.0).to(tl.float32)
    turned_low = (first * cos_low).to(dtype).to(tl.float32)
    turned_low -= (second * sin_low).to(dtype).to(tl.float32)
    turned_high = (second * cos_high).to(dtype).to(tl.float32)
    turned_high += (first * sin_high).to(dtype).to(tl.float32)
    tl.store(place, turned_low, mask=inside)
    tl.store(place + half, turned_high, mask=inside)


@triton.jit
def _gate(gate, up, out, size, gate_row, up_row, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    across = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    inside = across < size
    wide = tl.load(gate + row * gate_row + across, mask=inside, other=0.0).to(tl.float32)
    factor = tl.load(up + row * up_row + across, mask=inside, other=0.0)
    opened = (wide / (1.0 + tl.exp(-wide))).to(factor.dtype).to(tl.float32)
    tl.store(out + row * size + across, opened * factor.to(tl.float32), mask=inside)


def add_norm(
    new: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float, add: bool = True
) -> torch.Tensor:
    """Add to the residual stream, in place, and return its root-mean-square norm.

    Args:
        new: Rows × size.
        residual: Likewise; left as it is without `add`, where `new` is the stream itself.
        weight: Of the norm.
        eps: Of the norm.
        add: Whether to add at all.
    """
    rows, size = new.shape
    out = torch.empty_like(new)
    width = triton.next_power_of_2(size)
    _add_norm[(rows,)](
        new, residual, weight, out, eps, size, ADD=add, WIDTH=width,
        num_warps=min(16, max(1, width // 512)),
    )  # fmt: skip
    return out


def rotate_and_write(
    projected: torch.Tensor,
    angles: tuple[torch.Tensor, torch.Tensor],
    positions: torch.Tensor,
    table: torch.Tensor,
    states: tuple[torch.Tensor, torch.Tensor],
    heads: int,
    norms: tuple[torch.Tensor, torch.Tensor, float] | None = None,
) -> torch.Tensor:
    """Rotate new queries and keys, write keys and values into their pages, return the queries.

    Args:
        projected: Rows × all query, key and value heads, one after the other.
        angles: Cosines and sines, rows × size.
        positions: The position of each row's token.
        table: Rows × pages.
        states: Keys and values of the layer: pages × key heads × slots × size.
        heads: Query heads.
        norms: Weights of a norm on each query and key head, and its eps.

    Returns:
        Rows × heads × size.
    """
    keys, values = states
    rows, (key_heads, page, size) = projected.shape[0], keys.shape[1:]
    query = torch.empty((rows, heads, size), dtype=projected.dtype, device=projected.device)
    query_norm, key_norm, eps = norms or (projected, projected, 0.0)
    _rotate_write[(rows, heads + 2 * key_heads)](
        projected, *angles, positions, table, query_norm, key_norm, query, keys, values,
        projected.stride(0), angles[0].stride(0), table.stride(0), keys.stride(0), keys.stride(1),
        eps, HEADS=heads, KEY_HEADS=key_heads, SIZE=size,
        HALF_WIDTH=triton.next_power_of_2(size // 2), PAGE=page, NORMS=norms is not None,
        num_warps=1,
    )  # fmt: skip
    return query


def rotate(
    states: torch.Tensor,
    angles: tuple[torch.Tensor, torch.Tensor],
    heads: int,
    norm: tuple[torch.Tensor, float] | None = None,
) -> torch.Tensor:
    """Rotate the heads of queries or keys, in place, and return them.

    Args:
        states: Rows × all heads, one after the other.
        angles: Cosines and sines, rows × size of a head.
        heads: How many there are.
        norm: Weight of a norm on each head, and its eps.
    """
    size = states.shape[1] // heads
    weight, eps = norm or (states, 0.0)
    across = triton.next_power_of_2(size // 2)
    down = triton.next_power_of_2(heads)
    _rotate[(states.shape[0],)](
        states, *angles, weight, states.stride(0), angles[0].stride(0), eps,
        HEADS=heads, SIZE=size, HEADS_WIDTH=down, HALF_WIDTH=across, NORM=norm is not None,
        num_warps=min(8, max(1, down * across // 512)),
    )  # fmt: skip
    return states


def gated(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Return SiLU of the first times the second, both rows × size."""
    rows, size = gate.shape
    out = torch.empty((rows, size), dtype=gate.dtype, device=gate.device)
    _gate[(rows, triton.cdiv(size, 1024))](
        gate, up, out, size, gate.stride(0), up.stride(0), WIDTH=1024, num_warps=4
    )
    return out
