"""Plain engine: every distinct input once, right padded, in batches.

It is exact for every causal architecture: what stands to the right of a token never reaches it,
whether positions are learned, rotary, ALiBi or a recurrent state. The faster engines have the same
interface, and the probe measures them against this one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.logprobs import TokenLogprobs
from tenbin.backends.hf.model.prefix_tree import Ids
from tenbin.backends.hf.scoring.base import run_batches
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, ScoreCollector, Target


@dataclass(frozen=True, slots=True)
class PaddedBatch:
    """Inputs side by side."""

    sequences: list[Ids]


class PlainEngine:
    """Scores padded rows, with logits only where something is scored."""

    mode = "plain rows"

    def __init__(self, forward: Forward, batch_size: int | Literal["auto"], budget: int) -> None:
        """Prepare an engine.

        Args:
            forward: The model.
            batch_size: Rows per batch, or `auto` for as many as the budget holds.
            budget: Padded tokens per batch.
        """
        self.forward = forward
        self.batch_size = batch_size
        self.budget = budget

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, yielding each group as soon as its last row is scored."""
        collector = ScoreCollector(groups, known)
        # One batch at a time: padded logits are large, and two batches of them must not coexist.
        return run_batches(
            collector, collector.inputs, self._plan, self._launch, self._shrink, lookahead=False
        )

    def _plan(self, inputs: Sequence[Ids]) -> Iterator[PaddedBatch]:
        batch: list[Ids] = []
        longest = 0
        for ids in inputs:
            if batch and not self._fits(batch[0], len(batch) + 1, max(longest, len(ids)), len(ids)):
                yield PaddedBatch(batch)
                batch, longest = [], 0
            batch.append(ids)
            longest = max(longest, len(ids))
        if batch:
            yield PaddedBatch(batch)

    def _fits(self, first: Ids, rows: int, longest: int, length: int) -> bool:
        if self.batch_size == "auto":
            is_full = rows * longest > self.budget
        else:
            is_full = rows > self.batch_size
        if is_full or self.forward.is_too_wide(rows, longest):
            return False
        return self.forward.length_class(length) == self.forward.length_class(len(first))

    def _launch(self, batch: PaddedBatch, targets: Sequence[Target]) -> TokenLogprobs | None:
        return self.forward.score_rows(batch.sequences, targets)

    def _shrink(self, batch: PaddedBatch) -> None:
        half = len(batch.sequences) // 2
        self.budget = max(1, half * max(len(ids) for ids in batch.sequences))
        if self.batch_size != "auto":
            self.batch_size = half
