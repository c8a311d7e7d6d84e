"""The continuous batching scheduler: which jobs share a batch, and how many rows it has.

The steps themselves are `decode`'s: prompts are prefilled when rows are free, and a row leaves as
soon as its answer is complete.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import torch

from tenbin.backends.finite import not_finite
from tenbin.backends.hf.generation.decode import AnyCache, DecodeBatch
from tenbin.backends.hf.generation.kv_cache import SlotCache, rounded_up
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.prefill import PackedPrefill, PaddedPrefill, Prefill
from tenbin.backends.hf.generation.sampler import Sampler
from tenbin.backends.hf.generation.shared_prefixes import prefix_groups
from tenbin.backends.hf.model.compilation import Compilation
from tenbin.backends.hf.model.memory import (
    is_out_of_memory,
    promised_memory,
    release_memory,
)
from tenbin.backends.hf.model.prefix_tree import Ids
from tenbin.backends.hf.model.ram import free_ram
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.records import Failure, Text

_ROWS = {"cuda": 256}
_ROWS_ELSEWHERE = 32
"""Rows per step: beyond these a step's time grows as fast as its rows."""
_ROWS_FUSED = 512
"""More rows do not make a fused step slower per row, and fewer prompts wait while others end."""
_SPARE = {"cuda": 768}
_SPARE_ELSEWHERE = 32
"""Tokens of padding that cost as much as another forward pass."""
_SHORT = 256
"""Jobs of up to so many tokens share a batch whatever their lengths."""
_UNLIKE = {"cpu": 6}
_UNLIKE_ELSEWHERE = 2
"""How many times as long as another job of its batch a job may be. On a CPU a short row is not read
as far as a long one, and a step with few rows costs nearly as much as one with many."""
_UNLIKE_PAGED = 1 << 20
"""Rows in pages take no more memory and time than they need themselves."""
_UNKNOWN_MEMORY = 4 << 30


