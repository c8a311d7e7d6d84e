"""Runs a model on a slot cache: prefill of rows or packs, and decode steps of one token per row."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.kernels.decode_attention import grouped_keys, row_positions
from tenbin.backends.hf.kernels.tree_attention import (
    NAME,
    active_plan,
    attention_of,
    make_plan,
    register,
)
from tenbin.backends.hf.model.memory import input_device, send
from tenbin.backends.hf.model.prefix_tree import Pack

if TYPE_CHECKING:
    from tenbin.backends.hf.generation.fused_decode_triton import FusedDecode
    from tenbin.backends.hf.generation.paged_cache import PagedCache


class ModelRunner:
    """A causal language model whose KV cache is a `SlotCache`."""

    def __init__(self, model: Any, fused: bool = False) -> None:
        """Inspect the model's forward once.

        Args:
            model: A transformers causal language model in eval mode.
            fused: Whether decode steps are fused; the KV cache is then paged.
        """
        self.model = model
        self.device = input_device(model)
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        names = inspect.signature(base.forward).parameters
        self._options: dict[str, Any] = {"use_cache": True}
        if "logits_to_keep" in names:
            self._options["logits_to_keep"] = 1
        parts = set(getattr(base, "hf_device_map", {}).values())
        self.can_capture = self.device.type == "cuda" and len(parts) <= 1
        """Whether a decode step can be captured as a CUDA graph: one device, nothing offloaded."""
        self.fused: FusedDecode | None = None
        if fused:
            # Its kernels need Triton, which is there only with a GPU.
            from tenbin.backends.hf.generation.fused_decode_triton import FusedDecode

            self.fused = FusedDecode(base)

    def prefill(
        self, cache: SlotCache, rows: Sequence[Sequence[int]], start: int, past: int
    ) -> None:
        """Compute tokens that follow the first `past` ones of consecutive rows.

        Shorter rows are padded on the right, where no token of the row attends to; what the
        padding leaves in the cache is overwritten before any mask lets it be read.
        """
        longest = max(len(row) for row in rows)
        if not longest:
            return
        cache.begin_prefill(start, start + len(rows), past)
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        positions = torch.arange(past, past + longest)[None].expand(len(rows), -1)
        with grouped_keys(self.device):
            self.model(
                input_ids=ids.to(self.device, non_blocking=True),
                position_ids=positions.to(self.device, non_blocking=True),
                past_key_values=cache,
                **self._options,
            )

    def prefill_pack(
        self, cache: SlotCache | PagedCache, pack: Pack, rows: Sequence[Sequence[int]]
    ) -> None:
        """Compute a pack and write its keys and values into all rows that share them.

        Args:
            cache: Holds the rows; what they held before is lost.
            pack: Sequences, each distinct prefix once.
            rows: The rows of each sequence.
        """
        register()
        sources: list[int] = []
        targets: list[int] = []
        slots: list[int] = []
        for number, owners in enumerate(rows):
            places = pack.places(number)
            for row in owners:
                first = cache.first_slot(row)
                sources += places[first:]
                targets += [row] * (len(places) - first)
                slots += range(first, len(places))
        copies = [send(numbers, self.device) for numbers in (sources, targets, slots)]
        plan = make_plan(pack, self.device)

        def keep(layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
            cache.write_pack(layer, keys, values, *copies)

        plan.keep = keep
        with attention_of(self.model, NAME), active_plan(plan):
            self.model(
                input_ids=send(pack.ids, self.device)[None],
                position_ids=plan.positions[None],
                **{**self._options, "use_cache": False},
            )

    def decode(
        self,
        cache: SlotCache | PagedCache,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        reach: int,
    ) -> torch.Tensor:
        """Run one decode step on the first rows.

        Args:
            cache: Their keys and values so far.
            tokens: One token per row, on the model's device.
            positions: Its position in each row.
            reach: The largest position plus one.

        Returns:
            The logits that follow, rows × vocabulary.
        """
        cache.begin_decode(positions, reach)
        if not isinstance(cache, SlotCache):
            assert self.fused is not None
            return self.fused.logits(cache, tokens, positions)
        with row_positions(positions):
            return self._logits(cache, tokens, positions)

    def decode_drafts(
        self,
        cache: SlotCache,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        owners: torch.Tensor,
        reach: int,
    ) -> torch.Tensor:
        """Run one decode step in which a row may have several tokens: its newest, then a draft.

        Args:
            cache: The rows' keys and values so far.
            tokens: The tokens of all rows, row by row.
            positions: The position of each.
            owners: The row of each; the first rows, each at least once.
            reach: The largest position plus one.

        Returns:
            The logits that follow each token, tokens × vocabulary.
        """
        cache.begin_drafts(positions, reach, owners)
        with row_positions(positions, owners):
            return self._logits(cache, tokens, positions)

    def _logits(
        self, cache: SlotCache, tokens: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        output = self.model(
            input_ids=tokens[:, None],
            position_ids=positions[:, None],
            past_key_values=cache,
            **self._options,
        )
        logits: torch.Tensor = output.logits[:, -1]
        return logits
