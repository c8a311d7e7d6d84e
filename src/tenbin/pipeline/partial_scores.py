"""progress.json: the partial scores of a run that goes on.

Documents are answered in the order that suits the engine, so those answered so far are no random
part: what is written says how many documents it rests on, and has a standard error but no interval.
Blocks of `--until` are random parts: after each, a confidence sequence is written, an interval that
holds however often it is looked at.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tenbin.errors import JournalError, StorageError
from tenbin.journal.answers import Answers
from tenbin.metrics.base import Metric
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.judge import Judge, Judged
from tenbin.pipeline.plan import Plan
from tenbin.records import Cell, Response
from tenbin.results.progress import write_progress
from tenbin.statistics.sequential import confidence_sequence

_SECONDS_BETWEEN = 3.0
_SECONDS_FOR_KNOWN = {"asking": 0.3, "judging": 1.0}
"""Time for answers of earlier runs at each writing, by state: new answers must not wait long."""


@dataclass(slots=True)
class _Sums:
    """Sums for a mean and its standard error."""

    metric: Metric
    n: int = 0
    failed: int = 0
    total: float = 0.0
    squares: float = 0.0
    bounded: bool = True
    """Whether all values lie between 0 and the highest there can be."""
    sequence: Mapping[str, float] | None = None
    """The confidence sequence after the last block."""

    def add(self, value: float | None) -> None:
        if value is None:
            self.failed += 1
            return
        self.n += 1
        self.total += value
        self.squares += value * value
        self.bounded &= self.metric.top is not None and 0 <= value <= self.metric.top

    def end_block(self, largest_cluster: int) -> None:
        """Note the confidence sequence of the documents so far, which are a random part."""
        if not self.n or not self.bounded or (top := self.metric.top) is None:
            return
        low, high = confidence_sequence(self.total / top, self.n, largest_cluster)
        self.sequence = {"low": low * top, "high": high * top, "n": self.n}

    def entry(self) -> dict[str, Any]:
        mean = self.total / self.n if self.n else None
        stderr = None
        if mean is not None and self.n > 1:
            spread = max(0.0, self.squares - self.n * mean * mean) / (self.n - 1)
            stderr = math.sqrt(spread / self.n)
        return {
            "value": mean,
            "stderr": stderr,
            "n": self.n,
            "failed": self.failed,
            "higher_is_better": self.metric.higher_is_better,
            "unit": "%" if self.metric.percent else "",
        } | ({"sequence": dict(self.sequence)} if self.sequence is not None else {})


@dataclass(slots=True)
class _Row:
    """What is known of one cell, or of all prompts of a task that a sweep on a budget asks."""

    id: str
    cells: list[Cell]
    sums: dict[str, _Sums]
    """By metric; those whose aggregation is the mean."""
    documents: int = 0
    clusters: Counter[str] | None = None
    """Documents by cluster, where the task asks them in blocks."""


class PartialScores:
    """Sums outcomes up as documents are judged; writes progress.json every few seconds."""

    def __init__(
        self,
        folder: Path | None,
        model: str,
        setups: Sequence[CellSetup],
        plan: Plan,
        answers: Answers,
        notify: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        """Nothing is judged yet.

        Args:
            folder: Of the run; None: nothing is written.
            model: What the user calls it.
            setups: The cells.
            plan: Their prompts.
            answers: Where all answers of the run are kept.
            notify: Called with what is written: `Listener.partial`; None: nobody listens.
        """
        self._folder, self._model, self._plan, self._notify = folder, model, plan, notify
        self._read = folder is not None or notify is not None
        """Whether anybody reads the sums."""
        self.judge = (
            Judge(setups, plan, answers, self._add) if self._read else Judge(setups, plan, answers)
        )
        self._rows = _rows_of(setups)
        self._cells = {cell: row for row in self._rows for cell in row.cells}
        self._answered = 0
        self._started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._written = 0.0

    def known(self, count: int) -> None:
        """So many more answers are there from earlier runs; called before any new one arrives."""
        self._answered += count
        self.judge.known(count)

    def answered(self, key: str, response: Response) -> None:
        """A new answer, which is settled and kept already."""
        self._answered += 1
        self.judge.answered(key, response)
        now = time.monotonic()
        if self._read and now - self._written >= _SECONDS_BETWEEN:
            self._written = now
            self.write("asking")

    def _add(self, one: Judged) -> None:
        row = self._cells[one.planned.prompt.cell]
        row.documents += 1
        if row.clusters is not None and (group := one.planned.prompt.group) is not None:
            row.clusters[group] += 1
        for outcome in one.outcomes:
            sums = row.sums.get(outcome.metric)
            if sums is not None:
                sums.add(outcome.value)

    def end_portion(self) -> None:
        """All documents that were asked are judged: of tasks with blocks they are a random part."""
        for row in self._rows:
            if row.clusters is not None:
                largest = max(row.clusters.values(), default=1)
                for sums in row.sums.values():
                    sums.end_block(largest)

    def write(self, state: str) -> None:
        """Write how far the run is: `loading`, `asking`, `judging`, `writing` or `stopped`."""
        if not self._read:
            return
        self.judge.judge_fresh()
        self.judge.judge_known(_SECONDS_FOR_KNOWN.get(state, 0.0))
        document = {
            "state": state,
            "model": self._model,
            "started": self._started,
            "updated": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "requests": len(self._plan.queue),
            "answered": self._answered,
            "cells": [self._entry(row) for row in self._rows],
        }
        if self._folder is not None:
            write_progress(self._folder, document)
        if self._notify is not None:
            self._notify(document)

    def _entry(self, row: _Row) -> dict[str, Any]:
        return {
            "id": row.id,
            "documents": sum(len(self._plan.spans[cell]) for cell in row.cells),
            "answered": row.documents,
            "scores": {name: sums.entry() for name, sums in row.sums.items()},
        }

    def __enter__(self) -> PartialScores:
        self.write("loading")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind:
            # The error that ended the run is the one to report, not what it made impossible too.
            with suppress(StorageError, JournalError):
                self.write("stopped")


def _rows_of(setups: Sequence[CellSetup]) -> list[_Row]:
    """One row a cell; the prompts of a sweep on a budget together, which share the documents."""
    rows: dict[str, _Row] = {}
    for setup in setups:
        id = setup.cell.id
        if setup.share is not None:
            prompts = "rotated" if setup.share.rotated else f"{setup.share.prompts} prompts"
            id = f"{setup.task.name}-{setup.task.version}, {prompts}"
        clusters: Counter[str] | None = None if setup.until is None else Counter()
        row = rows.setdefault(id, _Row(id, [], _sums_of(setup), clusters=clusters))
        row.cells.append(setup.cell)
    return list(rows.values())


def _sums_of(setup: CellSetup) -> dict[str, _Sums]:
    return {name: _Sums(metric) for name, metric in setup.metrics if metric.aggregation == "mean"}
