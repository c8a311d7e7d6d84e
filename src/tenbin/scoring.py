"""From answers to scores: judge every document, then summarise every cell and group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenbin.metrics.judge import judge, metric_names
from tenbin.metrics.registry import Metric
from tenbin.planning.plan import Planned
from tenbin.preparation import CellSetup
from tenbin.records import DEFAULT_TEMPLATE, Cell, Failure, Outcome, Response, ScoreRow
from tenbin.statistics.errors import MemberOutcomes, summarise, summarise_group


@dataclass(frozen=True, slots=True)
class Judged:
    """A document with its answer and what the metrics say of it."""

    planned: Planned
    response: Response
    unconditional: Response | None
    outcomes: tuple[Outcome, ...]
    further: tuple[Response, ...] = ()
    """The second and later answers that were drawn."""

    @property
    def drawn(self) -> tuple[Response, ...]:
        """All answers to the document."""
        return (self.response, *self.further)


@dataclass(frozen=True, slots=True)
class GroupScore:
    """The scores of several cells together."""

    id: str
    members: tuple[str, ...]
    rows: tuple[ScoreRow, ...]
    """Means weighted by documents."""
    unweighted: tuple[ScoreRow, ...]
    """Plain means of the members' scores, in the same order."""


def judge_all(
    setups: Sequence[CellSetup], planned: Sequence[Planned], responses: Mapping[str, Response]
) -> list[Judged]:
    """Judge every document of every cell."""
    tasks = {setup.cell: setup.task for setup in setups}
    judged = []
    for one in planned:
        response = responses[one.key]
        bare = responses[one.unconditional_key] if one.unconditional_key else None
        further = tuple(responses[key] for key in one.further_keys)
        outcomes = judge(tasks[one.prompt.cell], one.prompt, response, bare, further)
        judged.append(Judged(one, response, bare, tuple(outcomes), further))
    return judged


def summarise_cells(
    setups: Sequence[CellSetup], judged: Sequence[Judged]
) -> dict[Cell, list[ScoreRow]]:
    """Every metric of every cell, with its error."""
    outcomes = _by_metric(judged)
    return {
        setup.cell: [
            summarise(
                name,
                metric.aggregation,
                outcomes[setup.cell, name],
                setup.cell.seed,
                setup.cell.id,
                metric.higher_is_better,
                metric.top,
            )
            for name, metric in metric_names(setup.task)
            if (setup.cell, name) in outcomes
        ]
        for setup in setups
    }


def summarise_groups(setups: Sequence[CellSetup], judged: Sequence[Judged]) -> list[GroupScore]:
    """Groups whose members were run under the same template, from their documents."""
    members: dict[str, list[CellSetup]] = {}
    for setup in setups:
        if setup.task.group is not None:
            members.setdefault(_group_id(setup.task.group, setup.cell), []).append(setup)
    outcomes = _by_metric(judged)
    groups = []
    for group, cells in members.items():
        if len(cells) < 2:
            continue
        used = [dict(metric_names(setup.task)) for setup in cells]
        pairs = [
            _summarise_members(group, cells, name, metric, outcomes)
            for name, metric in used[0].items()
            if all(names.get(name) == metric for names in used)
            if all((setup.cell, name) in outcomes for setup in cells)
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
    outcomes: Mapping[tuple[Cell, str], Sequence[Outcome]],
) -> tuple[ScoreRow, ScoreRow]:
    return summarise_group(
        name,
        metric.aggregation,
        [MemberOutcomes(one.task.family, outcomes[one.cell, name]) for one in setups],
        setups[0].cell.seed,
        group,
        metric.higher_is_better,
        metric.top,
    )


def _by_metric(judged: Sequence[Judged]) -> dict[tuple[Cell, str], list[Outcome]]:
    outcomes: dict[tuple[Cell, str], list[Outcome]] = {}
    for one in judged:
        for outcome in one.outcomes:
            outcomes.setdefault((outcome.cell, outcome.metric), []).append(outcome)
    return outcomes


def _group_id(group: str, cell: Cell) -> str:
    if cell.template == DEFAULT_TEMPLATE:
        return f"{group}{cell.mark}"
    return f"{group}-{cell.version}-{cell.template}{cell.mark}"


def failure_reasons(judged: Sequence[Judged]) -> dict[str, dict[str, int]]:
    """How often each kind of failure happened, by cell."""
    reasons: dict[str, Counter[str]] = {}
    for one in judged:
        asked = (*one.drawn, one.unconditional)
        failed = next((answer for answer in asked if isinstance(answer, Failure)), None)
        if failed is not None:
            counter = reasons.setdefault(one.planned.prompt.cell.id, Counter())
            counter[f"{failed.kind}: {failed.message}"] += 1
    return {cell: dict(counter.most_common()) for cell, counter in reasons.items()}
