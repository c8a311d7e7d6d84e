"""The documents of a column's cells, and the ranks that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tenbin.analysis.compare.groups import GroupMetric
from tenbin.analysis.compare.rows import top_of
from tenbin.analysis.leaderboard.columns import Place, TaskKey, group_mean, task_key
from tenbin.analysis.leaderboard.models import Model, Source
from tenbin.errors import ResultError
from tenbin.results.samples import outcomes_of
from tenbin.results.schema import Sample
from tenbin.statistics.groups import scaled
from tenbin.statistics.measured import Measured, known_aggregation, measured
from tenbin.statistics.ranks import Ranking, rank_models
from tenbin.statistics.shared_documents import RankedMember


@dataclass(frozen=True, slots=True)
class Part:
    """One task of what a column's score is made of."""

    ids: tuple[str, ...]
    """For each place, what its run calls the task."""
    metric: str
    aggregation: str
    family: str
    weight: float | None
    scale: float
    """What its values are multiplied by, so that all parts are on one scale."""


def parts_of(places: Sequence[Place], metric: str) -> list[Part] | str:
    """What the score of some comparable cells is made of, or why documents do not give it again."""
    first = places[0]
    if not first.group:
        detail, config = first.details[metric], first.cell.config
        if not detail.aggregation:
            return f"the run does not say how {metric} is made of documents"
        if not known_aggregation(detail.aggregation):
            return f"a function of the task aggregates {metric}"
        ids = tuple(place.id for place in places)
        return [Part(ids, metric, detail.aggregation, config.family or config.task, 1.0, 1.0)]
    mean = group_mean(first, metric)
    if isinstance(mean, str):
        return mean
    known = [{task_key(one.result, id): id for id in one.members} for one in places]
    return [_part(mean, at, known) for at in range(len(mean.members))]


def _part(mean: GroupMetric, at: int, known: Sequence[Mapping[TaskKey, str]]) -> Part:
    pair, metric = mean.members[at]
    cell = pair.baseline
    detail, key = cell.result.details[cell.id][metric], task_key(cell.result, cell.id)
    top, own = group_top(mean), top_of(detail)
    return Part(
        tuple(ids[key] for ids in known),
        metric,
        detail.aggregation,
        cell.config.family or cell.config.task,
        mean.weights[at],
        1.0 if top is None or own is None else top / own,
    )


def group_top(mean: GroupMetric) -> float | None:
    """The highest value of a group's mean; None if one of its members has none."""
    details = [
        pair.baseline.result.details[pair.baseline.id][metric] for pair, metric in mean.members
    ]
    unbounded = any(top_of(detail) is None for detail in details)
    return None if unbounded else 100.0 if mean.detail.unit == "%" else 1.0


class Documents:
    """The documents of all cells that are ranked; each run is read once."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models
        self._wanted: dict[tuple[int, int], dict[tuple[str, str], str]] = {}
        self._found: dict[tuple[int, int], dict[tuple[str, str], Measured]] = {}

    def want(self, places: Sequence[Place], parts: Sequence[Part]) -> None:
        """Say what will be asked for, before anything is read."""
        for part in parts:
            for place, id in zip(places, part.ids, strict=True):
                own = self._wanted.setdefault((place.model, place.source), {})
                own[id, part.metric] = part.aggregation

    def rank(
        self, places: Sequence[Place], parts: Sequence[Part], metric: str, top: float | None
    ) -> Ranking | str:
        """Rank the cells of a column, or say why their documents do not allow it."""
        first = places[0]
        seed = abs(first.result.configs[parts[0].ids[0]].seed)
        better = first.details[metric].higher_is_better
        try:
            return rank_models(self.members(places, parts), seed, better, top)
        except ResultError as error:
            # Runs with other limits, for one, may share no document.
            return error.message

    def members(self, places: Sequence[Place], parts: Sequence[Part]) -> list[RankedMember]:
        """The documents of all cells, task by task."""
        return [
            RankedMember(
                part.family,
                tuple(
                    scaled(self._measured(place, id, part.metric), part.scale)
                    for place, id in zip(places, part.ids, strict=True)
                ),
                part.weight,
            )
            for part in parts
        ]

    def _measured(self, place: Place, id: str, metric: str) -> Measured:
        at = place.model, place.source
        source = self._models[place.model].sources[place.source]
        if at not in self._found:
            self._found[at] = _read(source, self._wanted[at])
        return self._found[at][id, metric]


def _read(source: Source, wanted: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], Measured]:
    """The documents of some metrics of a run.

    Raises:
        ResultError: No sample has an outcome of a metric that has a score.
    """
    outcomes = outcomes_of(_needed(source, wanted))
    for id, metric in wanted:
        if (id, metric) not in outcomes:
            raise ResultError(
                f"{source.name}: {id} has a score of {metric}, but no sample has an outcome of it",
                "the stored run is damaged: run the same command again",
            )
    return {key: measured(wanted[key], outcomes[key]) for key in wanted}


def _needed(source: Source, wanted: Mapping[tuple[str, str], str]) -> Iterator[Sample]:
    """Samples with the outcomes that are needed, so that others take no memory."""
    for sample in source.samples():
        own = [one for one in sample.outcomes if (sample.id, one.metric) in wanted]
        if own:
            yield replace(sample, outcomes=own)
