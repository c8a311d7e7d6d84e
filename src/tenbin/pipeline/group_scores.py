"""Scores of groups: of tenbin's benchmarks, of lm-eval's files, and of the catalogue's groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenbin.metrics.base import Metric
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.notices import listed
from tenbin.pipeline.score import Outcomes, measured_metrics
from tenbin.records import DEFAULT_TEMPLATE, Cell, Group, GroupMetric, ScoreRow
from tenbin.statistics.errors import combine_rows, summarise_group, summarise_mean
from tenbin.statistics.groups import Member, scaled
from tenbin.statistics.measured import Measured
from tenbin.tasks.rotation import split_rotation


@dataclass(frozen=True, slots=True)
class MeanPart:
    """One score that enters a mean."""

    cell: str
    metric: str
    weight: float


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
    percent: bool | None = None
    """Whether its values run from 0 to 100; None: as its metrics do."""
    weighting: str = ""
    """How members are weighted, where the catalogue defines the mean."""
    parts: tuple[MeanPart, ...] = ()
    """What the mean is made of, where the catalogue defines it."""


def summarise_groups(
    setups: Sequence[CellSetup],
    judged: Outcomes,
    scores: Mapping[Cell, Sequence[ScoreRow]],
) -> list[GroupScore]:
    """Scores of groups whose members were run under the same template, from their documents.

    Those that the user or a suite named come first: they are what was asked for. A part of a
    task's documents belongs to no group.
    """
    setups = [setup for setup in setups if setup.share is None]
    return [*named_groups(setups, judged, scores), *groups_of_tasks(setups, judged)]


def groups_of_tasks(setups: Sequence[CellSetup], judged: Outcomes) -> list[GroupScore]:
    """The groups of tenbin's own tasks, of members that were asked under one template."""
    members: dict[str, list[CellSetup]] = {}
    for setup in setups:
        if setup.task.group is not None:
            members.setdefault(_group_id(setup.task.group, setup.cell), []).append(setup)
    groups = []
    for group, cells in members.items():
        if len(cells) < 2:
            continue
        documents = [measured_metrics(setup, judged) for setup in cells]
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


def named_groups(
    setups: Sequence[CellSetup],
    judged: Outcomes,
    scores: Mapping[Cell, Sequence[ScoreRow]],
) -> list[GroupScore]:
    """The groups that the user or a suite named, each with those below it."""
    asked: dict[tuple[str, str], tuple[Group, list[CellSetup]]] = {}
    for setup in _in_row_order(setups):
        for top in setup.groups:
            for group in top.groups():
                scored = group.metrics or (group.mean and not group.mean.hidden)
                if scored and setup.task.name in group.tasks():
                    place = (group.name, setup.cell.mark)
                    cells = asked.setdefault(place, (group, []))[1]
                    if setup not in cells:
                        cells.append(setup)
    measured: dict[Cell, dict[str, tuple[Metric, Measured]]] = {}
    groups = []
    for (name, mark), (group, cells) in asked.items():
        if not all(judged.counts_by_cell[setup.cell].documents for setup in cells):
            continue  # a run that was stopped
        for setup in cells:
            if setup.cell not in measured:
                measured[setup.cell] = measured_metrics(setup, judged)
        of = _defined_group if group.mean else _group_of_file
        groups.append(of(group, f"{name}{mark}", cells, measured, scores))
    return groups


def _in_row_order(setups: Sequence[CellSetup]) -> list[CellSetup]:
    """The cells without rotations of others: a task enters a mean once."""
    unrotated = {(one.task.name, one.cell.template) for one in setups if not one.template.rotation}
    return [
        one
        for one in setups
        if not one.template.rotation
        or (one.task.name, split_rotation(one.cell.template)[0]) not in unrotated
    ]


def _defined_group(
    group: Group,
    id: str,
    cells: Sequence[CellSetup],
    measured: Mapping[Cell, Mapping[str, tuple[Metric, Measured]]],
    scores: Mapping[Cell, Sequence[ScoreRow]],
) -> GroupScore:
    """The mean of a group of the catalogue: a named metric of each task, with given weights."""
    mean, metrics = group.mean, group.member_metrics()
    assert mean is not None
    by_task = {setup.task.name: setup for setup in cells}
    if fault := _no_mean(group, by_task, cells, measured):
        return GroupScore(id, (), (), (), notices=(f"{id}: no mean: {fault}",))
    top = 100.0 if mean.percent else 1.0
    members = []
    for task, setup in by_task.items():
        metric, found = measured[setup.cell][metrics[task]]
        own_top = 100.0 if metric.percent else 1.0
        members.append(Member(setup.task.family, scaled(found, top / own_top)))
    sizes = {task: len(one.measured.documents) for task, one in zip(by_task, members, strict=True)}
    if not all(sizes.values()):
        empty = ", ".join(task for task, size in sizes.items() if not size)
        return GroupScore(id, (), (), (), notices=(f"{id}: no mean: no score of {empty}",))
    name = metrics[cells[0].task.name] if len(set(metrics.values())) == 1 else "mean"
    weights = group.weights(sizes)
    seed = cells[0].cell.seed
    row, plain = (
        summarise_mean(name, members, of, seed, id, top)
        for of in ([weights[task] for task in by_task], [1 / len(members)] * len(members))
    )
    asked = dict(mean.shots)
    other = [s.cell.id for t, s in by_task.items() if asked.get(t, s.cell.shots) != s.cell.shots]
    return GroupScore(
        id,
        tuple(setup.cell.id for setup in cells),
        (row,),
        (plain,),
        percent=mean.percent,
        weighting=_weighting(group),
        parts=tuple(
            MeanPart(setup.cell.id, metrics[task], weights[task]) for task, setup in by_task.items()
        ),
        notices=(f"{id} is defined with other numbers of examples for {listed(other)}",)
        if other
        else (),
    )


def _no_mean(
    group: Group,
    by_task: Mapping[str, CellSetup],
    cells: Sequence[CellSetup],
    measured: Mapping[Cell, Mapping[str, tuple[Metric, Measured]]],
) -> str:
    """Why a group has no mean; empty if nothing stands in its way."""
    if absent := [task for task in group.tasks() if task not in by_task]:
        return f"{listed(absent)} {'is' if len(absent) == 1 else 'are'} not in this run"
    if len(by_task) < len(cells):
        return "a task was asked under several templates"
    for task, metric in group.member_metrics().items():
        found = measured[by_task[task].cell]
        if metric not in found:
            return f"{task} has no metric {metric}; it has {', '.join(found)}"
        if found[metric][1].aggregate is not None:
            return f"{metric} of {task} is a function of all documents"
    return ""


def _weighting(group: Group) -> str:
    """How the members of a defined group are weighted, in words."""
    assert group.mean is not None
    if group.mean.weighting == "size":
        return "mean weighted by documents"
    inner = len(group.members) > 1 and any(isinstance(one, Group) for one in group.members)
    return "plain mean of its parts' means" if inner else "plain mean of its tasks"


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
