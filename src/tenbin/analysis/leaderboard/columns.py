"""Which cells of stored runs stand in one column.

Cells share a column if task, version, template, shots and the rows that are scored are the same;
groups if that holds for their members. What else differs is marked in the cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tenbin.analysis.compare.comparability import StoredCell
from tenbin.analysis.compare.groups import GroupMetric, GroupPair, group_metrics
from tenbin.analysis.compare.pairs import Pair, Wanted
from tenbin.analysis.leaderboard.models import Model
from tenbin.results.schema import CellConfig, MetricDetail, MetricScore, RunResult

NOT_SCORED = {
    "part": "a sweep on a budget has no score of a single prompt",
    "select": "its documents only chose a template",
}
"""Role of a cell without a score of its own → why."""


@dataclass(frozen=True, slots=True)
class TaskKey:
    """What cells of tasks in one column have in common."""

    task: str
    version: str
    template: str
    shots: int
    dataset: tuple[str | None, str | None, str]
    """Name, part and split."""
    digests: tuple[str, ...]
    """Checksums of the files that the split was read from."""


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What cells of groups in one column have in common."""

    group: str
    members: frozenset[TaskKey | str]
    """An id where the run holds no task of it."""
    weighting: str
    metrics: tuple[tuple[str, str], ...]
    """Task and metric that enters the mean, where the group defines it."""


Key: TypeAlias = TaskKey | GroupKey


@dataclass(frozen=True, slots=True)
class Place:
    """A cell or group of one run of one model."""

    model: int
    source: int
    """Position among the runs of the model."""
    result: RunResult
    id: str
    group: bool

    @property
    def details(self) -> Mapping[str, MetricDetail]:
        """Metric → what its value rests on."""
        return (self.result.group_details if self.group else self.result.details)[self.id]

    @property
    def cell(self) -> StoredCell:
        """The cell of a task, without its samples."""
        return StoredCell(self.result, self.id, {})

    @property
    def members(self) -> list[str]:
        """Ids of the tasks of a group; of a task itself."""
        return self.result.group_subtasks[self.id] if self.group else [self.id]

    @property
    def tasks(self) -> list[str]:
        """The members that the run holds as tasks."""
        return [id for id in self.members if id in self.result.configs]

    def score(self, metric: str) -> MetricScore | None:
        """The score under a metric."""
        result = self.result
        found = result.group_scores(self.id) if self.group else result.scores(self.id)
        return next((one for one in found if one.metric == metric), None)


def places_of(models: Sequence[Model]) -> dict[Key, list[Place]]:
    """All columns with the cells in them, groups first; of a model only one in each.

    Of several runs that is the one with the most documents, of these the newest; an interrupted
    one is taken only where there is no other.
    """
    groups: dict[Key, dict[int, list[Place]]] = {}
    tasks: dict[Key, dict[int, list[Place]]] = {}
    for at, model in enumerate(models):
        for number, source in enumerate(model.sources):
            result = source.result
            for id in result.groups:
                if result.group_details[id] and result.group_subtasks[id]:
                    place = Place(at, number, result, id, True)
                    groups.setdefault(group_key(result, id), {}).setdefault(at, []).append(place)
            for id, config in result.configs.items():
                if config.role not in NOT_SCORED:
                    place = Place(at, number, result, id, False)
                    tasks.setdefault(task_key(result, id), {}).setdefault(at, []).append(place)
    return {
        key: [min(own, key=_less_known) for own in found.values()]
        for key, found in [*groups.items(), *tasks.items()]
    }


def _less_known(place: Place) -> tuple[bool, int]:
    """Orders the cells of a model's runs, the most telling first."""
    return bool(place.result.partial), -documents_of(place)


def documents_of(place: Place) -> int:
    """How many documents were asked."""
    return sum(place.result.n_samples[id].effective for id in place.tasks)


def task_key(result: RunResult, id: str) -> TaskKey:
    """What the cells of a task's column have in common."""
    config = result.configs[id]
    files = result.data[id].get(config.split, ())
    return TaskKey(
        config.task,
        config.version,
        config.template,
        config.num_fewshot,
        (config.dataset, config.dataset_config, config.split),
        tuple(file.sha256 for file in files),
    )


