"""From judged documents to scores: every cell and every group, with their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenbin.metrics.base import Metric
from tenbin.metrics.registry import metric_names, metric_of
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.records import DEFAULT_TEMPLATE, Cell, Group, GroupMetric, ScoreRow
from tenbin.statistics.corpus import upper_median
from tenbin.statistics.errors import combine_rows, summarise, summarise_group
from tenbin.statistics.groups import Member
from tenbin.statistics.measured import Gathering, Measured


@dataclass(frozen=True, slots=True)
class GroupScore:
    """The scores of several cells together."""

    id: str
    members: tuple[str, ...]
    rows: tuple[ScoreRow, ...]
    """Means weighted by documents; where a file says so, plain means."""
    unweighted: tuple[ScoreRow, ...]
    """Plain means of the members' scores, in the same order."""
    alias: str = ""
    """What tables call it; empty: its id."""
    notices: tuple[str, ...] = ()


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


def summarise_groups(
    setups: Sequence[CellSetup],
    judged: JudgedDocuments,
    scores: Mapping[Cell, Sequence[ScoreRow]],
) -> list[GroupScore]:
    """Scores of groups whose members were run under the same template, from their documents.

    Groups of tenbin's tasks first, then those of lm-eval's files with the scores that they name.
    """
    return [*_groups_of_tasks(setups, judged), *_groups_of_files(setups, judged, scores)]


def _groups_of_tasks(setups: Sequence[CellSetup], judged: JudgedDocuments) -> list[GroupScore]:
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
            _summarise_members(
                name,
                [(setup, *found[name]) for setup, found in zip(cells, documents, strict=True)],
                group,
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


def _summarise_members(
    name: str, members: Sequence[tuple[CellSetup, Metric, Measured]], group: str
) -> tuple[ScoreRow, ScoreRow]:
    first, metric, _ = members[0]
    return summarise_group(
        name,
        metric.aggregation,
        [Member(setup.task.family, found) for setup, _, found in members],
        first.cell.seed,
        group,
        metric.higher_is_better,
        metric.top,
    )


def _groups_of_files(
    setups: Sequence[CellSetup],
    judged: JudgedDocuments,
    scores: Mapping[Cell, Sequence[ScoreRow]],
) -> list[GroupScore]:
    """The groups of lm-eval's files, each with those below it."""
    asked: dict[tuple[str, str], tuple[Group, list[CellSetup]]] = {}
    for setup in setups:
        for top in setup.groups:
            for group in top.groups():
                if group.metrics and setup.task.name in group.tasks():
                    place = (group.name, setup.cell.mark)
                    asked.setdefault(place, (group, []))[1].append(setup)
    measured: dict[Cell, dict[str, tuple[Metric, Measured]]] = {}
    groups = []
    for (name, mark), (group, cells) in asked.items():
        if not all(judged.counts_by_cell[setup.cell].documents for setup in cells):
            continue  # a run that was stopped
        for setup in cells:
            if setup.cell not in measured:
                measured[setup.cell] = _measured(setup, judged)
        groups.append(_group_of_file(group, f"{name}{mark}", cells, measured, scores))
    return groups


def _group_of_file(
    group: Group,
    id: str,
    cells: Sequence[CellSetup],
    measured: Mapping[Cell, Mapping[str, tuple[Metric, Measured]]],
    scores: Mapping[Cell, Sequence[ScoreRow]],
) -> GroupScore:
    rows: dict[str, ScoreRow] = {}
    unweighted: dict[str, ScoreRow] = {}
    notices = []
    for asked in group.metrics:
        found = [name for setup in cells for name in measured[setup.cell]]
        for name in _names_of(asked, list(dict.fromkeys(found))):
            members = [
                (setup, *measured[setup.cell][name])
                for setup in cells
                if name in measured[setup.cell]
            ]
            lacking = len(cells) - len(members)
            if not members:
                notices.append(f"{id}: no task of the group has the metric {name}")
                continue
            if lacking:
                notices.append(f"{id}: {lacking} of {len(cells)} tasks lack the metric {name}")
            if any(found.aggregate is not None for _, _, found in members):
                of_tasks = [
                    row for setup, _, _ in members for row in scores[setup.cell]
                    if row.metric == name
                ]  # fmt: skip
                by_size, plain = combine_rows(of_tasks, id)
            else:
                by_size, plain = _summarise_members(name, members, id)
            rows[name] = by_size if asked.weight_by_size else plain
            unweighted[name] = plain
    return GroupScore(
        id,
        tuple(setup.cell.id for setup in cells),
        tuple(rows.values()),
        tuple(unweighted.values()),
        group.alias,
        tuple(notices),
    )


def _names_of(asked: GroupMetric, found: Sequence[str]) -> list[str]:
    """The names under which tasks report a metric of a group; lm-eval calls no filter `none`."""
    if asked.filters is None:
        return [name for name in found if name.partition(",")[0] == asked.metric]
    return [
        asked.metric if filter_name == "none" and asked.metric in found
        else f"{asked.metric},{filter_name}"
        for filter_name in asked.filters
    ]  # fmt: skip


def _group_id(group: str, cell: Cell) -> str:
    if cell.template == DEFAULT_TEMPLATE:
        return f"{group}{cell.mark}"
    return f"{group}-{cell.version}-{cell.template}{cell.mark}"
