"""Scores of a run that is not over: judged as answers arrive, written for whoever looks.

Documents are answered in the order that suits the engine, so that a part of them is no random part:
what is written says how many it rests on. The scores of the finished run are worked out anew from
all outcomes and owe nothing to this module.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tenbin.errors import JournalError, StorageError
from tenbin.journal.answers import Answers
from tenbin.metrics.base import Metric
from tenbin.metrics.registry import metric_names
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.judge import judge_planned
from tenbin.pipeline.plan import Plan
from tenbin.records import Cell, Response
from tenbin.results.progress import write_progress

_SECONDS_BETWEEN = 3.0
_AT_ONCE = 500
"""Answers that are judged together: looking up their documents one by one would take longer."""
_CATCHING_UP = {"asking": 0.3, "judging": 1.0}
"""Seconds that earlier answers may take at each writing: a run goes on before they are judged."""


@dataclass(slots=True)
class _Sums:
    """What a mean and its error need."""

    metric: Metric
    n: int = 0
    failed: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float | None) -> None:
        if value is None:
            self.failed += 1
            return
        self.n += 1
        self.total += value
        self.squares += value * value

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
        }


class Watch:
    """Takes answers as they arrive and writes progress.json now and then."""

    def __init__(
        self,
        folder: Path,
        model: str,
        setups: Sequence[CellSetup],
        plan: Plan,
        answers: Answers,
    ) -> None:
        self._folder, self._model = folder, model
        self._tasks = {setup.cell: setup.task for setup in setups}
        self._plan, self._answers = plan, answers
        self._judged = dict.fromkeys(self._tasks, 0)
        self._sums: dict[Cell, dict[str, _Sums]] = {
            cell: {n: _Sums(m) for n, m in metric_names(task) if m.aggregation == "mean"}
            for cell, task in self._tasks.items()
        }
        self._fresh: dict[str, Response] = {}
        """Answers that no document was looked up for yet."""
        self._earlier: Iterator[dict[str, Response]] = iter(())
        """Answers of earlier runs, read when there is time for them."""
        self._total, self._done = len(plan.queue), 0
        self._started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._written = 0.0

    def known(self, count: int) -> None:
        """So many answers are there from earlier runs."""
        self._done += count
        self._earlier = map(self._answers.find, self._plan.queue.all_keys()) if count else iter(())

    def answered(self, portion: Sequence[tuple[str, Response]]) -> None:
        """More answers, which are kept already."""
        for key, response in portion:
            self._done += 1
            self._fresh[key] = response
            if len(self._fresh) == _AT_ONCE:
                self._judge_fresh()
        now = time.monotonic()
        if now - self._written >= _SECONDS_BETWEEN:
            self._written = now
            self.write("asking")

    def _judge_fresh(self) -> None:
        """Judge the documents that are complete with the answers that came since."""
        fresh, self._fresh = self._fresh, {}
        self._judge(fresh)

    def _catch_up(self, seconds: float) -> None:
        """Judge some of the documents that earlier runs have answered."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            answers = next(self._earlier, None)
            if answers is None:
                return
            self._judge(answers)

    def _judge(self, fresh: Mapping[str, Response]) -> None:
        for one in self._plan.completed_by(list(fresh)):
            earlier = [key for key in one.keys if key not in fresh]
            answers = {**fresh, **self._answers.read(earlier)} if earlier else fresh
            cell = one.prompt.cell
            self._judged[cell] += 1
            for outcome in judge_planned(self._tasks[cell], one, answers).outcomes:
                if outcome.metric in self._sums[cell]:
                    self._sums[cell][outcome.metric].add(outcome.value)

    def write(self, state: str) -> None:
        """Say how far the run is: `loading`, `asking`, `judging`, `writing` or `stopped`."""
        if self._fresh:
            self._judge_fresh()
        self._catch_up(_CATCHING_UP.get(state, 0.0))
        write_progress(
            self._folder,
            {
                "state": state,
                "model": self._model,
                "started": self._started,
                "updated": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "requests": self._total,
                "answered": self._done,
                "cells": [self._cell(cell) for cell in self._tasks],
            },
        )

    def _cell(self, cell: Cell) -> dict[str, Any]:
        return {
            "id": cell.id,
            "documents": len(self._plan.spans[cell]),
            "answered": self._judged[cell],
            "scores": {name: sums.entry() for name, sums in self._sums[cell].items()},
        }

    def __enter__(self) -> Watch:
        self.write("loading")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind:
            # Whatever ended the run is what is to be said, not what it made impossible too.
            with suppress(StorageError, JournalError):
                self.write("stopped")
