"""Scores of groups, computed anew from the documents of all merged runs.

Which tasks a group has, and how it is weighted, stands in the files of tasks and groups, which are
read again; none of their functions runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tenbin.config import AUTO, OPTIONS, RunConfig, build_config
from tenbin.errors import ResultError, TenbinError
from tenbin.pipeline.cell_record import template_hash
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.documents import selecting_cells
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.cells.templates import ALL
from tenbin.pipeline.group_scores import GroupScore, groups_of_tasks, named_groups
from tenbin.pipeline.merge.agreement import Part
from tenbin.pipeline.merge.cells import MergedCell
from tenbin.records import Cell, Outcome, ScoreRow
from tenbin.results.samples import outcomes_of
from tenbin.results.schema import RunResult

_LEFT_OUT = ("until", "against", "limit", "rotated_share", "output_path", "no_cache", "offline")
"""Options that say nothing of which cells there are."""
_READ = ("gold", "golds", "group", "outcomes")


@dataclass(frozen=True, slots=True)
class Count:
    """Documents of a cell."""

    documents: int


@dataclass(slots=True)
class StoredOutcomes:
    """The outcomes of stored cells, as scores of groups read them."""

    counts_by_cell: dict[Cell, Count] = field(default_factory=dict)
    by_cell: dict[Cell, list[tuple[int, tuple[Outcome, ...]]]] = field(default_factory=dict)

    def numbered_outcomes(self, cell: Cell) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
        """Outcomes of each document, sorted by document, with its place in the run."""
        return iter(self.by_cell[cell])

    def add(self, cell: Cell, documents: Mapping[str, list[Outcome]]) -> None:
        """The documents of one more cell."""
        numbers = {document: number for number, document in enumerate(documents)}
        self.counts_by_cell[cell] = Count(len(documents))
        self.by_cell[cell] = [(numbers[one], tuple(documents[one])) for one in sorted(documents)]


def cell_setups(parts: Sequence[Part], cells: Sequence[MergedCell]) -> list[CellSetup]:
    """The tasks of the cells again, from their files, each with the groups its run named.

    Raises:
        ResultError: A task is not there any more, or its file is another now.
    """
    chosen = [_choose(part) for part in parts]
    setups = []
    for one in cells:
        setup = chosen[one.part].get(one.own_id)
        if setup is None:
            raise ResultError(
                f"{parts[one.part].name}: no task gives the cell {one.own_id} any more",
                "groups are computed anew, which needs the task files the run was asked with: "
                "--include_path",
            )
        known = parts[one.part].result.prompts[one.own_id].template_hash
        if template_hash(setup.template) != known:
            raise ResultError(
                f"{parts[one.part].name}: {one.own_id}: the template has other words now than when "
                "the run was asked",
                "merge with the task files of that time: --include_path",
            )
        setups.append(setup)
    return setups


def _choose(part: Part) -> dict[str, CellSetup]:
    """Every cell that the options of a run ask for, by its id; of a merged run, those of all."""
    if not part.result.merged:
        return _chosen(part, part.result.config)
    found: dict[str, CellSetup] = {}
    for run in part.result.merged:
        chosen = _chosen(part, run.config)
        for id in run.cells:
            if (own := run.ids.get(id, id)) in chosen:
                found[id] = chosen[own]
    return found


def _chosen(part: Part, options: Mapping[str, object]) -> dict[str, CellSetup]:
    config = _config(part.result, options)
    try:
        setups = choose_cells(config, runnable=False)
        setups += selecting_cells(config, setups)
    except TenbinError as error:
        raise ResultError(
            f"{part.name}: its tasks cannot be found: {error.message}",
            "groups are computed anew, which needs the task files the run was asked with: "
            "--include_path",
        ) from error
    return {setup.cell.id: setup for setup in setups}


def _config(result: RunResult, options: Mapping[str, object]) -> RunConfig:
    known = {
        name: value
        for name, value in options.items()
        if name in OPTIONS and name not in _LEFT_OUT and value not in (None, [], {})
    }
    if result.template_choice is not None and known.get("template") == AUTO:
        known |= {"template": None, "templates": [ALL]}
        known["select_on"] = result.template_choice.select_on
    return build_config(known).replaced(trust_tasks=False)


def stored_outcomes(
    parts: Sequence[Part], cells: Sequence[Cell], own: Sequence[MergedCell]
) -> StoredOutcomes:
    """The outcomes of all cells.

    Args:
        parts: The runs.
        cells: The cells, under which they are to be found.
        own: Where each of them is stored.
    """
    found = StoredOutcomes()
    for number, part in enumerate(parts):
        wanted = {
            one.own_id: cell for one, cell in zip(own, cells, strict=True) if one.part == number
        }
        documents: dict[str, dict[str, list[Outcome]]] = {id: {} for id in wanted}
        samples = (one for one in part.stored.samples(_READ) if one.id in wanted)
        for (id, _), outcomes in outcomes_of(samples).items():
            for outcome in outcomes:
                documents[id].setdefault(outcome.document, []).append(outcome)
        for id, cell in wanted.items():
            found.add(cell, documents[id])
    return found


def merged_groups(
    parts: Sequence[Part], cells: Sequence[MergedCell]
) -> tuple[list[GroupScore], list[CellSetup]]:
    """The groups of the merged run, and the setups of its cells.

    Groups of tasks are found among all cells. A group that a run named has the cells of that run,
    and of other runs those tasks that it lacks there.
    """
    setups = [
        replace(setup, cell=replace(setup.cell, mark=_mark(setup.cell, one.id)))
        for one, setup in zip(cells, cell_setups(parts, cells), strict=True)
    ]
    outcomes = stored_outcomes(parts, [setup.cell for setup in setups], cells)
    groups = groups_of_tasks(setups, outcomes)
    rows = {
        setup.cell: _rows(parts[one.part].result, one.own_id)
        for one, setup in zip(cells, setups, strict=True)
    }
    named: list[GroupScore] = []
    for number in range(len(parts)):
        members = _members(number, cells, setups)
        # Cells of one run belong together, whatever marks tell them from those of other runs.
        plain = {setup.cell: replace(setup.cell, mark=mark) for setup, mark in members}
        for group in _named(members, plain, outcomes, rows):
            _add(named, group, setups, number)
    return [*groups, *named], setups


def _mark(cell: Cell, id: str) -> str:
    return id.removeprefix(replace(cell, mark="").id)


def _members(
    number: int, cells: Sequence[MergedCell], setups: Sequence[CellSetup]
) -> list[tuple[CellSetup, str]]:
    """The cells of groups that one run names, each with the mark that it had in its run."""
    own = [
        (setup, _mark(setup.cell, id))
        for one, setup in zip(cells, setups, strict=True)
        for part, id in ((one.part, one.own_id), *one.also)
        if part == number
    ]
    groups = tuple(dict.fromkeys(group for setup, _ in own for group in setup.groups))
    marks = {mark for _, mark in own}
    if not groups or len(marks) > 1:
        return own
    there = {setup.task.name for setup, _ in own}
    found = list(own)
    for setup in setups:
        lacking = tuple(
            group
            for group in groups
            if setup.task.name in group.tasks() and setup.task.name not in there
        )
        if lacking and not setup.selects:
            found.append((replace(setup, groups=lacking), next(iter(marks))))
    return found


def _named(
    members: Sequence[tuple[CellSetup, str]],
    plain: Mapping[Cell, Cell],
    outcomes: StoredOutcomes,
    rows: Mapping[Cell, Sequence[ScoreRow]],
) -> list[GroupScore]:
    """The groups of one run, with the ids of the merged run for their members."""
    setups = [replace(setup, cell=plain[setup.cell]) for setup, _ in members]
    view = StoredOutcomes(
        {plain[setup.cell]: outcomes.counts_by_cell[setup.cell] for setup, _ in members},
        {plain[setup.cell]: outcomes.by_cell[setup.cell] for setup, _ in members},
    )
    own_rows = {plain[setup.cell]: rows[setup.cell] for setup, _ in members}
    ids = {plain[setup.cell].id: setup.cell.id for setup, _ in members}
    return [
        replace(
            group,
            members=tuple(ids[one] for one in group.members),
            parts=tuple(replace(part, cell=ids[part.cell]) for part in group.parts),
        )
        for group in named_groups(setups, view, own_rows)
    ]


def _add(
    named: list[GroupScore], group: GroupScore, setups: Sequence[CellSetup], number: int
) -> None:
    """Add a group under an id that no other has; one with the same members is there already."""
    same = [one for one in named if one.id == group.id]
    if any(set(one.members) == set(group.members) for one in same):
        return
    if not group.members and same:
        return  # no mean here, and one in another run
    if same:
        cells = [setup.cell for setup in setups if setup.cell.id in group.members]
        shots, templates = {one.shots for one in cells}, {one.template for one in cells}
        marks = [f"@{next(iter(shots))}shot"] if len(shots) == 1 else []
        marks += [f"@{next(iter(templates))}"] if len(templates) == 1 else []
        taken = {one.id for one in named}
        free = (f"{group.id}{mark}" for mark in [*marks, f"@run{number + 1}"])
        group = replace(group, id=next(id for id in free if id not in taken))
    named.append(group)


def _rows(result: RunResult, id: str) -> list[ScoreRow]:
    """Stored scores as statistics have them, for means of what only whole tasks give."""
    return [
        ScoreRow(
            id,
            score.metric,
            score.value,
            score.stderr,
            score.detail.n,
            score.detail.failed,
            score.detail.higher_is_better,
            score.detail.stderr_method or "none",
            score.detail.low,
            score.detail.high,
            score.detail.clusters or 0,
            score.detail.interval_method or "none",
            score.detail.aggregation or "mean",
        )
        for score in result.scores(id)
    ]
