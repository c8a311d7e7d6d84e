"""From judged documents to the scores of cells, with their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from tenbin.metrics.base import Metric
from tenbin.metrics.registry import metric_of
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.records import Cell, Outcome, ScoreRow
from tenbin.statistics.corpus import upper_median
from tenbin.statistics.errors import summarise
from tenbin.statistics.measured import Gathering, Measured


class DocumentCount(Protocol):
    """How many documents of a cell there are."""

    @property
    def documents(self) -> int:
        """Those that were judged."""


class Outcomes(Protocol):
    """What the metrics say of all documents: of a run that goes on, or of stored ones."""

    @property
    def counts_by_cell(self) -> Mapping[Cell, DocumentCount]:
        """Documents of every cell."""

    def numbered_outcomes(self, cell: Cell) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
        """Outcomes of each document, sorted by document, with its place in the run."""


def summarise_cells(setups: Sequence[CellSetup], judged: Outcomes) -> dict[Cell, list[ScoreRow]]:
    """Every metric of every cell, with its error."""
    return {setup.cell: _summarise_cell(setup, judged) for setup in setups}


def _summarise_cell(setup: CellSetup, judged: Outcomes) -> list[ScoreRow]:
    cell = setup.cell
    if setup.share is not None:
        return [
            _unscored(setup, name, metric, documents)
            for name, (metric, documents) in measured_metrics(setup, judged).items()
        ]
    return [
        summarise(
            name,
            metric.aggregation,
            documents,
            cell.seed,
            cell.id,
            metric.higher_is_better,
            metric.top,
        )
        for name, (metric, documents) in measured_metrics(setup, judged).items()
    ]


def _unscored(setup: CellSetup, name: str, metric: Metric, documents: Measured) -> ScoreRow:
    """What a part of the documents gives: counts and no value, so that nobody reads it as a score.

    The distribution over all prompts is estimated from the samples.
    """
    return ScoreRow(
        setup.cell.id,
        name,
        value=None,
        stderr=None,
        n=len(documents.documents),
        failed=documents.failed,
        higher_is_better=metric.higher_is_better,
        stderr_method="none",
        interval_method="none",
        clusters=len(documents.cluster_sums()),
        aggregation=metric.aggregation,
    )


def measured_metrics(setup: CellSetup, judged: Outcomes) -> dict[str, tuple[Metric, Measured]]:
    """The documents of a cell as every metric sees them: numbers in memory, and no more.

    A function of the task may leave a metric out, and may give others than the task names.
    """
    metrics = dict(setup.metrics)
    gathered = {name: _gathering(metric) for name, metric in metrics.items()}
    seen: set[str] = set()
    for number, outcomes in judged.numbered_outcomes(setup.cell):
        for outcome in outcomes:
            name = outcome.metric
            if name not in metrics:
                metrics[name] = metric_of(setup.task, outcome)
                gathered[name] = _gathering(metrics[name])
            if outcome.value is not None:
                seen.add(name)
            gathered[name].add(outcome, number)
    own = setup.task.process_results is not None or any(
        use.function is not None for use in setup.task.metrics
    )
    return {
        name: (metric, gathered[name].measured())
        for name, metric in metrics.items()
        if name in seen or not (own and seen)
    }


def _gathering(metric: Metric) -> Gathering:
    own = upper_median if metric.aggregation == "median" else metric.aggregate
    return Gathering(metric.aggregation, function=own)
