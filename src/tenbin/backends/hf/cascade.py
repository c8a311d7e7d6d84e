"""Tree attention for GPUs: shared keys are read once, never copied to their branches.

Every segment attends to itself causally; then, level by level, all tokens below a node attend to
the node at once, and the parts are merged by their log-sum-exp (as in cascade inference). The
variable-length kernel does both; a plain stand-in of it serves where there is none, so that the
same code runs in tests. Knows packs and tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tenbin.backends.hf.memory import send
from tenbin.backends.hf.tree import Pack


@dataclass(frozen=True, slots=True)
class Ragged:
    """Runs of tokens side by side, as the kernel wants them."""

    borders: torch.Tensor
    """Where each run begins, and where the last one ends; int32."""
    longest: int


@dataclass(frozen=True, slots=True)
class Level:
    """Nodes of one depth, and the tokens below them."""

    readers: torch.Tensor | slice
    """Places of the tokens that read, node by node; a slice where they stand side by side."""
    read: torch.Tensor | slice
    """Places of the nodes' own tokens."""
    reader_runs: Ragged
    read_runs: Ragged


@dataclass(frozen=True, slots=True)
class CascadePlan:
    """How one pack is attended; the same for all layers."""

    own: Ragged
    levels: tuple[Level, ...]


def plan_cascade(pack: Pack, device: Any) -> CascadePlan:
    """The levels of a pack's tree."""
    ends = _subtree_ends(pack)
    depths: list[int] = []
    levels: dict[int, list[int]] = {}
    for number, segment in enumerate(pack.segments):
        depths.append(depths[segment.parent] + 1 if segment.parent >= 0 else 0)
        if ends[number] > segment.start + segment.length:
            levels.setdefault(depths[number], []).append(number)
    own = _ragged([segment.length for segment in pack.segments], device)
    return CascadePlan(
        own, tuple(_level(pack, ends, levels[depth], device) for depth in sorted(levels))
    )


def _subtree_ends(pack: Pack) -> list[int]:
    """Where the tokens below each segment end; a tree laid out depth first keeps them together."""
    ends = [segment.start + segment.length for segment in pack.segments]
    for number in range(len(pack.segments) - 1, -1, -1):
        parent = pack.segments[number].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[number])
    return ends


def _level(pack: Pack, ends: Sequence[int], nodes: Sequence[int], device: Any) -> Level:
    readers: list[tuple[int, int]] = []
    read: list[tuple[int, int]] = []
    for number in nodes:
        segment = pack.segments[number]
        below = segment.start + segment.length
        readers.append((below, ends[number]))
        read.append((segment.start, below))
    return Level(
        _places(readers, device),
        _places(read, device),
        _ragged([end - start for start, end in readers], device),
        _ragged([end - start for start, end in read], device),
    )


def _places(ranges: Sequence[tuple[int, int]], device: Any) -> torch.Tensor | slice:
    """Where ranges stand: a view is enough for one of them, and spares a copy."""
    if len(ranges) == 1:
        return slice(*ranges[0])
    return torch.cat([torch.arange(start, end) for start, end in ranges]).to(
        device, non_blocking=True
    )


def _ragged(lengths: Sequence[int], device: Any) -> Ragged:
    borders = torch.zeros(len(lengths) + 1, dtype=torch.int32)
    borders[1:] = torch.tensor(lengths, dtype=torch.int32).cumsum(0)
    return Ragged(send(borders, device), max(lengths))


def cascade_attention(
    plan: CascadePlan,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of one layer over a pack.

    Args:
        plan: The pack's plan.
        query: Tokens × heads × size.
        key: Tokens × key heads × size.
        value: Tokens × key heads × size.
        scale: Of the scores.
        sinks: One logit a head that takes part in every softmax and adds nothing.

    Returns:
        Tokens × heads × size.
    """
    out, weight = ragged_attention(query, key, value, plan.own, plan.own, True, scale)
    if not plan.levels and sinks is None:
        return out
    merged = out
    for level in plan.levels:
        part, part_weight = ragged_attention(
            query[level.readers],
            key[level.read],
            value[level.read],
            level.reader_runs,
            level.read_runs,
            False,
            scale,
        )
        _merge(merged, weight, level.readers, part, part_weight)
    if sinks is not None:
        # The sink's share of the softmax, taken away from everything else.
        merged = merged * torch.sigmoid(weight - sinks.float())[..., None].to(merged.dtype)
    return merged


def _merge(
    out: torch.Tensor,
    weight: torch.Tensor,
    places: torch.Tensor | slice,
    part: torch.Tensor,
    part_weight: torch.Tensor,
) -> None:
    """Put two parts of a softmax together, in place."""
    out[places], weight[places] = _joined(out[places], weight[places], part, part_weight)


def _joined(
    out: torch.Tensor, weight: torch.Tensor, part: torch.Tensor, part_weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    # share = exp(b) / (exp(a) + exp(b)), without leaving the range of float32.
    share = torch.sigmoid(part_weight - weight)[..., None]
    merged = torch.lerp(out.float(), part.float(), share).to(out.dtype)
    return merged, torch.logaddexp(weight, part_weight)


def ragged_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_runs: Ragged,
    key_runs: Ragged,
    causal: bool,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of runs to runs, with the log-sum-exp of each token's scores.

    Returns:
        Tokens × heads × size, and tokens × heads in float32.
    """
    if query.is_cuda:
        return _kernel(query, key, value, query_runs, key_runs, causal, scale)
    return _plain(query, key, value, query_runs, key_runs, causal, scale)


def _kernel(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_runs: Ragged,
    key_runs: Ragged,
    causal: bool,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    from torch.nn.attention.varlen import AuxRequest, varlen_attn

    options: dict[str, Any] = {"enable_gqa": True} if _takes_grouping(varlen_attn) else {}
    out, weight = varlen_attn(
        query,
        key,
        value,
        query_runs.borders,
        key_runs.borders,
        query_runs.longest,
        key_runs.longest,
        return_aux=AuxRequest(lse=True),
        scale=scale,
        window_size=(-1, 0) if causal else (-1, -1),
        **options,
    )
    # The kernel gives heads × tokens.
    return out, weight.transpose(0, 1).contiguous()


def _takes_grouping(function: Any) -> bool:
    """Newer versions want to be told of grouped heads, older ones find out by themselves."""
    import inspect

    return "enable_gqa" in inspect.signature(function).parameters


def _plain(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_runs: Ragged,
    key_runs: Ragged,
    causal: bool,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the kernel computes, spelled out run by run."""
    groups = query.shape[1] // key.shape[1]
    out = query.new_empty(*query.shape[:2], value.shape[2])
    weight = query.new_empty(query.shape[:2], dtype=torch.float32)
    starts, ends = query_runs.borders[:-1].tolist(), query_runs.borders[1:].tolist()
    lows, highs = key_runs.borders[:-1].tolist(), key_runs.borders[1:].tolist()
    for start, end, low, high in zip(starts, ends, lows, highs, strict=True):
        heads = query[start:end].transpose(0, 1).float()
        keys = key[low:high].transpose(0, 1).repeat_interleave(groups, 0).float()
        values = value[low:high].transpose(0, 1).repeat_interleave(groups, 0).float()
        scores = heads @ keys.transpose(1, 2) * scale
        if causal:
            ahead = torch.ones(end - start, high - low, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(ahead.to(scores.device), float("-inf"))
        found = torch.softmax(scores, -1) @ values
        out[start:end] = found.transpose(0, 1).to(out.dtype)
        weight[start:end] = scores.logsumexp(-1).T
    return out, weight
