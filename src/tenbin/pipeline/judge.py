"""Judge every document once, as soon as it has all its answers.

What is judged goes to disk at once. Partial scores, scores, groups and samples all read these
outcomes; nothing is judged a second time.
"""

from __future__ import annotations

import math
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter

from tenbin.files.disk_list import CHUNK, DiskList, chunks
from tenbin.journal.answers import Answers
from tenbin.metrics.judge import judge
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.plan import Plan, Planned
from tenbin.pipeline.progress import ProgressCounter
from tenbin.records import Cell, Outcome, Picked, Prompt, Response, Scores, Task, Text
from tenbin.records.quick import quick
from tenbin.results.samples import Lengths, failure_of
from tenbin.timing import stage

PORTION = 500
"""Answers that are judged together: looking up their documents one by one would take longer, and
a backend that computes in batches is not held up after each answer."""

_NOT_JUDGED = -1
_outcome_values = attrgetter(*(one.name for one in fields(Outcome) if one.name != "cell"))
_Values = tuple[tuple[object, ...], ...]
_Replies = tuple[Response, Response | None, tuple[Response, ...]]


@quick
@dataclass(frozen=True, slots=True)
class Judged:
    """A document with its answers and what the metrics say of it."""

    planned: Planned
    response: Response
    unconditional: Response | None
    outcomes: tuple[Outcome, ...]
    further: tuple[Response, ...] = ()
    """The second and later answers, where several were sampled."""


def judge_planned(task: Task, planned: Planned, answers: Mapping[str, Response]) -> Judged:
    """Judge one document, all of whose answers are among `answers`."""
    response = answers[planned.key]
    bare = answers[planned.unconditional_key] if planned.unconditional_key else None
    further = tuple(answers[key] for key in planned.further_keys)
    outcomes = judge(task, planned.prompt, response, bare, further)
    return Judged(planned, response, bare, tuple(outcomes), further)


@dataclass(slots=True)
class CellCounts:
    """What result.json counts of a cell beside its scores, one document at a time."""

    documents: int = 0
    shortened: int = 0
    """Documents that lost examples, because the window is too short."""
    dropped_examples: int = 0
    truncated: int = 0
    """Documents that were truncated from the left."""
    lengths: Lengths = field(default_factory=Lengths)
    scored: int = 0
    """Documents whose choices were scored by log-likelihood."""
    named: Counter[str] = field(default_factory=Counter)
    """Documents whose choice was named, by how."""
    _failures: Counter[str] = field(default_factory=Counter)
    _first_failed: dict[str, int] = field(default_factory=dict)
    _shares: array[float] = field(default_factory=lambda: array("d"))

    def add(
        self,
        prompt: Prompt,
        answers: Sequence[Response],
        bare: Response | None,
        outcomes: Sequence[Outcome] = (),
        number: int = 0,
    ) -> None:
        """Count one more document.

        Args:
            prompt: As it was asked.
            answers: All answers to it.
            bare: The answer without the prompt, where one was asked for.
            outcomes: What the metrics say of it.
            number: Its place in the plan.
        """
        self.documents += 1
        self.shortened += prompt.dropped_examples > 0
        self.dropped_examples += prompt.dropped_examples
        self.truncated += any(isinstance(a, Scores | Text) and a.truncated > 0 for a in answers)
        failed = failure_of((*answers, bare), outcomes)
        if failed is not None:
            reason = f"{failed.kind}: {failed.message}"
            self._failures[reason] += 1
            self._first_failed[reason] = min(number, self._first_failed.get(reason, number))
        for answer in answers:
            self.lengths.add(answer)
        first = answers[0]
        self.scored += isinstance(first, Scores)
        if isinstance(first, Picked):
            self.named[first.way] += 1
            if first.logprobs:
                shown = (value for value in first.logprobs if value is not None)
                self._shares.append(math.fsum(map(math.exp, shown)))

    @property
    def failures(self) -> dict[str, int]:
        """Documents by the reason of their failure, the most frequent first.

        Documents come in any order. Among equals the reason that the plan meets first comes first,
        so that a result does not depend on who was answered first.
        """
        reasons = sorted(self._failures, key=lambda r: (-self._failures[r], self._first_failed[r]))
        return {reason: self._failures[reason] for reason in reasons}

    @property
    def letter_share(self) -> float | None:
        """Mean probability that the first token is one of the labels; None if nothing showed it."""
        return math.fsum(self._shares) / len(self._shares) if self._shares else None


