"""From judged documents to scores: every cell and every group, with their errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenbin.judging import JudgedDocuments
from tenbin.metrics.judge import metric_names
from tenbin.metrics.registry import Metric
from tenbin.preparation import CellSetup
from tenbin.records import DEFAULT_TEMPLATE, Cell, Outcome, ScoreRow
from tenbin.statistics.errors import MemberOutcomes, summarise, summarise_group


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
    return {
        setup.cell: [
            summarise(
                name,
                metric.aggregation,
                outcomes_of(judged, setup.cell, name),
                setup.cell.seed,
                setup.cell.id,
                metric.higher_is_better,
                metric.top,
            )
            for name, metric in metric_names(setup.task)
            if judged.tallies[setup.cell].documents
        ]
        for setup in setups
    }


def outcomes_of(judged: JudgedDocuments, cell: Cell, metric: str) -> Iterator[Outcome]:
    """What one metric says of each document of a cell."""
    return (one for found in judged.outcomes(cell) for one in found if one.metric == metric)


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
        pairs = [
            _summarise_members(group, cells, name, metric, judged)
            for name, metric in used[0].items()
            if all(names.get(name) == metric for names in used)
            if all(judged.tallies[setup.cell].documents for setup in cells)
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


def _summarise_members(
    group: str,
    setups: Sequence[CellSetup],
    name: str,
    metric: Metric,
    judged: JudgedDocuments,
) -> tuple[ScoreRow, ScoreRow]:
    return summarise_group(
        name,
        metric.aggregation,
        [MemberOutcomes(one.task.family, outcomes_of(judged, one.cell, name)) for one in setups],
        setups[0].cell.seed,
        group,
        metric.higher_is_better,
        metric.top,
    )


def _group_id(group: str, cell: Cell) -> str:
    if cell.template == DEFAULT_TEMPLATE:
        return f"{group}{cell.mark}"
    return f"{group}-{cell.version}-{cell.template}{cell.mark}"