class Scheduler:
    """Decodes jobs in batches whose rows are refilled."""

    mode = "own loop, shared prefix"
    """Its name in results."""

    def __init__(
        self,
        model: Any,
        criteria: StopCriteria,
        batch_size: int | Literal["auto"],
        budget: int,
        token_bytes: int,
        compilation: Compilation | None = None,
        memory_share: float | None = None,
        drafts: bool = False,
        fused: bool = False,
    ) -> None:
        """Prepare a scheduler.

        Args:
            model: A transformers causal language model in eval mode.
            criteria: Say where completions stop.
            batch_size: Rows per step, or `auto` for as many as memory holds.
            budget: Padded tokens per prefill.
            token_bytes: Memory per token in the KV cache.
            compilation: When packs are prefilled by compiled layers; None to prefill padded rows
                instead of packs.
            memory_share: Part of the device's memory to count on; None: what is free.
            drafts: Whether a greedy step may read several tokens of a row.
            fused: Whether decode steps are fused, over a paged cache; needs packs.
        """
        self._runner = ModelRunner(model, fused)
        self._compilation = compilation
        if compilation is not None:
            self.mode = f"{type(self).mode}, prompts in packs"
        self._drafts = drafts
        if drafts:
            self.mode = f"{self.mode}, drafts"
        if fused:
            self.mode = f"{self.mode}, fused steps"
        self._criteria = criteria
        self._batch_size = batch_size
        self._budget = budget
        self._token_bytes = max(1, token_bytes)
        kind = self._runner.device.type
        self._most_rows = _ROWS_FUSED if fused else _ROWS.get(kind, _ROWS_ELSEWHERE)
        self._spare = _SPARE.get(kind, _SPARE_ELSEWHERE)
        self._unlike = _UNLIKE_PAGED if fused else _UNLIKE.get(kind, _UNLIKE_ELSEWHERE)
        self._lookahead = kind == "cuda"
        self._share = memory_share
        self._initial_sizes = self._sizes

    @property
    def _sizes(self) -> tuple[int, int, int | Literal["auto"]]:
        return self._most_rows, self._budget, self._batch_size

    @_sizes.setter
    def _sizes(self, sizes: tuple[int, int, int | Literal["auto"]]) -> None:
        self._most_rows, self._budget, self._batch_size = sizes

    def generate(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | Failure | None]]:
        """Generate an answer to every prompt; all jobs have the same sampling.

        Yields:
            A job's position and its answer; None if memory did not suffice even for one row, a
            Failure if the model gives no finite logits.
        """
        if self._share is not None:
            # Undo what an out-of-memory error of earlier jobs has halved: these jobs must be
            # batched as any other worker would batch them.
            self._sizes = self._initial_sizes
        for band in _length_bands(jobs, self._unlike):
            yield from self._generate_band(jobs, band)

    def _generate_band(
        self, jobs: Sequence[Job], band: Sequence[int]
    ) -> Iterator[tuple[int, Text | Failure | None]]:
        """Generate jobs of similar length; after an out-of-memory error, with fewer rows.

        Answers that are complete are kept; the others start again.
        """
        left = dict.fromkeys(band)
        rows, alone = self._rows([jobs[at] for at in band]), False
        before = (rows, self._sizes)
        while left:
            part = list(left)[: 1 if alone else None]
            out_of_memory = False
            try:
                for at, text in self._run(jobs, part, min(rows, len(part))):
                    del left[at]
                    yield at, text
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                out_of_memory = True
            if not out_of_memory:
                continue
            # Outside the except block: the traceback keeps the batch's tensors alive.
            release_memory(self._runner.device)
            if alone:
                del left[part[0]]
                yield part[0], None
                # This job was too long; the others deserve the former sizes.
                alone = False
                rows, self._sizes = before
                continue
            # With one row at a time, the first job may be the one that does not fit: try it alone.
            alone = rows == 1
            rows = self._shrink(min(rows, len(part)))

    def _shrink(self, rows: int) -> int:
        """Halve the tokens per prefill and, for good, the rows per step."""
        self._most_rows = max(1, rows // 2)
        self._budget = max(1, self._budget // 2)
        if self._batch_size != "auto":
            self._batch_size = min(self._batch_size, self._most_rows)
        return self._most_rows

    def _rows(self, jobs: Sequence[Job]) -> int:
        if self._batch_size != "auto":
            return min(self._batch_size, len(jobs))
        if self._runner.fused is not None:
            return min(len(jobs), self._most_rows)
        length = rounded_up(max(job.length for job in jobs))
        fitting = _free_memory(self._runner.device, self._share) // (self._token_bytes * length)
        return max(1, min(len(jobs), self._most_rows, fitting))

    def _cache(self, jobs: Sequence[Job], rows: int) -> AnyCache:
        longest = max(job.length for job in jobs)
        if self._runner.fused is None:
            return SlotCache(rows, longest)
        from tenbin.backends.hf.generation.paged_cache import PAGE, pages_of

        needed = sorted((pages_of(job.length) for job in jobs), reverse=True)
        free = _free_memory(self._runner.device, self._share)
        fitting = free // (self._token_bytes * PAGE)
        # The longest job must have room, whatever is free: if it has not, that is an error of its
        # own, which leads to fewer rows.
        return self._runner.fused.cache(
            rows, longest, max(needed[0], min(sum(needed[:rows]), fitting))
        )

    def _run(
        self, jobs: Sequence[Job], band: Sequence[int], rows: int
    ) -> Iterator[tuple[int, Text | Failure]]:
        chosen = [jobs[at] for at in band]
        prompts = [job.prompt.ids for job in chosen]
        completions = [self._criteria.begin(job) for job in chosen]
        cache = self._cache(chosen, rows)
        batch = DecodeBatch(
            self._runner,
            prompts,
            completions,
            prefix_groups(prompts, self._spare),
            [job.length for job in chosen],
            cache,
            self._prefill(cache, prompts),
            Sampler(chosen[0].sampling),
            [job.seed for job in chosen],
            drafts=self._drafts and chosen[0].sampling is None,
        )
        for at in batch.run(self._lookahead):
            if at in batch.not_finite:
                yield band[at], not_finite(math.nan)
            else:
                yield band[at], completions[at].result(chosen[at].prompt.truncated)

    def _prefill(self, cache: AnyCache, prompts: Sequence[Ids]) -> Prefill:
        if self._compilation is None:
            assert isinstance(cache, SlotCache)
            return PaddedPrefill(self._runner, cache, prompts, self._budget, self._spare)
        return PackedPrefill(self._runner, cache, prompts, self._budget, self._compilation)


def _length_bands(jobs: Sequence[Job], unlike: int) -> list[list[int]]:
    """Group jobs that share a batch, longest first.

    Every row of a cache is as long as its longest job, so short jobs beside a long one would waste
    most of their slots: a band ends where the longest job has more than `unlike` times the tokens.
    """
    bands: list[list[int]] = []
    for at in sorted(range(len(jobs)), key=lambda at: -jobs[at].length):
        longest = jobs[bands[-1][0]].length if bands else 0
        if not bands or (longest > _SHORT and jobs[at].length * unlike < longest):
            bands.append([])
        bands[-1].append(at)
    return bands


def _free_memory(device: torch.device, share: float | None) -> int:
    """Bytes that the KV cache may take; the rest of the memory is for activations."""
    if share is not None and (promised := promised_memory(device, share)) is not None:
        return promised * 6 // 10 if device.type == "cuda" else promised // 3
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return (free + idle) * 6 // 10
    ram = free_ram()
    return _UNKNOWN_MEMORY if ram is None else ram // 3
