"""From judged documents to scores: every cell and every group, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.metrics.base import Metric
from tenbin.metrics.registry import metric_names, metric_of
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.records import DEFAULT_TEMPLATE, Cell, ScoreRow
from tenbin.statistics.corpus import upper_median
from tenbin.statistics.errors import summarise, summarise_group
from tenbin.statistics.groups import Member
from tenbin.statistics.measured import Gathering, Measured


@dataclass(frozen=True, slots=True)
class GroupScore:
    """The scores of several cells together."""

    id: str
    members: tuple[str, ...]
    rows: tuple[ScoreRow, ...]
    """Means weighted by documents."""
    unweighted: tuple[ScoreRow, ...]
    """Plain means of the members' scores, in the same order."""


def summarise_cells(
    setups: Sequence[CellSetup], judged: JudgedDocuments
) -> dict[Cell, list[ScoreRow]]:
    """Every metric of every cell, with its error."""
    return {setup.cell: _summarise_cell(setup, judged) for setup in setups}


def _summarise_cell(setup: CellSetup, judged: JudgedDocuments) -> list[ScoreRow]:
    cell = setup.cell
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
        for name, (metric, documents) in _measured(setup, judged).items()
    ]


def _measured(setup: CellSetup, judged: JudgedDocuments) -> dict[str, tuple[Metric, Measured]]:
    """The documents of a cell as every metric sees them: numbers in memory, and no more.

    A function of the task may leave a metric out, and may give others than the task names.
    """
    metrics = dict(metric_names(setup.task))
    gathered = {name: _gathering(metric) for name, metric in metrics.items()}
    seen: set[str] = set()
    for number, outcomes in judged.numbered_outcomes(setup.cell):
        for outcome in outcomes:
            name = outcome.metric
            if name not in metrics:
                metrics[name] = metric_of(setup.task, outcome)
                gathered[name] = _gathering(metrics[name])
            seen.add(name)
            gathered[name].add(outcome, number)
    own = setup.task.process_results is not None or any(
        use.function is not None for use in setup.task.metrics
    )
    return {
        name: (metric, gathered[name].measured())
        for name, metric in metrics.items()
        if name in seen or not own
    }


def _gathering(metric: Metric) -> Gathering:
    own = upper_median if metric.aggregation == "median" else metric.aggregate
    return Gathering(metric.aggregation, function=own)


def summarise_groups(setups: Sequence[CellSetup], judged: JudgedDocuments) -> list[GroupScore]:
    """Groups whose members were run under the same template, from their documents."""
    members: dict[str, list[CellSetup]] = {}
    for setup in setups:
        if setup.task.group is not None:
            members.setdefault(_group_id(setup.task.group, setup.cell), []).append(setup)
    groups = []
    for group, cells in members.items():
        if len(cells) < 2:
            continue
        documents = [_measured(setup, judged) for setup in cells]
        used = [{name: metric for name, (metric, _) in found.items()} for found in documents]
        pairs = [
            summarise_group(
                name,
                metric.aggregation,
                [
                    Member(setup.task.family, found[name][1])
                    for setup, found in zip(cells, documents, strict=True)
                ],
                cells[0].cell.seed,
                group,
                metric.higher_is_better,
                metric.top,
            )
            for name, metric in used[0].items()
            if metric.aggregate is None and metric.aggregation != "median"
            if all(names.get(name) == metric for names in used)
            if all(judged.counts_by_cell[setup.cell].documents for setup in cells)
        ]
        groups.append(
            GroupScore(
                group,
                tuple(setup.cell.id for setup in cells),
                tuple(weighted for weighted, _ in pairs),
                tuple(unweighted for _, unweighted in pairs),
            )
        )
    return groups


def _group_id(group: str, cell: Cell) -> str:
    if cell.template == DEFAULT_TEMPLATE:
        return f"{group}{cell.mark}"
    return f"{group}-{cell.version}-{cell.template}{cell.mark}"
