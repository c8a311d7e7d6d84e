"""Attention over a packed tree: every token attends to its ancestors and itself, and nothing else.

Registered with transformers under a name of its own; models that use its attention interface then
run a pack as one row. What a model adds to plain attention (windows, soft caps, sinks) must be
honoured here, or the probe refuses the tree engine for it. On a GPU the whole tree goes through one
kernel (`tree_attention_triton`); elsewhere a pack is attended block by block.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from tenbin.backends.hf.kernels.tiles import Tiles, plan_tiles
from tenbin.backends.hf.model.compilation import register_attention
from tenbin.backends.hf.model.memory import send
from tenbin.backends.hf.model.prefix_tree import Pack, Segment

NAME = "tenbin_tree"


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive tokens of a pack that attend to the same ancestors."""

    start: int
    end: int
    ancestors: tuple[tuple[int, int], ...]
    """Ranges of the pack, from the root down."""
    borders: tuple[int, ...]
    """Where siblings begin inside the block; one entry for a single segment."""

    @property
    def is_root(self) -> bool:
        """Whether plain causal attention over the block is all there is."""
        return not self.ancestors and len(self.borders) == 1

    @property
    def before(self) -> int:
        """Tokens of its ancestors."""
        return sum(end - start for start, end in self.ancestors)

    @property
    def extends_short(self) -> bool:
        """Whether it is one segment, longer than all before it.

        Then causal attention over both costs less than attention under a mask, which computes the
        upper triangle too, although the ancestors' rows are computed again and dropped.
        """
        return len(self.borders) == 1 and 0 < self.before < self.end - self.start


@dataclass(slots=True)
class TreePlan:
    """How one pack is attended; the same for all layers."""

    pack: Pack
    positions: torch.Tensor
    keep: Callable[[int, torch.Tensor, torch.Tensor], None] | None = None
    """Called with every layer's number, keys and values, to prefill a KV cache from the pack."""
    _blocks: list[Block] | None = None
    _tiles: dict[tuple[int | None, torch.device], Tiles] = field(default_factory=dict)
    _masks: dict[tuple[int, int | None], torch.Tensor | None] = field(default_factory=dict)
    _biases: dict[tuple[int, int | None], torch.Tensor | None] = field(default_factory=dict)

    @property
    def blocks(self) -> list[Block]:
        """The pack block by block; made when a layer first needs it."""
        if self._blocks is None:
            self._blocks = plan_blocks(self.pack)
        return self._blocks

    def tiles(self, window: int | None, device: torch.device) -> Tiles:
        """The pack tile by tile, for the kernel; made when a layer first needs it."""
        if (window, device) not in self._tiles:
            from tenbin.backends.hf.kernels.tree_attention_triton import KEYS, ROWS

            self._tiles[window, device] = plan_tiles(self.pack, window, ROWS, KEYS, device)
        return self._tiles[window, device]

    @property
    def depth(self) -> int:
        """Tokens of the longest sequence."""
        return max(segment.depth + segment.length for segment in self.pack.segments)

    def mask(self, number: int, window: int | None) -> torch.Tensor | None:
        """A block's mask; built once, used by every layer with that window."""
        if (number, window) not in self._masks:
            self._masks[number, window] = block_mask(
                self.blocks[number], self.pack.positions, self.positions, window
            )
        return self._masks[number, window]

    def bias(self, number: int, window: int | None, dtype: torch.dtype) -> torch.Tensor | None:
        """A block's mask as numbers to add, made once instead of in every layer."""
        if (number, window) not in self._biases:
            mask = self.mask(number, window)
            self._biases[number, window] = (
                None
                if mask is None
                else torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, float("-inf"))
            )
        return self._biases[number, window]


def plan_blocks(pack: Pack) -> list[Block]:
    """Cut a pack into blocks: siblings without children together, every other segment alone."""
    parents = {segment.parent for segment in pack.segments}
    blocks: list[Block] = []
    gathered: list[Segment] = []

    def close() -> None:
        if gathered:
            first, last = gathered[0], gathered[-1]
            borders = tuple(segment.start for segment in gathered)
            end = last.start + last.length
            blocks.append(Block(first.start, end, _ancestors(pack, first), borders))
            gathered.clear()

    for number, segment in enumerate(pack.segments):
        is_leaf = number not in parents
        if gathered and (not is_leaf or segment.parent != gathered[-1].parent):
            close()
        gathered.append(segment)
        if not is_leaf or segment.parent == -1:
            close()
    close()
    return blocks


def _ancestors(pack: Pack, segment: Segment) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    while segment.parent >= 0:
        segment = pack.segments[segment.parent]
        if ranges and segment.start + segment.length == ranges[-1][0]:
            # A first child follows its parent without a gap.
            ranges[-1] = (segment.start, ranges[-1][1])
        else:
            ranges.append((segment.start, segment.start + segment.length))
    return tuple(reversed(ranges))


def block_mask(
    block: Block, known: Sequence[int], positions: torch.Tensor, window: int | None
) -> torch.Tensor | None:
    """Return which keys each token of a block attends to; None for plain causal attention.

    Args:
        block: The block.
        known: The pack's positions on the host: reading them from the device would wait for it.
        positions: The same on the device.
        window: Sliding window.
    """
    first = block.ancestors[0][0] if block.ancestors else block.start
    reach = max(known[block.start : block.end]) + 1 - known[first]
    if window is not None and window >= reach:
        window = None
    if block.is_root and window is None:
        return None
    length = block.end - block.start
    own = torch.ones(length, length, dtype=torch.bool, device=positions.device).tril()
    for border in block.borders[1:]:
        at = border - block.start
        own[at:, :at] = False
    before = [positions[start:end] for start, end in block.ancestors]
    keys = torch.cat([*before, positions[block.start : block.end]])
    queries = positions[block.start : block.end]
    allowed = torch.ones(length, keys.shape[0] - length, dtype=torch.bool, device=positions.device)
    mask = torch.cat([allowed, own], dim=1)
    if window is not None:
        mask &= queries[:, None] - keys[None, :] < window
    return mask


