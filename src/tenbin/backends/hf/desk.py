"""The account of a scoring run: which rows wait for which inputs, and who is complete.

Shared by all scoring cores. Knows token rows; knows no model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tenbin.backends.hf.encoding import Row


@dataclass(frozen=True, slots=True)
class Target:
    """An answer to score in a batch."""

    row: int
    start: int
    """Position in the row whose logits predict the answer's first token."""
    answer: tuple[int, ...]


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


class Desk:
    """Keeps account of which rows wait for which inputs."""

    def __init__(self, groups: Sequence[Sequence[Row]]) -> None:
        """Note what every row of every group waits for."""
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
