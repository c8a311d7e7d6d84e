"""Keys and values of many rows in tensors that are made once and written in place.

Every row keeps the token at position p in slot p, whatever its neighbours do: rows of different
lengths stand side by side without padding before them, enter where others left and never move
because another row grew. Knows tensors and transformers' cache interface; knows no request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import Cache

Prefix = dict[int, tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of one stretch of tokens, by layer."""

STRIDE = 16
"""Lengths are rounded up to it: kernels that take a mask want it aligned."""


class SlotCache(Cache):
    """A cache whose rows are filled and read at their own positions."""

    def __init__(self, rows: int, length: int) -> None:
        """Prepare a cache; its tensors are made when a layer first writes.

        Args:
            rows: Rows it holds.
            length: Tokens a row may have.
        """
        super().__init__(layers=[])
        self.rows = rows
        self.length = rounded_up(length)
        self._kept: Prefix = {}
        self._start = 0
        self._stop = rows
        self._past = 0
        self._reach = 0
        self._places: torch.Tensor | None = None

    def fill(self, start: int, stop: int, past: int) -> None:
        """Let the next forward write after the first `past` tokens of some rows."""
        self._start, self._stop, self._past, self._places = start, stop, past, None

    def extend(self, places: torch.Tensor, reach: int) -> None:
        """Let the next forward write one token into each of the first rows.

        Args:
            places: The slot of each row's token.
            reach: Slots that are read, none of them beyond the last place.
        """
        self._start, self._stop, self._places = 0, len(places), places
        self._reach = min(self.length, rounded_up(reach))
        self._past = self._reach - 1

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_: Any,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write what a layer computed and give what it may read."""
        if layer_idx not in self._kept:
            self._kept[layer_idx] = (self._made(key_states), self._made(value_states))
        keys, values = self._kept[layer_idx]
        if self._places is None:
            end = self._past + key_states.shape[2]
            rows = slice(self._start, self._stop)
            keys[rows, :, self._past : end] = key_states
            values[rows, :, self._past : end] = value_states
            return keys[rows, :, :end], values[rows, :, :end]
        places = self._places.to(keys.device)
        row = torch.arange(self._stop, device=keys.device)
        keys[row, :, places] = key_states[:, :, 0]
        values[row, :, places] = value_states[:, :, 0]
        return keys[: self._stop, :, : self._reach], values[: self._stop, :, : self._reach]

    def copy(
        self,
        layer: int,
        keys: torch.Tensor,
        values: torch.Tensor,
        sources: torch.Tensor,
        rows: torch.Tensor,
        slots: torch.Tensor,
    ) -> None:
        """Write what a layer computed of a pack into the rows that begin with it.

        Args:
            layer: Its number.
            keys: 1 × key heads × tokens × size.
            values: Likewise.
            sources: Which token is written, one entry a copy.
            rows: Where to.
            slots: Likewise.
        """
        if layer not in self._kept:
            self._kept[layer] = (self._made(keys), self._made(values))
        places = [index.to(keys.device) for index in (sources, rows, slots)]
        for kept, new in zip(self._kept[layer], (keys, values), strict=True):
            kept[places[1], :, places[2]] = new[0].transpose(0, 1)[places[0]]

    def lift(self, row: int, length: int) -> Prefix:
        """A copy of the first tokens of a row."""
        return {
            layer: (keys[row, :, :length].clone(), values[row, :, :length].clone())
            for layer, (keys, values) in self._kept.items()
        }

    def lay(self, prefix: Prefix, start: int, stop: int) -> None:
        """Begin rows with a stretch that was computed before."""
        for layer, (keys, values) in prefix.items():
            if layer not in self._kept:
                self._kept[layer] = (self._made(keys[None]), self._made(values[None]))
            length = keys.shape[1]
            self._kept[layer][0][start:stop, :, :length] = keys
            self._kept[layer][1][start:stop, :, :length] = values

    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Copy rows over others."""
        for keys, values in self._kept.values():
            origin = torch.tensor(list(sources)).to(keys.device, non_blocking=True)
            target = torch.tensor(list(targets)).to(keys.device, non_blocking=True)
            keys[target, :, : self._reach] = keys[origin, :, : self._reach]
            values[target, :, : self._reach] = values[origin, :, : self._reach]

    def clear(self, rows: Sequence[int]) -> None:
        """Fill rows with zeros; see `_made`."""
        for parts in self._kept.values() if rows else ():
            for part in parts:
                part[torch.tensor(list(rows)).to(part.device)] = 0

    def token_bytes(self) -> int:
        """Memory that one token takes in all layers that have written."""
        return sum(
            part.shape[1] * part.shape[3] * part.element_size()
            for pair in self._kept.values()
            for part in pair
        )

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Tokens before the next forward's first one."""
        return self._past

    def get_mask_sizes(self, query_length: Any, layer_idx: int = 0) -> tuple[int, int]:
        """Slots that the next forward reads, and where they begin."""
        if self._places is not None:
            return self._reach, 0
        length = query_length if isinstance(query_length, int) else int(query_length.shape[0])
        return self._past + length, 0

    def get_max_length(self, layer_idx: int | None = None) -> int:
        """Tokens that a row may have."""
        return self.length

    def _made(self, states: torch.Tensor) -> torch.Tensor:
        # Zeros: a masked slot still takes part in a product, where garbage could be no number.
        shape = (self.rows, states.shape[1], self.length, states.shape[3])
        return torch.zeros(shape, dtype=states.dtype, device=states.device)


def rounded_up(length: int) -> int:
    """The next multiple of the stride."""
    return -(-length // STRIDE) * STRIDE
