"""A causal model that reads into a slot cache: whole stretches, or one token a row.

Knows the model's forward; knows no request and no text.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.generation.row_positions import keys_uncopied, rows_at
from tenbin.backends.hf.kernels.tree_attention import (
    NAME,
    active_plan,
    attention_of,
    make_plan,
    register,
)
from tenbin.backends.hf.model.memory import input_device, send
from tenbin.backends.hf.model.prefix_tree import Pack


class Reader:
    """A model whose cache is a `SlotCache`."""

    def __init__(self, model: Any) -> None:
        """Look at the model's forward once.

        Args:
            model: A transformers causal language model in eval mode.
        """
        self.model = model
        self.device = input_device(model)
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        names = inspect.signature(base.forward).parameters
        self._options: dict[str, Any] = {"use_cache": True}
        if "logits_to_keep" in names:
            self._options["logits_to_keep"] = 1
        parts = set(getattr(base, "hf_device_map", {}).values())
        self.can_record = self.device.type == "cuda" and len(parts) <= 1
        """Whether a step's kernels can be recorded: one device, and nothing fetched from others."""

    def fill(self, cache: SlotCache, rows: Sequence[Sequence[int]], start: int, past: int) -> None:
        """Read stretches of tokens after the first `past` ones of consecutive rows.

        Shorter stretches are padded on the right, where no token of the row looks; what the
        padding leaves in the cache is written over before any mask lets it be read.
        """
        longest = max(len(row) for row in rows)
        if not longest:
            return
        cache.fill(start, start + len(rows), past)
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        positions = torch.arange(past, past + longest)[None].expand(len(rows), -1)
        with keys_uncopied(self.device):
            self.model(
                input_ids=ids.to(self.device, non_blocking=True),
                position_ids=positions.to(self.device, non_blocking=True),
                past_key_values=cache,
                **self._options,
            )

    def fill_pack(self, cache: SlotCache, pack: Pack, rows: Sequence[Sequence[int]]) -> None:
        """Read a pack, and write what it computes into all rows that begin with it.

        Args:
            cache: Holds the rows; what they held before is lost.
            pack: Sequences, each distinct beginning once.
            rows: The rows of each sequence.
        """
        register()
        sources: list[int] = []
        targets: list[int] = []
        slots: list[int] = []
        for number, owners in enumerate(rows):
            places = pack.places(number)
            for row in owners:
                sources += places
                targets += [row] * len(places)
                slots += range(len(places))
        copies = [send(numbers, self.device) for numbers in (sources, targets, slots)]
        plan = make_plan(pack, self.device)

        def keep(layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
            cache.copy(layer, keys, values, *copies)

        plan.keep = keep
        with attention_of(self.model, NAME), active_plan(plan):
            self.model(
                input_ids=send(pack.ids, self.device)[None],
                position_ids=plan.positions[None],
                **{**self._options, "use_cache": False},
            )

    def step(
        self, cache: SlotCache, tokens: torch.Tensor, positions: torch.Tensor, reach: int
    ) -> torch.Tensor:
        """Read one token of each of the first rows.

        Args:
            cache: What the rows have read before.
            tokens: A token a row, on the model's device.
            positions: Where it stands in its row.
            reach: The largest position and one more.

        Returns:
            The logits that follow, rows × vocabulary.
        """
        cache.extend(positions, reach)
        with rows_at(positions):
            output = self.model(
                input_ids=tokens[:, None],
                position_ids=positions[:, None],
                past_key_values=cache,
                **self._options,
            )
        logits: torch.Tensor = output.logits[:, -1]
        return logits
