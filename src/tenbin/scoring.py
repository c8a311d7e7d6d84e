"""From answers to scores: judge every document, then summarise every cell and group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenbin.metrics.judge import judge, metric_names
from tenbin.planning.plan import Planned
from tenbin.preparation import CellSetup
from tenbin.records import DEFAULT_TEMPLATE, Cell, Failure, Outcome, Response, ScoreRow
from tenbin.statistics.errors import summarise
from tenbin.statistics.groups import combine


@dataclass(frozen=True, slots=True)
class Judged:
    """A document with its answer and what the metrics say of it."""

    planned: Planned
    response: Response
    unconditional: Response | None
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class GroupScore:
    """The scores of several cells together."""

    id: str
    members: tuple[str, ...]
    rows: tuple[ScoreRow, ...]


def judge_all(
    setups: Sequence[CellSetup], planned: Sequence[Planned], responses: Mapping[str, Response]
) -> list[Judged]:
    """Judge every document of every cell."""
    tasks = {setup.cell: setup.task for setup in setups}
    judged = []
    for one in planned:
        response = responses[one.key]
        bare = responses[one.unconditional_key] if one.unconditional_key else None
        outcomes = judge(tasks[one.prompt.cell], one.prompt, response, bare)
        judged.append(Judged(one, response, bare, tuple(outcomes)))
    return judged


def summarise_cells(
    setups: Sequence[CellSetup], judged: Sequence[Judged]
) -> dict[Cell, list[ScoreRow]]:
    """Every metric of every cell, with its error."""
    outcomes: dict[tuple[Cell, str], list[Outcome]] = {}
    for one in judged:
        for outcome in one.outcomes:
            outcomes.setdefault((outcome.cell, outcome.metric), []).append(outcome)
    return {
        setup.cell: [
            summarise(
                name,
                metric.aggregation,
                outcomes[setup.cell, name],
                setup.cell.seed,
                setup.cell.id,
                metric.higher_is_better,
            )
            for name, metric in metric_names(setup.task)
            if (setup.cell, name) in outcomes
        ]
        for setup in setups
    }


def summarise_groups(
    setups: Sequence[CellSetup], rows: Mapping[Cell, Sequence[ScoreRow]]
) -> list[GroupScore]:
    """Groups whose members were run under the same template: means weighted by documents."""
    members: dict[str, list[Cell]] = {}
    for setup in setups:
        if setup.task.group is not None:
            members.setdefault(_group_id(setup.task.group, setup.cell), []).append(setup.cell)
    return [
        GroupScore(
            group,
            tuple(cell.id for cell in cells),
            tuple(combine(group, [rows[cell] for cell in cells])),
        )
        for group, cells in members.items()
        if len(cells) > 1
    ]


def _group_id(group: str, cell: Cell) -> str:
    if cell.template == DEFAULT_TEMPLATE:
        return f"{group}{cell.mark}"
    return f"{group}-{cell.version}-{cell.template}{cell.mark}"


def failure_reasons(judged: Sequence[Judged]) -> dict[str, dict[str, int]]:
    """How often each kind of failure happened, by cell."""
    reasons: dict[str, Counter[str]] = {}
    for one in judged:
        failed = one.response if isinstance(one.response, Failure) else one.unconditional
        if isinstance(failed, Failure):
            counter = reasons.setdefault(one.planned.prompt.cell.id, Counter())
            counter[f"{failed.kind}: {failed.message}"] += 1
    return {cell: dict(counter.most_common()) for cell, counter in reasons.items()}
