"""From judged documents to scores: every cell and every group, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.metrics.registry import metric_names
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.records import DEFAULT_TEMPLATE, Cell, ScoreRow
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
    documents = _measured(setup, judged)
    return [
        summarise(
            name,
            metric.aggregation,
            documents[name],
            cell.seed,
            cell.id,
            metric.higher_is_better,
            metric.top,
        )
        for name, metric in metric_names(setup.task)
    ]


def _measured(setup: CellSetup, judged: JudgedDocuments) -> dict[str, Measured]:
    """The documents of a cell as every metric sees them: numbers in memory, and no more."""
    gathered = {name: Gathering(metric.aggregation) for name, metric in metric_names(setup.task)}
    for outcomes in judged.outcomes(setup.cell):
        for outcome in outcomes:
            gathered[outcome.metric].add(outcome)
    return {name: one.measured() for name, one in gathered.items()}


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
        used = [dict(metric_names(setup.task)) for setup in cells]
        documents = [_measured(setup, judged) for setup in cells]
        pairs = [
            summarise_group(
                name,
                metric.aggregation,
                [
                    Member(setup.task.family, found[name])
                    for setup, found in zip(cells, documents, strict=True)
                ],
                cells[0].cell.seed,
                group,
                metric.higher_is_better,
                metric.top,
            )
            for name, metric in used[0].items()
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