def group_key(result: RunResult, id: str) -> GroupKey:
    """What the cells of a group's column have in common."""
    members = result.group_subtasks[id]
    definition = result.group_definitions.get(id)
    return GroupKey(
        id,
        frozenset(task_key(result, one) if one in result.configs else one for one in members),
        "" if definition is None else definition.weighting,
        ()
        if definition is None
        else tuple(
            sorted((_task(result, one), metric) for one, metric in definition.metrics.items())
        ),
    )


def _task(result: RunResult, id: str) -> str:
    return result.configs[id].task if id in result.configs else id


def group_mean(place: Place, metric: str) -> GroupMetric | str:
    """What the mean of a group is made of, or why it cannot be computed from documents again."""
    absent = [id for id in place.members if id not in place.result.configs]
    if absent:
        return f"{absent[0]} is no task of the run"
    cells = {id: StoredCell(place.result, id, {}) for id in place.members}
    pairs = tuple(Pair(0, 0, cell, cell) for cell in cells.values())
    pair = GroupPair(0, 0, place.id, place.id, place.result, place.result, pairs)
    return next(iter(group_metrics(pair, Wanted(metrics=(metric,)))), f"no {metric}")


def headline(place: Place) -> str:
    """The first metric."""
    return next(iter(place.details))


def why_missing(model: Model, key: Key, ids: Sequence[str]) -> str:
    """Why a model has no cell in a column.

    Args:
        model: The model.
        key: The column.
        ids: What runs of other models call its cells.
    """
    results = [source.result for source in model.sources]
    reasons = _of_group(results, key) if isinstance(key, GroupKey) else _of_task(results, key, ids)
    return next(reasons, "not run")


def _of_task(results: Sequence[RunResult], key: TaskKey, ids: Sequence[str]) -> Iterator[str]:
    for result in results:
        yield from (result.skipped[id] for id in (*ids, key.task) if id in result.skipped)
    for result in results:
        for id, config in result.configs.items():
            if config.role in NOT_SCORED and task_key(result, id) == key:
                yield NOT_SCORED[config.role or ""]
    others = [
        task_key(result, id)
        for result in results
        for id, config in result.configs.items()
        if config.task == key.task and config.role not in NOT_SCORED
    ]
    if others:
        yield f"run with {'; '.join(dict.fromkeys(distinguished_by(one, key) for one in others))}"


def _of_group(results: Sequence[RunResult], key: GroupKey) -> Iterator[str]:
    for result in results:
        if key.group in result.skipped:
            yield result.skipped[key.group]
        if key.group in result.groups:
            yield "its mean is made of other tasks or settings"
    known = {task_key(result, id) for result in results for id in result.configs}
    held = len(known & key.members)
    if held:
        yield f"only {held} of its {len(key.members)} tasks"


def distinguished_by(one: TaskKey, other: TaskKey) -> str:
    """What the first does not have in common with the second: `template 0.3, 2-shot`."""
    parts = []
    if one.version != other.version:
        parts.append(f"version {one.version}")
    if one.template != other.template:
        parts.append(f"template {one.template}")
    if one.shots != other.shots:
        parts.append(f"{one.shots}-shot")
    if one.dataset != other.dataset:
        parts.append(" ".join(name for name in one.dataset if name))
    elif one.digests != other.digests:
        parts.append(f"other rows ({short_digest(one)})")
    return ", ".join(parts) or "the same settings"


def short_digest(key: TaskKey) -> str:
    """The beginning of the checksum of the rows."""
    return key.digests[0][:8] if key.digests else "no file"


def data_name(config: CellConfig, place: Place) -> str:
    """The version of the rows, or the beginning of their checksum."""
    files = place.result.data[place.id].get(config.split, ())
    versions = dict.fromkeys(file.version or file.sha256[:8] for file in files)
    return ", ".join(versions) or "no file"
