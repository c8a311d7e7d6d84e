"""Generation in rows of one's own: shared beginnings read once, complete rows leave.

Knows jobs, memory and which jobs may share a batch; the steps are `decoding`'s. Where memory ends,
answers that are complete stay and the others begin again in fewer rows. An answer whose logits are
not finite is begun again by itself: neighbours share products with it, see `scoring`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from tenbin.backends.finite import NOT_FINITE, not_finite
from tenbin.backends.hf.generation.decode import Decoding
from tenbin.backends.hf.generation.kv_cache import SlotCache, rounded_up
from tenbin.backends.hf.generation.model_runner import Reader
from tenbin.backends.hf.generation.prefill import Filling, PackedFilling, PaddedFilling
from tenbin.backends.hf.generation.sampler import Choice
from tenbin.backends.hf.generation.shared_prefixes import Ids, families
from tenbin.backends.hf.model.compilation import Compiling
from tenbin.backends.hf.model.memory import is_out_of_memory, promised_memory, release_memory
from tenbin.backends.text.generation_jobs import Job, Pens
from tenbin.records import Failure, Text

_ROWS = {"cuda": 256}
_ROWS_ELSEWHERE = 32
"""Rows a step: beyond these a step's time grows as fast as its rows."""
_SPARE = {"cuda": 768}
_SPARE_ELSEWHERE = 32
"""Tokens of padding that cost as much as another forward."""
_SHORT = 256
"""Jobs up to so many tokens share a batch whatever their lengths."""
_UNKNOWN_MEMORY = 4 << 30


class OwnLoop:
    """Decodes jobs in batches that refill."""

    mode = "own loop, shared prefix"

    def __init__(
        self,
        model: Any,
        pens: Pens,
        batch_size: int | Literal["auto"],
        budget: int,
        token_bytes: int,
        compiling: Compiling | None = None,
        memory_share: float | None = None,
    ) -> None:
        """Prepare a loop.

        Args:
            model: A transformers causal language model in eval mode.
            pens: Begin the answers.
            batch_size: Rows a step, or `auto` for as many as memory holds.
            budget: Padded tokens that are read at a time.
            token_bytes: Memory that a token takes in the cache.
            compiling: When packs of prompts are read by compiled layers; None where prompts are
                read side by side instead.
            memory_share: Part of the device's memory to count on; None: what is free.
        """
        self._reader = Reader(model)
        self._compiling = compiling
        if compiling is not None:
            self.mode = f"{type(self).mode}, prompts in packs"
        self._pens = pens
        self._batch_size = batch_size
        self._budget = budget
        self._token_bytes = max(1, token_bytes)
        kind = self._reader.device.type
        self._most = _ROWS.get(kind, _ROWS_ELSEWHERE)
        self._spare = _SPARE.get(kind, _SPARE_ELSEWHERE)
        self._ahead = kind == "cuda"
        self._share = memory_share
        self._at_first = (self._most, self._budget, self._batch_size)

    def write(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | Failure | None]]:
        """Write an answer to every prompt; all jobs have the same sampling.

        Yields:
            A job's position and its answer; None when memory did not suffice even for one row, a
            Failure where the model gives no finite logits.
        """
        if self._share is not None:
            # Whatever became too much for earlier jobs: these are batched as any worker would.
            self._most, self._budget, self._batch_size = self._at_first
        again: list[int] = []
        for band in _bands(jobs):
            for at, text in self._write_band(jobs, band):
                if isinstance(text, Failure) and text.kind == NOT_FINITE and len(jobs) > 1:
                    again.append(at)
                else:
                    yield at, text
        for at in again:
            yield from self._write_band(jobs, [at])

    def _write_band(
        self, jobs: Sequence[Job], band: Sequence[int]
    ) -> Iterator[tuple[int, Text | Failure | None]]:
        left = dict.fromkeys(band)
        rows, alone = self._rows([jobs[at] for at in band]), False
        before = (rows, self._most, self._budget, self._batch_size)
        while left:
            part = list(left)[: 1 if alone else None]
            cramped = False
            try:
                for at, text in self._run(jobs, part, min(rows, len(part))):
                    del left[at]
                    yield at, text
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                cramped = True
            if not cramped:
                continue
            # Outside the except block: the traceback holds the batch's tensors.
            release_memory(self._reader.device)
            if alone:
                del left[part[0]]
                yield part[0], None
                # It was this one, and no reason to be careful with the others.
                alone = False
                rows, self._most, self._budget, self._batch_size = before
                continue
            # One row that others wait for tells nothing about them: each is tried by itself.
            alone = rows == 1
            rows = self._shrink(min(rows, len(part)))

    def _shrink(self, rows: int) -> int:
        """Halve what is read at a time and, for good, the rows of a step."""
        self._most = max(1, rows // 2)
        self._budget = max(1, self._budget // 2)
        if self._batch_size != "auto":
            self._batch_size = min(self._batch_size, self._most)
        return self._most

    def _rows(self, jobs: Sequence[Job]) -> int:
        if self._batch_size != "auto":
            return min(self._batch_size, len(jobs))
        length = rounded_up(max(job.length for job in jobs))
        held = _free_memory(self._reader.device, self._share) // (self._token_bytes * length)
        return max(1, min(len(jobs), self._most, held))

    def _run(
        self, jobs: Sequence[Job], band: Sequence[int], rows: int
    ) -> Iterator[tuple[int, Text | Failure]]:
        chosen = [jobs[at] for at in band]
        prompts = [job.prompt.ids for job in chosen]
        writings = [self._pens.begin(job) for job in chosen]
        decoding = Decoding(
            self._reader,
            prompts,
            writings,
            families(prompts, self._spare),
            rows,
            max(job.length for job in chosen),
            lambda cache: self._filling(cache, prompts),
            Choice(chosen[0].sampling),
            [job.seed for job in chosen],
        )
        for at in decoding.run(self._ahead):
            if at in decoding.broken:
                yield band[at], not_finite(math.nan)
            else:
                yield band[at], writings[at].result(chosen[at].prompt.truncated)

    def _filling(self, cache: SlotCache, prompts: Sequence[Ids]) -> Filling:
        if self._compiling is None:
            return PaddedFilling(self._reader, cache, prompts, self._budget, self._spare)
        return PackedFilling(self._reader, cache, prompts, self._budget, self._compiling)


def _bands(jobs: Sequence[Job]) -> list[list[int]]:
    """Jobs that share a batch, longest first: rows are as long as the longest of them."""
    bands: list[list[int]] = []
    for at in sorted(range(len(jobs)), key=lambda at: -jobs[at].length):
        longest = jobs[bands[-1][0]].length if bands else 0
        if not bands or (longest > _SHORT and jobs[at].length * 2 < longest):
            bands.append([])
        bands[-1].append(at)
    return bands


def _free_memory(device: torch.device, share: float | None) -> int:
    """Bytes that a cache may take, by what is free or promised: the model's work needs some too."""
    if share is not None and (promised := promised_memory(device, share)) is not None:
        return promised * 6 // 10 if device.type == "cuda" else promised // 3
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return (free + idle) * 6 // 10
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        named = dict(line.split(":", 1) for line in lines)
        return int(named["MemAvailable"].split()[0]) * 1024 // 3
    except (OSError, KeyError, ValueError):
        return _UNKNOWN_MEMORY
