"""From answers to judged documents: on disk, in the order of the plan.

What a result says of a whole cell is counted on the way. Knows plan, answers and metrics; sums no
score up.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter

from tenbin.files.disk_list import DiskList
from tenbin.journal.answers import Answers
from tenbin.metrics.judge import judge
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.plan import Plan, Planned
from tenbin.pipeline.progress import ProgressCounter
from tenbin.records import Cell, Outcome, Picked, Prompt, Response, Scores, Task, Text
from tenbin.results.lengths import Lengths
from tenbin.results.rows import failure_of


@dataclass(frozen=True, slots=True)
class Judged:
    """A document with its answer and what the metrics say of it."""

    planned: Planned
    response: Response
    unconditional: Response | None
    outcomes: tuple[Outcome, ...]
    further: tuple[Response, ...] = ()
    """The second and later answers that were drawn."""


@dataclass(slots=True)
class CellCounts:
    """The counts of one cell."""

    documents: int = 0
    shortened: int = 0
    """Documents that lost examples, because the window is too short."""
    dropped_examples: int = 0
    truncated: int = 0
    """Documents that were cut from the left."""
    failures: Counter[str] = field(default_factory=Counter)
    """Documents by what failed them."""
    lengths: Lengths = field(default_factory=Lengths)
    weighed: int = 0
    """Documents whose choices were weighed."""
    named: Counter[str] = field(default_factory=Counter)
    """Documents whose choice was named, by how."""
    _shares: array[float] = field(default_factory=lambda: array("d"))

    def add(
        self,
        prompt: Prompt,
        drawn: Sequence[Response],
        bare: Response | None,
        outcomes: Sequence[Outcome] = (),
    ) -> None:
        """One more document.

        Args:
            prompt: As it was put.
            drawn: All answers to it.
            bare: The answer without the prompt, where one was asked for.
            outcomes: What the metrics say of it.
        """
        self.documents += 1
        self.shortened += prompt.dropped_examples > 0
        self.dropped_examples += prompt.dropped_examples
        self.truncated += any(isinstance(a, Scores | Text) and a.truncated > 0 for a in drawn)
        failed = failure_of((*drawn, bare), outcomes)
        if failed is not None:
            self.failures[f"{failed.kind}: {failed.message}"] += 1
        for answer in drawn:
            self.lengths.add(answer)
        first = drawn[0]
        self.weighed += isinstance(first, Scores)
        if isinstance(first, Picked):
            self.named[first.way] += 1
            if first.logprobs:
                shown = (value for value in first.logprobs if value is not None)
                self._shares.append(math.fsum(map(math.exp, shown)))

    @property
    def letter_share(self) -> float | None:
        """How much of the first token the labels hold on average; None where nothing showed it."""
        return math.fsum(self._shares) / len(self._shares) if self._shares else None


_rest_of_outcome = attrgetter(*(field.name for field in fields(Outcome) if field.name != "cell"))
_Packed = tuple[tuple[object, ...], ...]
_Replies = tuple[Response, Response | None, tuple[Response, ...]]


class JudgedDocuments:
    """The documents of all cells, judged; each is made anew when it is asked for."""

    def __init__(self, plan: Plan) -> None:
        """None yet; they come in the plan's order."""
        self._plan = plan
        self._replies: DiskList[_Replies] = DiskList()
        # Apart: scores are worked out from outcomes alone.
        self._outcomes: DiskList[_Packed] = DiskList()
        self.counts_by_cell: dict[Cell, CellCounts] = {}

    def _append(self, one: Judged) -> None:
        self._replies.append((one.response, one.unconditional, one.further))
        # A cell is the same in all of its outcomes, and known.
        self._outcomes.append(tuple(map(_rest_of_outcome, one.outcomes)))

    def judge_cell(
        self, task: Task, cell: Cell, answers: Answers, counter: ProgressCounter
    ) -> None:
        """Judge the next cell of the plan."""
        assert len(self._outcomes) == self._plan.spans[cell].start, "cells come in the plan's order"
        counts = self.counts_by_cell[cell] = CellCounts()
        for chunk in self._plan.planned(cell):
            found = answers.read([key for one in chunk for key in one.keys])
            for planned in counter.through(chunk):
                one = judge_planned(task, planned, found)
                drawn = (one.response, *one.further)
                counts.add(planned.prompt, drawn, one.unconditional, one.outcomes)
                self._append(one)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __iter__(self) -> Iterator[Judged]:
        for cell, span in self._plan.spans.items():
            replies = self._replies.between(span.start, span.stop)
            outcomes = self._outcomes.between(span.start, span.stop)
            for chunk in self._plan.planned(cell):
                for planned, (first, bare, further), packed in zip(
                    chunk, replies, outcomes, strict=False
                ):
                    yield Judged(planned, first, bare, _unpacked(cell, packed), further)

    def outcomes(self, cell: Cell) -> Iterator[tuple[Outcome, ...]]:
        """What the metrics say of each document of a cell, in the order of documents' names."""
        numbers = self._plan.numbers_by_document(cell)
        return (_unpacked(cell, self._outcomes[number]) for number in numbers)


def _unpacked(cell: Cell, packed: _Packed) -> tuple[Outcome, ...]:
    return tuple(Outcome(cell, *rest) for rest in packed)  # type: ignore[arg-type]


def judge_all(
    setups: Sequence[CellSetup], plan: Plan, answers: Answers, counter: ProgressCounter
) -> JudgedDocuments:
    """Judge every document of every cell."""
    judged = JudgedDocuments(plan)
    for setup in setups:
        judged.judge_cell(setup.task, setup.cell, answers, counter)
    return judged


def judge_planned(task: Task, planned: Planned, answers: Mapping[str, Response]) -> Judged:
    """Judge one document, all of whose answers are there."""
    response = answers[planned.key]
    bare = answers[planned.unconditional_key] if planned.unconditional_key else None
    further = tuple(answers[key] for key in planned.further_keys)
    outcomes = judge(task, planned.prompt, response, bare, further)
    return Judged(planned, response, bare, tuple(outcomes), further)