class JudgedDocuments:
    """Judged documents on disk. They come in any order and are read in the order of the plan."""

    def __init__(self, plan: Plan) -> None:
        """None yet."""
        self._plan = plan
        self._places = array("q", [_NOT_JUDGED]) * len(plan)
        """Where each document of the plan lies in the two lists."""
        self._replies: DiskList[_Replies] = DiskList()
        # Apart from the answers, because scores need the outcomes alone.
        self._outcomes: DiskList[_Values] = DiskList()
        self.counts_by_cell = {cell: CellCounts() for cell in plan.spans}

    def add(self, one: Judged) -> None:
        """Keep one more document."""
        planned = one.planned
        answers = (one.response, *one.further)
        while len(self._outcomes) < len(self._replies):
            self._outcomes.append(())  # in place of one that a signal cut short
        self._replies.append((one.response, one.unconditional, one.further))
        # The cell is the same in all outcomes of a document, and the plan knows it.
        self._outcomes.append(tuple(map(_outcome_values, one.outcomes)))
        counts = self.counts_by_cell[planned.prompt.cell]
        counts.add(planned.prompt, answers, one.unconditional, one.outcomes, planned.number)
        # Last: a document that a signal cut short counts as not judged.
        self._places[planned.number] = len(self._outcomes) - 1

    def __len__(self) -> int:
        return sum(counts.documents for counts in self.counts_by_cell.values())

    def __contains__(self, number: int) -> bool:
        """Whether the document of this number in the plan is judged."""
        return self._places[number] != _NOT_JUDGED

    def missing_between(self, start: int, stop: int) -> bool:
        """Whether a document of these numbers is not judged yet."""
        return _NOT_JUDGED in self._places[start:stop]

    def read(self, planned: Planned) -> Judged:
        """One judged document again."""
        place = self._places[planned.number]
        first, bare, further = self._replies[place]
        outcomes = _unpack(planned.prompt.cell, self._outcomes[place])
        return Judged(planned, first, bare, outcomes, further)

    def __iter__(self) -> Iterator[Judged]:
        for cell in self._plan.spans:
            for chunk in self._plan.planned(cell):
                yield from (self.read(planned) for planned in chunk if planned.number in self)

    def outcomes(self, cell: Cell) -> Iterator[tuple[Outcome, ...]]:
        """What the metrics say of each document of a cell, sorted by document."""
        return (outcomes for _, outcomes in self.numbered_outcomes(cell))

    def numbered_outcomes(self, cell: Cell) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
        """The same, each with the document's place in the plan."""
        numbers = (n for n in self._plan.numbers_by_document(cell) if n in self)
        return ((n, _unpack(cell, self._outcomes[self._places[n]])) for n in numbers)

    def keys_by_document(self, cell: Cell) -> Iterator[tuple[str, str]]:
        """Pairs of a document and a key of what was asked about it, sorted."""
        return (
            (document, key)
            for number, document, key in self._plan.keys_by_document(cell)
            if number in self
        )


def _unpack(cell: Cell, packed: _Values) -> tuple[Outcome, ...]:
    return tuple(Outcome(cell, *values) for values in packed)  # type: ignore[arg-type]


