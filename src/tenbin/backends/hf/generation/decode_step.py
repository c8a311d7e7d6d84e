"""One decoding step after another on the same tensors; on CUDA the repeated ones are recorded.

A step of a large model launches a thousand small kernels, which takes the host longer than the
device needs to run them. A step of the same shape is therefore recorded the second time and
played back from then on. Knows the reader and the tensors of one batch; knows no answers.
"""

from __future__ import annotations

from typing import Any

import torch

from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.generation.model_runner import Reader
from tenbin.backends.hf.generation.sampler import Choice
from tenbin.backends.hf.model.memory import is_out_of_memory

_ROW_STRIDE = 16
_REACH_STRIDE = 32
"""Shapes of recorded steps: few enough to come again, near enough to what is needed."""


class Stepper:
    """Reads the newest token of every row and chooses the next."""

    def __init__(self, reader: Reader, cache: SlotCache, choice: Choice) -> None:
        """Make a batch's tensors.

        Args:
            reader: The model.
            cache: Its rows.
            choice: How the next tokens are chosen.
        """
        self._reader = reader
        self._cache = cache
        self._choice = choice
        device = reader.device
        self.tokens = torch.zeros(cache.rows, dtype=torch.long, device=device)
        self.places = torch.zeros(cache.rows, dtype=torch.long, device=device)
        self.seeds = torch.zeros(cache.rows, dtype=torch.long, device=device)
        self._records = reader.can_record
        self._seen: set[tuple[int, int]] = set()
        self._graphs: dict[tuple[int, int], tuple[Any, torch.Tensor]] = {}
        self._pool: Any = None

    def step(self, count: int, reach: int) -> torch.Tensor:
        """Move the first rows on by one token.

        Args:
            count: How many rows.
            reach: The largest of their places and one more.

        Returns:
            The new tokens, `NO_TOKEN` where there is none; valid until the next step.
        """
        if not self._records:
            return self._advance(count, reach)[:count]
        # Rows without a job are moved along: their slots are nobody's.
        rows = min(self._cache.rows, -(-count // _ROW_STRIDE) * _ROW_STRIDE)
        reach = min(self._cache.length, -(-reach // _REACH_STRIDE) * _REACH_STRIDE)
        shape = (rows, reach)
        if shape in self._graphs:
            graph, new = self._graphs[shape]
            self._cache.extend(self.places[:rows], reach)
            graph.replay()
            return new[:count]
        if shape in self._seen:
            recorded = self._record(shape)
            if recorded is not None:
                return recorded[:count]
        self._seen.add(shape)
        return self._advance(rows, reach)[:count]

    def _record(self, shape: tuple[int, int]) -> torch.Tensor | None:
        graph: Any = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(self._reader.device)
        try:
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                new = self._advance(*shape)
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            # Some models look at the host in the middle of a step; they go on unrecorded.
            self._records = False
            torch.cuda.synchronize(self._reader.device)
            return None
        self._pool = graph.pool()
        self._graphs[shape] = (graph, new)
        graph.replay()
        return new

    def _advance(self, rows: int, reach: int) -> torch.Tensor:
        tokens, places = self.tokens[:rows], self.places[:rows]
        logits = self._reader.step(self._cache, tokens, places, reach)
        new = self._choice.next(logits, self.seeds[:rows], places).to(tokens.device)
        # A row without a token goes on until the host sees it; the model must be able to read it.
        tokens.copy_(new.clamp(min=0))
        places.add_(1).clamp_(max=self._cache.length - 1)
        return new
