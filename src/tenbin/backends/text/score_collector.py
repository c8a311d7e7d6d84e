"""The account of a scoring run: which rows wait for which inputs, and who is complete.

Shared by all scoring cores, as is the loop that keeps the device busy and survives a memory that
ends. Knows token rows; knows no model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tenbin.backends.text.encoding import Row
from tenbin.records import Failure


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
    """NaN where the logits have no softmax; minus infinity where they shut a token out."""
    greedy: bool


GroupScore = tuple[RowScore, ...] | Failure | None
"""One entry a row; None when memory did not suffice even for one row at a time; a Failure where
there is another reason."""


class ScoringCore(Protocol):
    """Something that scores rows; rungs of the engine's ladder differ in speed only."""

    mode: str
    budget: int
    """Tokens computed at a time; halved where memory ends."""

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done.

        Args:
            groups: The rows of each request.
            known: Groups that need no score. They take part in the making of batches, so that
                those that hold any other group are the same with and without them; batches of
                known groups alone are left out.
        """
        ...


class Desk:
    """Keeps account of which rows wait for which inputs."""

    def __init__(self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()) -> None:
        """Note what every row of every group waits for.

        Args:
            groups: Their rows.
            known: Groups that are never given.
        """
        self._groups = groups
        self._known = frozenset(known)
        self._wanted: dict[tuple[int, ...], dict[tuple[int, ...], list[tuple[int, int]]]] = {}
        self._found: dict[tuple[int, int], RowScore | None] = {}
        self._open = [len(group) for group in groups]
        # Longest first: memory runs out at the start or never; a group's rows stay together.
        longest = [max([len(row.ids) for row in group], default=0) for group in groups]
        for number in sorted(range(len(groups)), key=longest.__getitem__, reverse=True):
            for place, row in enumerate(groups[number]):
                wanted = self._wanted.setdefault(row.ids[:-1], {})
                wanted.setdefault(row.ids[-row.scored :], []).append((number, place))
        self.inputs = list(self._wanted)

    def skips(self, batch: Sequence[tuple[int, ...]]) -> bool:
        """Whether nobody waits for anything in a batch; it is then done with."""
        if not self._known:
            return False
        owners = (owner for ids in batch for some in self._wanted[ids].values() for owner in some)
        if not all(number in self._known for number, _ in owners):
            return False
        for ids in batch:
            del self._wanted[ids]
        return True

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
                if self._open[number] == 0 and number not in self._known:
                    yield number, self._complete(number)

    def _complete(self, number: int) -> GroupScore:
        rows = [self._found.pop((number, place)) for place in range(len(self._groups[number]))]
        scores = tuple(row for row in rows if row is not None)
        return scores if len(scores) == len(rows) else None


def total(scores: Sequence[RowScore]) -> float:
    """The sum of rows' log-likelihoods, in double precision."""
    return math.fsum(score.logprob for score in scores)


class Work(Protocol):
    """Inputs that are computed together."""

    @property
    def sequences(self) -> Sequence[tuple[int, ...]]:
        """All inputs that it answers."""
        ...


class Pending(Protocol):
    """Scores that may still be on their way from the device."""

    def scores(self) -> list[tuple[float, bool]]:
        """Wait for them."""
        ...


AnyWork = TypeVar("AnyWork", bound=Work)


def run_works(
    desk: Desk,
    inputs: Sequence[tuple[int, ...]],
    plan: Callable[[Sequence[tuple[int, ...]]], Iterable[AnyWork]],
    launch: Callable[[AnyWork, Sequence[Target]], Pending | None],
    shrink: Callable[[AnyWork], None],
    ahead: bool,
) -> Iterator[tuple[int, GroupScore]]:
    """Compute inputs work by work; where memory ends, plan what is left anew.

    Args:
        desk: Takes the scores.
        inputs: What is to be computed.
        plan: Cuts inputs into works under the core's budget.
        launch: Starts a work and gives its `Pending`; None when memory did not suffice.
        shrink: Lowers the budget below a work that was too large.
        ahead: Start a work before the one before it is waited for.
    """
    waiting: list[tuple[Sequence[tuple[int, ...]], Pending | None]] = []

    def finish(keep: int) -> Iterator[tuple[int, GroupScore]]:
        while len(waiting) > keep:
            sequences, pending = waiting.pop(0)
            yield from desk.collect(sequences, None if pending is None else pending.scores())

    left = inputs
    while left:
        begun: list[Sequence[tuple[int, ...]]] = []
        cramped = False
        for work in plan(left):
            if desk.skips(work.sequences):
                begun.append(work.sequences)
                continue
            pending = launch(work, desk.targets(work.sequences))
            if pending is None and len(work.sequences) > 1:
                # Nothing that was answered is lost, and what still runs is answered first.
                shrink(work)
                cramped = True
                break
            begun.append(work.sequences)
            waiting.append((work.sequences, pending))
            yield from finish(1 if ahead else 0)
        yield from finish(0)
        if not cramped:
            return
        known = {ids for sequences in begun for ids in sequences}
        left = [ids for ids in left if ids not in known]
