"""Stop when it is known: which documents a run asks next, and when a task has asked enough.

Without `--until` a run asks all its prompts at once. With it, the prompts are held back and
released block by block, in a random order that the seed decides, whole clusters together; each
task stops by itself. A block is a portion of the plan: it is asked, journalled and judged as ever,
so a run that was killed finds its blocks in the journal and stops where it would have stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tenbin.errors import ConfigError
from tenbin.metrics.base import Metric
from tenbin.metrics.registry import metric_names
from tenbin.pipeline.blocks import blocks_in_random_order
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.prepare import Data, count_prompts
from tenbin.pipeline.score import measured_metrics
from tenbin.records import Cell
from tenbin.results.schema import BlockEntry, DecidedStop, LookEntry, Stopping, WidthStop
from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import Measured, number_clusters
from tenbin.statistics.sequential import (
    FEWEST_CLUSTERS,
    LEVEL,
    LOOKS,
    Look,
    block_size,
    boundaries,
    documents_for_width,
    look_at,
    width_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_HIGH = 0.95
"""A score at which few documents are needed: a target out of reach there is refused."""


class CellStop(Protocol):
    """When one task stops."""

    cell: Cell
    blocks: Sequence[Sequence[int]]
    """Numbers of the prompts of each block, in the order in which they are asked."""

    def look(self, judged: JudgedDocuments, asked: int) -> tuple[bool, str]:
        """Look at the task after a block.

        Args:
            judged: The judged documents, those of the block among them.
            asked: Documents of the task that were asked so far.

        Returns:
            Whether it stops, and what the user is told.
        """
        ...


@dataclass(slots=True)
class StopRule:
    """When the tasks of a run stop; without any stops, all is asked at once."""

    seed: int = 0
    stops: Sequence[CellStop] = ()
    against: str | None = None
    against_run_id: str | None = None

    def portions(
        self, plan: Plan, judged: JudgedDocuments, notify: Callable[[str], None]
    ) -> Iterator[None]:
        """Release one portion of the plan after the other; each is asked and judged in between.

        Args:
            plan: All prompts of the run, held back where there are stops.
            judged: Its judged documents.
            notify: Told what is known after each block.
        """
        if not self.stops:
            yield
            return
        stopping = {stop.cell for stop in self.stops}
        for cell, span in plan.spans.items():
            if cell not in stopping:
                plan.release(span)
        asked = dict.fromkeys(stopping, 0)
        left, at = list(self.stops), 0
        while left:
            for stop in left:
                plan.release(stop.blocks[at])
                asked[stop.cell] += len(stop.blocks[at])
            yield
            at += 1
            going_on = []
            for stop in left:
                over, told = stop.look(judged, asked[stop.cell])
                notify(f"{stop.cell.id}: {told}")
                if not over and at < len(stop.blocks):
                    going_on.append(stop)
            left = going_on

    def entry(self) -> Stopping | None:
        """The key `stopping` of result.json; None where every task asked all."""
        if not self.stops:
            return None
        entry = Stopping(
            seed=self.seed,
            widths={s.cell.id: s.entry() for s in self.stops if isinstance(s, WidthRule)},
            decisions={s.cell.id: s.entry() for s in self.stops if isinstance(s, DecisionRule)},
        )
        return entry.model_copy(
            update={
                name: value
                for name in ("against", "against_run_id")
                if (value := getattr(self, name)) is not None
            }
        )


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
        told = f"{self._metric} {width} after {asked:,} of {self.documents:,} documents"
        if self.reached:
            return True, f"{told}: stopped at ±{self.target:g}"
        if asked == self.documents:
            return True, f"{told}, which are all: ±{self.target:g} is not reached"
        return False, told

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


@dataclass(slots=True)
class DecisionRule:
    """Stops a task as soon as its difference to another run is decided, at one of five looks."""

    setup: CellSetup
    blocks: Sequence[Sequence[int]]
    metric: str
    higher_is_better: bool
    top: float
    """The highest value of a document."""
    others: Mapping[str, float]
    """Document → its value in the other run."""
    level: float
    documents: int
    """Documents there are."""
    cell: Cell = field(init=False)
    looks: list[tuple[int, Look]] = field(default_factory=list)
    """Documents asked so far, and what they showed."""
    _looked: int = 0

    def __post_init__(self) -> None:
        self.cell = self.setup.cell

    def look(self, judged: JudgedDocuments, asked: int) -> tuple[bool, str]:
        """Look at the difference on the documents that both runs scored."""
        _, documents = measured_metrics(self.setup, judged)[self.metric]
        steps, sizes = _differences(documents, self.others)
        boundary = boundaries(LOOKS, self.level)[self._looked]
        self._looked += 1
        if len(steps) < 2:
            return False, f"look {self._looked} of {LOOKS}: nearly all answers failed"
        found = look_at(steps, sizes, boundary, self.top)
        self.looks.append((asked, found))
        scale = 100 / self.top
        told = (
            f"look {self._looked} of {LOOKS}, {asked:,} of {self.shared:,} documents: "
            f"{self.metric} {scale * found.difference:+.1f} points "
            f"[{scale * found.low:+.1f}, {scale * found.high:+.1f}], "
            f"z {found.z:+.2f}, boundary {boundary:.2f}"
        )
        return found.decides, f"{told}: {self.decision}" if found.decides else told

    @property
    def shared(self) -> int:
        """Documents that the other run has scored too."""
        return sum(map(len, self.blocks))

    @property
    def decision(self) -> str:
        """`better`, `worse` or `undecided`."""
        if not self.looks or not self.looks[-1][1].decides:
            return "undecided"
        return "better" if (self.looks[-1][1].difference > 0) == self.higher_is_better else "worse"

    def entry(self) -> DecidedStop:
        """What result.json says of it."""
        return DecidedStop.model_validate(
            {
                "metric": self.metric,
                "level": self.level,
                "decision": self.decision,
                "stopped_at": self.looks[-1][0] if self.looks else self.shared,
                "shared": self.shared,
                "documents": self.documents,
                "looks": [
                    LookEntry(
                        documents=asked,
                        n=look.n,
                        clusters=look.clusters,
                        difference=look.difference,
                        stderr=look.stderr,
                        z=look.z,
                        boundary=look.boundary,
                        low=look.low,
                        high=look.high,
                    )
                    for asked, look in self.looks
                ],
            }
        )


def main_metric(setup: CellSetup) -> tuple[str, Metric]:
    """The first metric of a task, whose interval decides when it stops."""
    return metric_names(setup.task)[0]


def _measured(setup: CellSetup, judged: JudgedDocuments) -> tuple[str, Metric, Measured]:
    """The first metric with its documents; a function of the task may leave some metrics out."""
    found = measured_metrics(setup, judged)
    name = main_metric(setup)[0]
    name = name if name in found else next(iter(found))
    return name, *found[name]


def _differences(documents: Measured, others: Mapping[str, float]) -> tuple[Array, Array]:
    """Summed differences and sizes of clusters, of the documents that both runs scored."""
    import numpy as np

    kept, theirs = [], []
    for at, name in enumerate(documents.documents):
        if name in others:
            kept.append(at)
            theirs.append(others[name])
    numbers = number_clusters([documents.clusters[at] for at in kept])
    sums = np.zeros((2, max(numbers, default=-1) + 1))
    np.add.at(sums[0], numbers, documents.values[kept] - np.array(theirs))
    np.add.at(sums[1], numbers, 1.0)
    return sums[0], sums[1]


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


def shared_level(setups: Sequence[CellSetup]) -> float:
    """The level of each comparison: 5 % for all of them together."""
    return LEVEL / max(1, sum(setup.until == "decided" for setup in setups))
