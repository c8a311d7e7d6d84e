"""Lists of key tiles for the tree attention kernel: which keys each tile of queries attends to.

A pack is laid out depth first, so that one number per key says who attends to it: query i attends
to key j where j <= i < end(j), the end of all tokens below j's segment. Queries and keys are taken
in tiles; a tile of keys is skipped, read whole, or read under that rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from tenbin.backends.hf.model.memory import send
from tenbin.backends.hf.model.prefix_tree import Pack

Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Tiles:
    """What the kernel needs besides queries, keys and values; the same for all layers."""

    ends: torch.Tensor
    """Where the tokens that attend to each token end; int32."""
    positions: torch.Tensor
    """Of each token in its sequences; int32."""
    listed: torch.Tensor
    """Numbers of key tiles, query tile by query tile: first those that are read whole; int32."""
    borders: torch.Tensor
    """Where each query tile's list, and the mixed tiles in it, begin; and the end of all; int32."""


def subtree_ends(pack: Pack) -> list[int]:
    """Return where the tokens below each segment end; depth-first layout keeps them together."""
    ends = [segment.start + segment.length for segment in pack.segments]
    for number in range(len(pack.segments) - 1, -1, -1):
        parent = pack.segments[number].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[number])
    return ends


def plan_tiles(pack: Pack, window: int | None, rows: int, keys: int, device: Any) -> Tiles:
    """Make the lists of key tiles for a pack.

    Args:
        pack: The pack.
        window: Sliding window; None for none.
        rows: Queries per tile; a multiple of `keys`.
        keys: Keys per tile.
        device: Where the kernel runs.
    """
    # numpy: the GPU waits for this, and torch would wake all cores for work that one does at once.
    lengths = [segment.length for segment in pack.segments]
    ends = np.repeat(np.array(subtree_ends(pack), dtype=np.int32), lengths)
    positions = np.array(pack.positions, dtype=np.int32)
    starts = np.arange(0, len(pack), rows)[:, None]
    stops = np.minimum(starts + rows, len(pack))
    begins = np.arange(0, len(pack), keys)[None, :]
    # No key stands beyond the pack: a tile that reaches there is never whole.
    least, most = _extremes(ends, keys, 0)
    read = (begins < stops) & (most[None, :] > starts)
    whole = read & (begins + keys - 1 <= starts) & (least[None, :] >= stops)
    if window is not None:
        first, last = (found[:, None] for found in _extremes(positions, rows, None))
        low, high = (found[None, :] for found in _extremes(positions, keys, None))
        read &= first - high < window
        whole &= read & (last - low < window)
    mixed = read & ~whole
    listed = np.nonzero(np.concatenate([whole, mixed], axis=1))[1] % begins.shape[1]
    counts = np.stack([whole.sum(1), mixed.sum(1)], axis=1).ravel()
    borders = np.concatenate([[0], counts.cumsum()])
    return Tiles(
        *(
            send(torch.from_numpy(part.astype(np.int32)), device)
            for part in (ends, positions, listed, borders)
        )
    )


def _extremes(values: Numbers, size: int, filler: int | None) -> tuple[Numbers, Numbers]:
    """Return the smallest and the largest of every `size` values; None pads with the last one."""
    missing = -len(values) % size
    last = values[-1] if filler is None else filler
    tiles = np.concatenate([values, np.full(missing, last, dtype=values.dtype)]).reshape(-1, size)
    return tiles.min(1), tiles.max(1)
