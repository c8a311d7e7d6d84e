"""The plain scoring core: every distinct input once, right padded, in batches.

It is exact for every causal architecture: what stands to the right of a token never reaches it,
whether positions are learned, rotary, ALiBi or a recurrent state. Faster cores keep the same
interface and are measured against this one. Knows token rows; knows no text and no request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tenbin.backends.hf.encoding import Row
from tenbin.backends.hf.forward import Forward, Target


@dataclass(frozen=True, slots=True)
class RowScore:
    """What the model says of one row's continuation."""

    logprob: float
    greedy: bool


GroupScore = tuple[RowScore, ...] | None
"""One entry a row; None when memory did not suffice even for one row at a time."""


class ScoringCore(Protocol):
    """Something that scores rows; rungs of the engine's ladder differ in speed only."""

    mode: str

    def score(self, groups: Sequence[Sequence[Row]]) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done."""
        ...


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

    def score(self, groups: Sequence[Sequence[Row]]) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done.

        Args:
            groups: The rows of each request.

        Yields:
            Position of a group and its scores, longest groups first.
        """
        desk = _Desk(groups)
        at = 0
        while at < len(desk.inputs):
            batch = self._next_batch(desk, at)
            at += len(batch)
            for part, scores in self._scored(batch, desk):
                yield from desk.collect(part, scores)

    def _next_batch(self, desk: _Desk, at: int) -> list[tuple[int, ...]]:
        kind = self.forward.length_class(len(desk.inputs[at]))
        batch: list[tuple[int, ...]] = []
        longest, first = 0, len(desk.inputs[at])
        for place in range(at, len(desk.inputs)):
            ids = desk.inputs[place]
            longest, first = max(longest, len(ids)), min(first, desk.first_scored(ids))
            rows = len(batch) + 1
            if batch and self._is_full(rows, longest):
                break
            if batch and self.forward.is_too_wide(rows, longest, first):
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
        self, batch: list[tuple[int, ...]], desk: _Desk
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


class _Desk:
    """Keeps account of which rows wait for which inputs."""

    def __init__(self, groups: Sequence[Sequence[Row]]) -> None:
        self._groups = groups
        self._wanted: dict[tuple[int, ...], dict[tuple[int, ...], list[tuple[int, int]]]] = {}
        self._found: dict[tuple[int, int], RowScore | None] = {}
        self._open = [len(group) for group in groups]
        # Longest first: memory runs out at the start or never; a group's rows stay together.
        order = sorted(
            range(len(groups)), key=lambda at: -max((len(row.ids) for row in groups[at]), default=0)
        )
        for number in order:
            for place, row in enumerate(groups[number]):
                wanted = self._wanted.setdefault(row.ids[:-1], {})
                wanted.setdefault(row.ids[-row.scored :], []).append((number, place))
        self.inputs = list(self._wanted)

    def first_scored(self, ids: tuple[int, ...]) -> int:
        """The earliest position of an input whose logits are needed."""
        return len(ids) - max(len(answer) for answer in self._wanted[ids])

    def targets(self, batch: Sequence[tuple[int, ...]]) -> list[Target]:
        """What is scored in a batch: answers that share an input share its forward."""
        return [
            Target(row, len(ids) - len(answer), answer)
            for row, ids in enumerate(batch)
            for answer in self._wanted[ids]
        ]

    def collect(
        self, batch: Sequence[tuple[int, ...]], scores: list[tuple[float, bool]] | None
    ) -> Iterator[tuple[int, GroupScore]]:
        """Take a batch's scores and give the groups that are complete now."""
        answers = [owners for ids in batch for owners in self._wanted.pop(ids).values()]
        for at, owners in enumerate(answers):
            score = None if scores is None else RowScore(*scores[at])
            for number, place in owners:
                self._found[number, place] = score
                self._open[number] -= 1
                if self._open[number] == 0:
                    yield number, self._complete(number)

    def _complete(self, number: int) -> GroupScore:
        rows = [self._found.pop((number, place)) for place in range(len(self._groups[number]))]
        scores = tuple(row for row in rows if row is not None)
        return scores if len(scores) == len(rows) else None


def total(scores: Sequence[RowScore]) -> float:
    """The sum of rows' log-likelihoods, in double precision."""
    return math.fsum(score.logprob for score in scores)
