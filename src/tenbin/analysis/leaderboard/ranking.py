"""The documents of a column's cells, and the ranks that follow from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

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

_ACCURACY = re.compile(r"(balanced_)?acc")

Wanted: TypeAlias = Mapping[tuple[str, str], str]
"""Task id and metric → how its score is made of documents."""
Watch: TypeAlias = Callable[[str, int, int], None]
"""(what is done, such as `reading runs`; how many are done; of how many)."""


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


@dataclass(frozen=True, slots=True)
class RunDocuments:
    """What a leaderboard needs of the documents of one run."""

    measured: Mapping[tuple[str, str], Measured]
    """By task id and metric."""
    chances: Mapping[str, float]
    """Task id → the share that guessing answers right, where every document has choices."""


ReadDocuments: TypeAlias = Callable[[Source, Wanted], RunDocuments]


class UnreadableRunsError(ResultError):
    """Documents of some runs cannot be read."""

    def __init__(self, errors: Mapping[str, ResultError]) -> None:
        """The message is that of the first.

        Args:
            errors: By the name of the run.
        """
        first = next(iter(errors.values()))
        super().__init__(first.message, first.hint)
        self.reasons = {name: error.message for name, error in errors.items()}
        """Run → why."""


class Documents:
    """The documents of all cells that are ranked; each run is read once."""

    def __init__(
        self,
        models: Sequence[Model],
        read: ReadDocuments | None = None,
    ) -> None:
        """Nothing is read yet.

        Args:
            models: The rows.
            read: Reads the documents of a run; `read_documents` by default.
        """
        self._models = models
        self._read = read or read_documents
        self._wanted: dict[tuple[int, int], dict[tuple[str, str], str]] = {}
        self._found: dict[tuple[int, int], RunDocuments] = {}

    def want(self, places: Sequence[Place], parts: Sequence[Part]) -> None:
        """Say what will be asked for, before anything is read."""
        for part in parts:
            for place, id in zip(places, part.ids, strict=True):
                own = self._wanted.setdefault((place.model, place.source), {})
                own[id, part.metric] = part.aggregation

    def read(self, watch: Watch) -> None:
        """Read all that is wanted.

        Raises:
            UnreadableRunsError: Runs are damaged; all of them are named.
        """
        errors: dict[str, ResultError] = {}
        for number, (at, wanted) in enumerate(self._wanted.items()):
            watch("reading runs", number, len(self._wanted))
            source = self._models[at[0]].sources[at[1]]
            try:
                self._found[at] = self._read(source, wanted)
            except ResultError as error:
                errors[source.name] = error
        if errors:
            raise UnreadableRunsError(errors)

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
                    scaled(self._of(place).measured[id, part.metric], part.scale)
                    for place, id in zip(places, part.ids, strict=True)
                ),
                part.weight,
            )
            for part in parts
        ]

    def chance(
        self, places: Sequence[Place], parts: Sequence[Part], top: float | None
    ) -> float | None:
        """What guessing would score, of accuracies whose documents all have choices."""
        first, total, weights = self._of(places[0]), 0.0, 0.0
        for part in parts:
            share = first.chances.get(part.ids[0])
            if share is None or top is None or not _ACCURACY.match(part.metric):
                return None
            measured = first.measured[part.ids[0], part.metric]
            weight = len(measured.documents) if part.weight is None else part.weight
            total += weight * share * top
            weights += weight
        return total / weights if weights else None

    def _of(self, place: Place) -> RunDocuments:
        return self._found[place.model, place.source]


def read_documents(source: Source, wanted: Wanted) -> RunDocuments:
    """The documents of some metrics of a run.

    Raises:
        ResultError: The samples are damaged, or none has an outcome of a metric with a score.
    """
    choices = _Choices()
    outcomes = outcomes_of(choices.through(_needed(source, wanted)))
    for id, metric in wanted:
        if (id, metric) not in outcomes:
            raise ResultError(
                f"{source.name}: {id} has a score of {metric}, but no sample has an outcome of it",
                "the stored run is damaged: run the same command again",
            )
    found = {key: measured(wanted[key], outcomes[key]) for key in wanted}
    return RunDocuments(found, choices.chances())


@dataclass(slots=True)
class _Choices:
    """Counts the choices of documents as they pass."""

    shares: dict[str, float] = field(default_factory=dict)
    """Task id → the sum of the chances of its documents."""
    counts: dict[str, int] = field(default_factory=dict)
    without: set[str] = field(default_factory=set)
    """Tasks of which a document has no choices."""

    def through(self, samples: Iterator[Sample]) -> Iterator[Sample]:
        for sample in samples:
            if sample.num_choices:
                id = sample.id
                self.shares[id] = self.shares.get(id, 0.0) + 1 / sample.num_choices
                self.counts[id] = self.counts.get(id, 0) + 1
            else:
                self.without.add(sample.id)
            yield sample

    def chances(self) -> dict[str, float]:
        return {
            id: total / self.counts[id]
            for id, total in self.shares.items()
            if id not in self.without
        }


def _needed(source: Source, wanted: Wanted) -> Iterator[Sample]:
    """Samples with the outcomes that are needed, so that others take no memory."""
    for sample in source.samples():
        own = [one for one in sample.outcomes if (sample.id, one.metric) in wanted]
        if own:
            yield replace(sample, outcomes=own)