_NOT_SAID = -1
"""A layer passes no window on; its module may have one."""

_active: list[TreePlan] = []
"""The plan of the pack that is being run; forward passes do not nest."""


@contextmanager
def active_plan(plan: TreePlan) -> Iterator[None]:
    """Use a plan for the forward passes inside."""
    _active.append(plan)
    try:
        yield
    finally:
        _active.pop()


def tree_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = _NOT_SAID,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one layer over the active pack, in transformers' calling convention."""
    plan = _active[-1]
    # A layer that says None has no window, though its module may keep that of other layers.
    window = sliding_window
    if window == _NOT_SAID:
        window = getattr(module, "sliding_window", None)
    if window is not None and window >= plan.depth:
        window = None
    if plan.keep is not None:
        plan.keep(module.layer_idx, key, value)
    if _suits_kernel(query, value):
        from tenbin.backends.hf.kernels.tree_attention_triton import attend

        scale = scaling if scaling is not None else query.shape[-1] ** -0.5
        tiles = plan.tiles(window, query.device)
        found = attend(tiles, query[0], key[0], value[0], scale, window, softcap, s_aux)
        return found[None], None
    out = query.new_empty(*query.shape[:-1], value.shape[-1])
    for number, block in enumerate(plan.blocks):
        keys, values = (_gathered(tensor, block) for tensor in (key, value))
        part = query[:, :, block.start : block.end]
        if softcap is not None or s_aux is not None:
            mask = plan.mask(number, window)
            found = _explicit(part, keys, values, mask, scaling, softcap, s_aux)
        else:
            causal = window is None and block.extends_short
            if causal:
                part = _gathered(query, block)
            bias = None if causal else plan.bias(number, window, query.dtype)
            found = scaled_dot_product_attention(
                part,
                keys,
                values,
                attn_mask=bias,
                is_causal=bias is None,
                scale=scaling,
                enable_gqa=query.shape[1] != key.shape[1],
            )
        # The last rows are the block's own; the ancestors' rows before them are dropped.
        out[:, :, block.start : block.end] = found[:, :, block.start - block.end :]
    return out.transpose(1, 2).contiguous(), None


def _suits_kernel(query: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether the kernel takes these tensors."""
    if not query.is_cuda or no_kernel(query.device) is not None:
        return False
    from tenbin.backends.hf.kernels.tree_attention_triton import takes

    return takes(query, value)


def packs_pay_off(device: torch.device) -> bool:
    """Whether prefill is faster in packs than in padded rows: where the kernel runs."""
    return device.type == "cuda" and no_kernel(device) is None


def no_kernel(device: torch.device) -> str | None:
    """Return why a GPU attends packs block by block; None if it uses the kernel."""
    return _kernel_refusal(device) if device.type == "cuda" else None


@functools.cache
def _kernel_refusal(device: torch.device) -> str | None:
    """Try the kernel: building it needs Triton and a C compiler, which not every machine has."""
    try:
        from tenbin.backends.hf.kernels.tree_attention_triton import KEYS, ROWS, attend

        tiles = plan_tiles(Pack([(0,)], [0], [0], [Segment(0, 0, 1, -1)]), None, ROWS, KEYS, device)
        tokens = torch.ones(1, 1, 16, device=device)
        attend(tiles, tokens, tokens, tokens, 1.0)
    except Exception as error:  # whatever the machine lacks
        words = str(error).strip().splitlines() or ["no reason given"]
        return f"{type(error).__name__}: {words[0][:120]}"
    return None


def _gathered(tensor: torch.Tensor, block: Block) -> torch.Tensor:
    own = tensor[:, :, block.start : block.end]
    if not block.ancestors:
        return own
    if block.ancestors == ((block.ancestors[0][0], block.start),):
        return tensor[:, :, block.ancestors[0][0] : block.end]
    return torch.cat([*(tensor[:, :, a:b] for a, b in block.ancestors), own], dim=2)


def _explicit(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float | None,
    softcap: float | None,
    sinks: torch.Tensor | None,
) -> torch.Tensor:
    """Attention written out, for soft caps and sinks, which the fused kernel does not support."""
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(2, 3) * (scaling or query.shape[-1] ** -0.5)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    if sinks is not None:
        column = sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:2], scores.shape[2], 1)
        scores = torch.cat([scores, column.to(scores.dtype)], dim=-1)
    weights = torch.softmax(scores.float(), dim=-1).to(query.dtype)
    return weights[..., : key.shape[2]] @ value


def register() -> None:
    """Register the attention with transformers; harmless when repeated.

    The plan says what attends to what, so there is no mask.
    """
    register_attention(NAME, tree_attention)


@contextmanager
def attention_of(model: Any, name: str) -> Iterator[None]:
    """Switch a model's attention for the forward passes inside."""
    configs: dict[int, Any] = {}
    for module in model.modules():
        config = getattr(module, "config", None)
        if hasattr(config, "_attn_implementation"):
            configs[id(config)] = config
    before = [(config, config._attn_implementation) for config in configs.values()]
    try:
        for config in configs.values():
            config._attn_implementation = name
        yield
    finally:
        for config, original in before:
            config._attn_implementation = original


def make_plan(pack: Pack, device: Any) -> TreePlan:
    """Return the attention plan of a pack; its positions are the model's `position_ids` too."""
    return TreePlan(pack, send(pack.positions, device))