class Judge:
    """Judges documents as their answers arrive; those that earlier runs answered, in between."""

    def __init__(
        self,
        setups: Sequence[CellSetup],
        plan: Plan,
        answers: Answers,
        on_judged: Callable[[Judged], None] = lambda one: None,
    ) -> None:
        """Nothing is judged yet.

        Args:
            setups: The cells.
            plan: Their prompts.
            answers: Where all answers of the run are kept.
            on_judged: Called with each document once.
        """
        self.judged = JudgedDocuments(plan)
        self._tasks = {setup.cell: setup.task for setup in setups}
        self._plan, self._answers, self._on_judged = plan, answers, on_judged
        self._fresh: dict[str, Response] = {}
        """Answers whose documents were not looked up yet."""
        self._known: Iterator[bool] = iter(())
        """Judges answers of earlier runs, a portion at each step."""

    def known(self, count: int) -> None:
        """So many answers are there from earlier runs; called before any new one arrives."""
        if count:
            self._known = self._judge_in_plan_order()

    def answered(self, key: str, response: Response) -> None:
        """A new answer, which is settled and kept already."""
        self._fresh[key] = response
        if len(self._fresh) >= PORTION:
            self.judge_fresh()

    def judge_fresh(self) -> None:
        """Judge the documents that the answers of this portion have completed."""
        fresh, self._fresh = self._fresh, {}
        if fresh:
            self._judge_completed(fresh)

    def judge_known(self, seconds: float) -> None:
        """Judge documents that earlier runs have answered, for about so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not next(self._known, False):
                return

    @stage("judging")
    def judge_rest(self, report: Callable[[str, int, int], None]) -> None:
        """Judge all that is left, once every answer is there; what is held back is not.

        Args:
            report: Called with the progress: `Listener.prepare`.
        """
        self.judge_fresh()
        left = len(self._plan) - self._plan.held - len(self.judged)
        counter = ProgressCounter(report, "judging", left)
        for portion in self._not_judged():
            answers = self._answers.read([key for one in portion for key in one.keys])
            for planned in counter.through(portion):
                self._add(planned, answers)

    def _judge_completed(self, fresh: Mapping[str, Response]) -> None:
        for chunk in chunks(self._plan.completed_by(list(fresh))):
            waiting = [one for one in chunk if self._waits(one.number)]
            earlier = {key for one in waiting for key in one.keys if key not in fresh}
            answers = {**fresh, **self._answers.read(list(earlier))} if earlier else fresh
            for planned in waiting:
                self._add(planned, answers)

    def _judge_in_plan_order(self) -> Iterator[bool]:
        """Judge whatever is answered by now, a portion at each step."""
        for portion in self._not_judged():
            answers = self._answers.find([key for one in portion for key in one.keys])
            for planned in portion:
                if all(key in answers for key in planned.keys):
                    self._add(planned, answers)
            yield True

    def _not_judged(self) -> Iterator[list[Planned]]:
        for start in range(0, len(self._plan), CHUNK):
            stop = min(start + CHUNK, len(self._plan))
            missing = self.judged.missing_between(start, stop)
            if missing and any(map(self._waits, range(start, stop))):
                found = self._plan.between(start, stop)
                yield [planned for planned in found if self._waits(planned.number)]

    def _waits(self, number: int) -> bool:
        """Whether a document is asked and not judged yet."""
        return number not in self.judged and not self._plan.holds(number)

    def _add(self, planned: Planned, answers: Mapping[str, Response]) -> None:
        one = judge_planned(self._tasks[planned.prompt.cell], planned, answers)
        self.judged.add(one)
        self._on_judged(one)

    def answered_part(self, seconds: float) -> JudgedDocuments:
        """The documents that have all their answers, as many as there is time to look at.

        For a run that is being stopped, maybe in the middle of `add`: judged documents are copied,
        and counted anew, in the order of the plan.
        """
        until = time.monotonic() + seconds
        part = JudgedDocuments(self._plan)
        for cell, task in self._tasks.items():
            for chunk in self._plan.planned(cell):
                if time.monotonic() > until:
                    return part
                chunk = [one for one in chunk if not self._plan.holds(one.number)]
                rest = [one for one in chunk if one.number not in self.judged]
                answers = self._answers.find([key for one in rest for key in one.keys])
                for planned in chunk:
                    if planned.number in self.judged:
                        part.add(self.judged.read(planned))
                    elif all(key in answers for key in planned.keys):
                        part.add(judge_planned(task, planned, answers))
        return part
