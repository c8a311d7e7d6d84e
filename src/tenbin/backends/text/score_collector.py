"""Scoring engines as the rest of tenbin sees them, and the collector of their scores.

An engine scores rows of token ids. Rows that differ only in their last token share an input, and
rows of one request may be computed in different batches; the collector keeps track of both.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tenbin.backends.text.encoding import Row
from tenbin.records import Failure

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """An answer to score in a batch."""

    row: int
    start: int
    """Position in the row whose logits predict the answer's first token."""
    answer: Ids


@dataclass(frozen=True, slots=True)
class RowScore:
    """Log-likelihood of one row's continuation."""

    logprob: float
    """NaN if the logits have no softmax; minus infinity if they exclude a token."""
    greedy: bool
    """Whether greedy decoding would give the continuation."""


GroupScore = tuple[RowScore, ...] | Failure | None
"""One entry per row; None if memory did not suffice even for one row at a time; a Failure for any
other reason."""


class ScoringEngine(Protocol):
    """Scores rows; engines differ in speed, not in their numbers."""

    mode: str
    """Its name in results."""
    budget: int
    """Tokens per forward pass; halved after an out-of-memory error."""

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, yielding each group as soon as its last row is scored.

        Args:
            groups: The rows of each request.
            known: Groups that need no score. They still take part in forming batches, so that a
                batch that holds any other group is the same with and without them; batches of
                known groups alone are skipped.
        """
        ...


class ScoreCollector:
    """Collects log-probabilities per row and yields a request once all its rows are scored."""

    def __init__(self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()) -> None:
        """Register every row under the input that it needs.

        Args:
            groups: The rows of each request.
            known: Groups that are never yielded.
        """
        self._groups = groups
        self._known = frozenset(known)
        self._waiting: dict[Ids, dict[Ids, list[tuple[int, int]]]] = {}
        """Input → answer → (group, row) that wait for it."""
        self._found: dict[tuple[int, int], RowScore | None] = {}
        self._open = [len(group) for group in groups]
        # Longest first: memory runs out at the start or never. A group's rows stay together.
        longest = [max([len(row.ids) for row in group], default=0) for group in groups]
        for number in sorted(range(len(groups)), key=longest.__getitem__, reverse=True):
            for place, row in enumerate(groups[number]):
                # The last token is only predicted, so rows that differ in it share an input.
                answers = self._waiting.setdefault(row.ids[:-1], {})
                answers.setdefault(row.ids[-row.scored :], []).append((number, place))
        self.inputs = list(self._waiting)
        """Distinct inputs, longest groups first."""

    def skips(self, batch: Sequence[Ids]) -> bool:
        """Whether only known groups wait for a batch; if so, it is dropped."""
        if not self._known:
            return False
        owners = (owner for ids in batch for some in self._waiting[ids].values() for owner in some)
        if not all(number in self._known for number, _ in owners):
            return False
        for ids in batch:
            del self._waiting[ids]
        return True

    def targets(self, batch: Sequence[Ids]) -> list[Target]:
        """Return what is scored in a batch; answers that share an input share its forward pass."""
        return [
            Target(row, len(ids) - len(answer), answer)
            for row, ids in enumerate(batch)
            for answer in self._waiting[ids]
        ]

    def collect(
        self, batch: Sequence[Ids], scores: list[tuple[float, bool]] | None
    ) -> Iterator[tuple[int, GroupScore]]:
        """Take the scores of a batch's targets and yield the groups that are complete now."""
        answers = [owners for ids in batch for owners in self._waiting.pop(ids).values()]
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
    """Return the sum of the rows' log-likelihoods, in double precision."""
    return math.fsum(score.logprob for score in scores)
