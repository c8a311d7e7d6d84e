"""Which groups of stored runs are compared, and their members with weights.

The group's mean is built again from the documents that both runs scored, with the weights of its
own score unless the user asks for others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.analysis.compare.comparability import StoredCell
from tenbin.analysis.compare.pairs import Pair, Side, Wanted, matched_ids, run_pairs
from tenbin.errors import ResultError
from tenbin.results.schema import MetricDetail, RunResult
from tenbin.statistics.measured import known_aggregation

Weighting = Literal["own", "plain", "size"]
BY_SIZE = "mean weighted by documents"
"""How results name the weighting by documents of a group of the catalogue."""
PLAIN = "plain mean of its tasks"


@dataclass(frozen=True, slots=True)
class GroupPair:
    """One group in two runs, with its members paired."""

    first: int
    second: int
    id: str
    other_id: str
    baseline: RunResult
    other: RunResult
    members: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class GroupMetric:
    """One score of a group: what it is made of."""

    pair: GroupPair
    metric: str
    detail: MetricDetail
    members: tuple[tuple[Pair, str], ...]
    """Members, each with the metric that enters the mean."""
    weights: tuple[float | None, ...]
    """One for each; None: as many as it has documents."""
    weighting: str
    """In words."""


def group_pairs(
    sides: Sequence[Side], cells: Sequence[Mapping[str, StoredCell]], wanted: Wanted
) -> tuple[list[GroupPair], dict[str, str]]:
    """The groups to compare, and the reasons why others are not.

    Raises:
        ResultError: A group that is named cannot be compared.
    """
    found, refused = [], {}
    for one, two in run_pairs(sides, wanted):
        here, there = sides[one].result, sides[two].result
        for id, other_id in matched_ids(here.groups, there.groups, wanted, (one, two)):
            if id not in here.groups or other_id not in there.groups:
                continue
            members = _members(here, there, id, other_id)
            if isinstance(members, str):
                refused[id] = members
                continue
            absent = [a for a, b in members if a not in cells[one] or b not in cells[two]]
            if absent:
                refused[id] = f"{absent[0]} has no samples in one of the runs"
                continue
            pairs = [Pair(one, two, cells[one][a], cells[two][b]) for a, b in members]
            found.append(GroupPair(one, two, id, other_id, here, there, tuple(pairs)))
    return found, refused


def _members(
    here: RunResult, there: RunResult, id: str, other_id: str
) -> list[tuple[str, str]] | str:
    """Ids of the members in both runs, or why they do not go together."""
    mine, theirs = here.group_subtasks[id], there.group_subtasks[other_id]
    if not mine or not theirs:
        return "it has no mean in one of the runs"
    if set(mine) == set(theirs):
        return [(one, one) for one in mine]
    tasks = {there.configs[one].task: one for one in theirs if one in there.configs}
    if len(tasks) < len(theirs) or len(theirs) != len(mine):
        return f"{len(mine)} tasks in one run, {len(theirs)} in the other"
    absent = [one for one in mine if here.configs[one].task not in tasks]
    if absent:
        return f"{absent[0]} has no counterpart in the other run"
    return [(one, tasks[here.configs[one].task]) for one in mine]


def group_metrics(pair: GroupPair, wanted: Wanted) -> Iterator[GroupMetric | str]:
    """The scores that a group is compared by, or the reason why one is not.

    By default the first one that both runs have.

    Raises:
        ResultError: A metric that is named is missing in a group that is named.
    """
    mine, theirs = pair.baseline.group_details[pair.id], pair.other.group_details[pair.other_id]
    shared = [metric for metric in mine if metric in theirs]
    names = shared if "all" in wanted.metrics else list(wanted.metrics) or shared[:1]
    for name in names:
        if name in shared:
            yield _made_of(pair, name, mine[name], wanted.weighting)
        elif pair.id in wanted.cells:
            raise ResultError(
                f"{pair.id}: no metric {name!r} on both sides",
                f"there are: {', '.join(shared)}, or `all`",
            )
    if not shared:
        yield "no score in common"


def _made_of(
    pair: GroupPair, metric: str, detail: MetricDetail, weighting: Weighting
) -> GroupMetric | str:
    definition = pair.baseline.group_definitions.get(pair.id)
    if definition is not None:
        other = pair.other.group_definitions.get(pair.other_id)
        names = [definition.metrics[one.baseline.id] for one in pair.members]
        if other is None or names != [other.metrics.get(one.other.id) for one in pair.members]:
            return "the runs define it with different metrics"
        members = tuple(zip(pair.members, names, strict=True))
    else:
        members = tuple((one, metric) for one in pair.members if metric in _details(one.baseline))
    for one, name in members:
        for cell in (one.baseline, one.other):
            if name not in _details(cell):
                return f"{cell.id} has no {name} in one of the runs"
            if not known_aggregation(_details(cell)[name].aggregation):
                return f"a function of the task aggregates {name} of {cell.id}"
    words = _weighting(pair, metric, members, weighting)
    weights: list[float | None] = [None] * len(members)
    if words == PLAIN:
        weights = [1 / len(members)] * len(members)
    elif words != BY_SIZE and definition is not None:
        weights = [float(definition.weights[one.baseline.id]) for one, _ in members]
    return GroupMetric(pair, metric, detail, members, tuple(weights), words)


def _weighting(
    pair: GroupPair, metric: str, members: Sequence[tuple[Pair, str]], wanted: Weighting
) -> str:
    """How members are weighted, in words; those of lm-eval's files do not store it."""
    if wanted != "own":
        return BY_SIZE if wanted == "size" else PLAIN
    definition = pair.baseline.group_definitions.get(pair.id)
    if definition is not None:
        return definition.weighting
    value = pair.baseline.groups[pair.id][metric]
    scores = [
        (pair.baseline.results[one.baseline.id][name], _details(one.baseline)[name].n)
        for one, name in members
    ]
    known = [(value, n) for value, n in scores if isinstance(value, int | float)]
    total = sum(n for _, n in known)
    by_size = math.fsum(value * n for value, n in known) / total if total else 0.0
    same = isinstance(value, int | float) and math.isclose(value, by_size, rel_tol=1e-9)
    return BY_SIZE if same else PLAIN


def _details(cell: StoredCell) -> Mapping[str, MetricDetail]:
    return cell.result.details[cell.id]
