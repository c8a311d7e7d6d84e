"""Scores of a run that is not over: judged as answers arrive, written for whoever looks.

Documents are answered in the order that suits the engine, so that a part of them is no random part:
what is written says how many it rests on. The scores of the finished run are worked out anew from
all outcomes and owe nothing to this module.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tenbin.metrics.judge import judge, metric_names
from tenbin.metrics.registry import Metric
from tenbin.planning.plan import Plan, Planned
from tenbin.preparation import CellSetup
from tenbin.records import Cell, Response
from tenbin.results.progress import write_progress

_SECONDS_BETWEEN = 3.0


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

    def __init__(self, folder: Path, model: str, setups: Sequence[CellSetup], plan: Plan) -> None:
        self._folder, self._model = folder, model
        self._tasks = {setup.cell: setup.task for setup in setups}
        self._asked = _counted(plan.planned)
        self._answered = dict.fromkeys(self._asked, 0)
        self._sums: dict[Cell, dict[str, _Sums]] = {
            cell: {n: _Sums(m) for n, m in metric_names(task) if m.aggregation == "mean"}
            for cell, task in self._tasks.items()
        }
        self._waiting: dict[str, list[Planned]] = {}
        for one in plan.planned:
            for key in {one.key, one.unconditional_key or one.key}:
                self._waiting.setdefault(key, []).append(one)
        self._responses: dict[str, Response] = {}
        self._total, self._done = len(plan.requests), 0
        self._started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._written = 0.0

    def answered(self, key: str, response: Response) -> None:
        """One more answer: judge the documents that are complete with it."""
        self._done += 1
        self._responses[key] = response
        for one in self._waiting.pop(key, ()):
            bare = one.unconditional_key
            if one.key in self._responses and (bare is None or bare in self._responses):
                self._judge(one)
        now = time.monotonic()
        if now - self._written >= _SECONDS_BETWEEN:
            self._written = now
            self.write("asking")

    def _judge(self, one: Planned) -> None:
        cell = one.prompt.cell
        bare = self._responses[one.unconditional_key] if one.unconditional_key else None
        self._answered[cell] += 1
        for outcome in judge(self._tasks[cell], one.prompt, self._responses[one.key], bare):
            if outcome.metric in self._sums[cell]:
                self._sums[cell][outcome.metric].add(outcome.value)

    def write(self, state: str) -> None:
        """Say how far the run is: `loading`, `asking`, `writing` or `stopped`."""
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
            "documents": self._asked.get(cell, 0),
            "answered": self._answered.get(cell, 0),
            "scores": {name: sums.entry() for name, sums in self._sums[cell].items()},
        }

    def __enter__(self) -> Watch:
        self.write("loading")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.write("stopped" if kind else "writing")


def _counted(planned: Sequence[Planned]) -> dict[Cell, int]:
    counts: dict[Cell, int] = {}
    for one in planned:
        counts[one.prompt.cell] = counts.get(one.prompt.cell, 0) + 1
    return counts
