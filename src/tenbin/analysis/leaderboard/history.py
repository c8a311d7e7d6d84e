"""The runs of a model by date, with the score of each in every column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tenbin.analysis.document import ABSENT
from tenbin.analysis.leaderboard.columns import NOT_SCORED, Key, Place, group_key, task_key
from tenbin.analysis.leaderboard.models import Source, called


@dataclass(frozen=True, slots=True)
class HistoryScore:
    """A run's score in a column."""

    column: int
    """Position among the columns of the leaderboard."""
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """One run of a model."""

    name: str
    date: str
    fingerprint: str
    """Of the weights: they may have changed under the same name."""
    scores: tuple[HistoryScore, ...]
    tags: tuple[str, ...] = ()
    note: str | None = field(default=None, metadata=ABSENT)


@dataclass(frozen=True, slots=True)
class ModelHistory:
    """All runs of models that the backend calls by one name, whatever their weights are."""

    name: str
    runs: tuple[HistoryRun, ...]
    """The newest first."""


def histories(
    sources: Sequence[Source], columns: Mapping[Key, tuple[int, str]]
) -> list[ModelHistory]:
    """The runs of each model that has several.

    Args:
        sources: Stored runs.
        columns: Position and metric of each column.
    """
    known: dict[str, list[Source]] = {}
    for source in sources:
        known.setdefault(called(source), []).append(source)
    return [
        ModelHistory(name, tuple(_run(source, columns) for source in _newest_first(own)))
        for name, own in known.items()
        if len(own) > 1
    ]


def _newest_first(sources: Sequence[Source]) -> list[Source]:
    return sorted(sources, key=lambda one: one.result.date, reverse=True)


def _run(source: Source, columns: Mapping[Key, tuple[int, str]]) -> HistoryRun:
    result = source.result
    return HistoryRun(
        source.name,
        result.date,
        result.fingerprint,
        tuple(sorted(_scores(source, columns), key=lambda one: one.column)),
        tuple(result.tags),
        result.note,
    )


def _scores(source: Source, columns: Mapping[Key, tuple[int, str]]) -> Iterator[HistoryScore]:
    result = source.result
    keys: list[tuple[Key, str, bool]] = [
        (group_key(result, id), id, True) for id in result.groups if result.group_details[id]
    ]
    keys += [
        (task_key(result, id), id, False)
        for id, config in result.configs.items()
        if config.role not in NOT_SCORED
    ]
    for key, id, group in keys:
        if key not in columns:
            continue
        at, metric = columns[key]
        score = Place(0, 0, result, id, group).score(metric)
        if score is not None and score.value is not None:
            yield HistoryScore(at, score.value, score.detail.low, score.detail.high)
