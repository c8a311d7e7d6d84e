"""The KV cache of continuous batching: tensors that are allocated once and written in place.

Every row keeps the token at position p in slot p, whatever its neighbours do. So rows of different
lengths stand side by side without padding before them, enter where others left, and never move
because another row grew. Any model works with it. `paged_cache` saves memory for rows of very
different length, but needs kernels of its own; here the scheduler keeps lengths similar instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import Cache

from tenbin.backends.hf.model.prefix_tree import Ids

PrefixStates = dict[int, tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of a stretch of tokens, by layer."""

STRIDE = 16
"""Lengths are rounded up to it: attention kernels that take a mask want it aligned."""


class SlotCache(Cache):
    """A cache whose rows are written and read at their own positions."""

    reach_stride = 32
    """Shapes of captured steps: coarse enough to recur, fine enough not to read much in vain."""
    has_groups = False
    """Whether rows read anything together."""

    def __init__(self, rows: int, length: int) -> None:
        """Prepare a cache; its tensors are allocated when a layer first writes.

        Args:
            rows: Rows it holds.
            length: Most tokens per row.
        """
        super().__init__(layers=[])
        self.rows = rows
        self.length = rounded_up(length)
        self._states: PrefixStates = {}
        self._start = 0
        self._stop = rows
        self._past = 0
        self._reach = 0
        self._positions: torch.Tensor | None = None
        """Slot of each new token in a decode step; None in prefill."""
        self._owners: torch.Tensor | None = None
        """Row of each new token; None if each of the first rows has one."""

    def enter(self, start: int, prompts: Sequence[Ids], lengths: Sequence[int]) -> int:
        """Return how many prompts have room in the rows from `start` on: all of them."""
        return len(prompts)

    def release(self, rows: Sequence[int]) -> None:
        """Do nothing: the next job of a row overwrites its slots."""

    def begin_write(self) -> None:
        """Do nothing: where a row is written needs no table."""

    def first_slot(self, row: int) -> int:
        """Return the first slot that a prefill must write: rows share none."""
        return 0

    def begin_prefill(self, start: int, stop: int, past: int) -> None:
        """Let the next forward pass write after the first `past` tokens of rows start to stop."""
        self._start, self._stop, self._past, self._positions = start, stop, past, None

    def begin_decode(self, positions: torch.Tensor, reach: int) -> None:
        """Let the next forward pass write one token into each of the first rows.

        Args:
            positions: The slot of each row's token.
            reach: Slots that are read, at least one more than the largest position.
        """
        self._start, self._stop, self._positions = 0, len(positions), positions
        self._owners = None
        self._reach = min(self.length, rounded_up(reach))
        self._past = self._reach - 1

    def begin_drafts(self, positions: torch.Tensor, reach: int, owners: torch.Tensor) -> None:
        """Let the next forward pass write one or several tokens into each of the first rows.

        Args:
            positions: The slot of each token.
            reach: Slots that are read, at least one more than the largest position.
            owners: The row of each token, rising.
        """
        self.begin_decode(positions, reach)
        self._owners, self._stop = owners, int(owners[-1]) + 1

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_: Any,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write a layer's keys and values and return those that it may attend to."""
        if layer_idx not in self._states:
            self._states[layer_idx] = (self._allocated(key_states), self._allocated(value_states))
        keys, values = self._states[layer_idx]
        if self._positions is None:
            end = self._past + key_states.shape[2]
            rows = slice(self._start, self._stop)
            keys[rows, :, self._past : end] = key_states
            values[rows, :, self._past : end] = value_states
            return keys[rows, :, :end], values[rows, :, :end]
        positions = self._positions.to(keys.device)
        row = self._owners
        if row is None:
            row = torch.arange(self._stop, device=keys.device)
        keys[row, :, positions] = key_states[:, :, 0]
        values[row, :, positions] = value_states[:, :, 0]
        return keys[: self._stop, :, : self._reach], values[: self._stop, :, : self._reach]

    def write_pack(
        self,
        layer: int,
        keys: torch.Tensor,
        values: torch.Tensor,
        sources: torch.Tensor,
        rows: torch.Tensor,
        slots: torch.Tensor,
    ) -> None:
        """Copy what a layer computed of a pack into all rows that share it.

        Args:
            layer: Its number.
            keys: 1 × key heads × tokens × size.
            values: Likewise.
            sources: Which token of the pack is copied, one entry per copy.
            rows: The row it goes to.
            slots: The slot it goes to.
        """
        if layer not in self._states:
            self._states[layer] = (self._allocated(keys), self._allocated(values))
        places = [index.to(keys.device) for index in (sources, rows, slots)]
        for state, new in zip(self._states[layer], (keys, values), strict=True):
            state[places[1], :, places[2]] = new[0].transpose(0, 1)[places[0]]

    def read_prefix(self, row: int, length: int) -> PrefixStates:
        """Return a copy of the first tokens of a row."""
        return {
            layer: (keys[row, :, :length].clone(), values[row, :, :length].clone())
            for layer, (keys, values) in self._states.items()
        }

    def write_prefix(self, prefix: PrefixStates, start: int, stop: int) -> None:
        """Begin rows start to stop with tokens that were computed before."""
        for layer, (keys, values) in prefix.items():
            if layer not in self._states:
                self._states[layer] = (self._allocated(keys[None]), self._allocated(values[None]))
            length = keys.shape[1]
            self._states[layer][0][start:stop, :, :length] = keys
            self._states[layer][1][start:stop, :, :length] = values

    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Copy rows over others."""
        for keys, values in self._states.values():
            origin = torch.tensor(list(sources)).to(keys.device, non_blocking=True)
            target = torch.tensor(list(targets)).to(keys.device, non_blocking=True)
            keys[target, :, : self._reach] = keys[origin, :, : self._reach]
            values[target, :, : self._reach] = values[origin, :, : self._reach]

    def clear(self, rows: Sequence[int]) -> None:
        """Fill rows with zeros; see `_allocated`."""
        for parts in self._states.values() if rows else ():
            for part in parts:
                part[torch.tensor(list(rows)).to(part.device)] = 0

    def token_bytes(self) -> int:
        """Return the memory per token in all layers that have written."""
        return sum(
            part.shape[1] * part.shape[3] * part.element_size()
            for pair in self._states.values()
            for part in pair
        )

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Tokens before the next forward pass's first one."""
        return self._past

    def get_mask_sizes(self, query_length: Any, layer_idx: int = 0) -> tuple[int, int]:
        """Slots that the next forward pass reads, and where they begin."""
        if self._positions is not None:
            return self._reach, 0
        length = query_length if isinstance(query_length, int) else int(query_length.shape[0])
        return self._past + length, 0

    def get_max_length(self, layer_idx: int | None = None) -> int:
        """Most tokens per row."""
        return self.length

    def _allocated(self, states: torch.Tensor) -> torch.Tensor:
        # Zeros: a masked slot still takes part in a product, where garbage could be NaN.
        shape = (self.rows, states.shape[1], self.length, states.shape[3])
        return torch.zeros(shape, dtype=states.dtype, device=states.device)


def rounded_up(length: int) -> int:
    """Return the next multiple of the stride."""
    return -(-length // STRIDE) * STRIDE
