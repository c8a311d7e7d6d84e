"""`--until ±2`: a task stops as soon as the interval of its score is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tenbin.errors import ConfigError
from tenbin.metrics.base import Metric
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.prepare import Data, count_prompts
from tenbin.pipeline.score import measured_metrics
from tenbin.pipeline.until.blocks import blocks_in_random_order
from tenbin.records import Cell
from tenbin.results.schema import BlockEntry, WidthStop
from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import Measured
from tenbin.statistics.sequential import (
    FEWEST_CLUSTERS,
    block_size,
    documents_for_width,
    width_of,
)

_HIGH = 0.95
"""A score at which few documents are needed: a target out of reach there is refused."""


@dataclass(slots=True)
class WidthRule:
    """Stops a task as soon as the interval of its first metric is narrow enough."""

    setup: CellSetup
    blocks: Sequence[Sequence[int]]
    target: float
    """In points."""
    cell: Cell = field(init=False)
    entries: list[BlockEntry] = field(default_factory=list)
    _metric: str = ""
    _half: float | None = None

    def __post_init__(self) -> None:
        self.cell = self.setup.cell
        self._metric = main_metric(self.setup)[0]

    @property
    def documents(self) -> int:
        """Documents there are."""
        return sum(map(len, self.blocks))

    def look(self, judged: JudgedDocuments, asked: int) -> tuple[bool, str]:
        """Look at the width of the interval; its value decides nothing."""
        self._metric, metric, documents = _measured(self.setup, judged)
        found = estimate(documents, self.cell.seed, metric.top)
        scale = 100 / (metric.top or 1.0)
        self._half = (
            None
            if found.low is None or found.high is None
            else (found.high - found.low) / 2 * scale
        )
        self.entries.append(
            BlockEntry(
                documents=asked,
                n=found.n,
                clusters=found.clusters,
                value=found.value,
                low=found.low,
                high=found.high,
            )
        )
        width = "no interval yet" if self._half is None else f"±{self._half:.2f} points"
        message = f"{self._metric} {width} after {asked:,} of {self.documents:,} documents"
        if self.reached:
            return True, f"{message}: stopped at ±{self.target:g}"
        if asked == self.documents:
            return True, f"{message}, which are all: ±{self.target:g} is not reached"
        return False, message

    @property
    def reached(self) -> bool:
        """Whether the last look showed an interval that is narrow enough, on enough clusters."""
        enough = bool(self.entries) and self.entries[-1].clusters >= FEWEST_CLUSTERS
        return enough and self._half is not None and self._half <= self.target

    def entry(self) -> WidthStop:
        """What result.json says of it."""
        return WidthStop(
            metric=self._metric,
            target=self.target,
            half_width=self._half,
            reached=self.reached,
            stopped_at=self.entries[-1].documents if self.entries else 0,
            documents=self.documents,
            blocks=self.entries,
        )


def width_rules(plan: Plan, setups: Sequence[CellSetup], seed: int) -> list[WidthRule]:
    """The rules of all tasks that stop at a width."""
    return [
        WidthRule(
            setup,
            blocks_in_random_order(plan, setup.cell, seed, block_size(setup.until / 100)),
            setup.until,
        )
        for setup in setups
        if isinstance(setup.until, float)
    ]


def check_widths(setups: Sequence[CellSetup], data: Data) -> list[str]:
    """Refuse widths that no score could reach; say where only high or low scores reach them.

    Only scores of documents that are right or wrong are refused: others may vary less.

    Raises:
        ConfigError: Naming the documents that the width takes.
    """
    notices = []
    for setup in setups:
        if setup.until is None or isinstance(setup.until, str):
            continue
        name, metric = main_metric(setup)
        if metric.top is None:
            raise ConfigError(
                f"--until ±{setup.until:g}: {setup.cell.id} is scored by {name}, which has no "
                "highest value, so that a width in points means nothing",
                "leave --until out, or use --limit",
            )
        documents, half = count_prompts(setup, data), setup.until / 100
        most = documents_for_width(half)
        if documents >= most or setup.task.kind != "choice" or metric.aggregation != "mean":
            continue
        fewest = documents_for_width(half, _HIGH)
        needed = f"±{setup.until:g} points takes {most:,} documents at a score of 50 %"
        if documents < fewest:
            reachable = 100 * width_of(documents)
            raise ConfigError(
                f"--until: {needed} and {fewest:,} at {100 * _HIGH:g} %; {setup.cell.id} has "
                f"{documents:,}",
                f"all of them give ±{math.ceil(10 * reachable) / 10:g} at 50 %: name a wider "
                "interval, or leave --until out",
            )
        notices.append(
            f"{setup.cell.id}: {needed}, and there are {documents:,}: if it is not reached, all "
            "are asked"
        )
    return notices


def main_metric(setup: CellSetup) -> tuple[str, Metric]:
    """The first metric of a task, whose interval decides when it stops."""
    return setup.metrics[0]


def _measured(setup: CellSetup, judged: JudgedDocuments) -> tuple[str, Metric, Measured]:
    """The first metric with its documents; a function of the task may leave some metrics out."""
    found = measured_metrics(setup, judged)
    name = main_metric(setup)[0]
    name = name if name in found else next(iter(found))
    return name, *found[name]
