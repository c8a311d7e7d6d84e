"""The plain scoring core: every distinct input once, right padded, in batches.

It is exact for every causal architecture: what stands to the right of a token never reaches it,
whether positions are learned, rotary, ALiBi or a recurrent state. Faster cores keep the same
interface and are measured against this one. Knows token rows; knows no text and no request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import Desk, GroupScore


class PlainRows:
    """Plain rows, duplicates dropped, logits only where something is scored."""

    mode = "plain rows"

    def __init__(self, forward: Forward, batch_size: int | Literal["auto"], budget: int) -> None:
        """Prepare a core.

        Args:
            forward: The model.
            batch_size: Rows a batch, or `auto` for as many as the budget holds.
            budget: Padded tokens a batch.
        """
        self.forward = forward
        self.batch_size = batch_size
        self.budget = budget

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done.

        Args:
            groups: The rows of each request.
            known: Groups that need no score; see `ScoringCore`.

        Yields:
            Position of a group and its scores, longest groups first.
        """
        desk = Desk(groups, known)
        at = 0
        while at < len(desk.inputs):
            batch = self._next_batch(desk, at)
            at += len(batch)
            if desk.skips(batch):
                continue
            for part, scores in self._scored(batch, desk):
                yield from desk.collect(part, scores)

    def _next_batch(self, desk: Desk, at: int) -> list[tuple[int, ...]]:
        kind = self.forward.length_class(len(desk.inputs[at]))
        batch: list[tuple[int, ...]] = []
        longest = 0
        for place in range(at, len(desk.inputs)):
            ids = desk.inputs[place]
            longest = max(longest, len(ids))
            rows = len(batch) + 1
            if batch and self._is_full(rows, longest):
                break
            if batch and self.forward.is_too_wide(rows, longest):
                break
            if self.forward.length_class(len(ids)) != kind:
                break
            batch.append(ids)
        return batch

    def _is_full(self, rows: int, longest: int) -> bool:
        if self.batch_size == "auto":
            return rows * longest > self.budget
        return rows > self.batch_size

    def _scored(
        self, batch: list[tuple[int, ...]], desk: Desk
    ) -> Iterator[tuple[list[tuple[int, ...]], list[tuple[float, bool]] | None]]:
        """Run a batch; where memory ends, halve it and go on."""
        parts = [batch]
        while parts:
            part = parts.pop()
            answer = self.forward.score(part, desk.targets(part))
            if answer is not None or len(part) == 1:
                yield part, answer
                continue
            half = len(part) // 2
            parts += [part[half:], part[:half]]
            self.budget = max(1, half * max(len(ids) for ids in part))
            if self.batch_size != "auto":
                self.batch_size = half
