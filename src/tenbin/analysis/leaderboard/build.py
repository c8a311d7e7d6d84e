"""Builds a leaderboard from stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tenbin.analysis.compare.comparability import KINDS, Difference
from tenbin.analysis.compare.rows import top_of
from tenbin.analysis.leaderboard.arrangement import Arranged, arrange
from tenbin.analysis.leaderboard.columns import (
    GroupKey,
    Key,
    Place,
    data_name,
    group_mean,
    headline,
    places_of,
    why_missing,
)
from tenbin.analysis.leaderboard.marks import is_comparable, marks, reference_of
from tenbin.analysis.leaderboard.models import Model, Source, models_of
from tenbin.analysis.leaderboard.ranking import Documents, Part, group_top, parts_of
from tenbin.analysis.leaderboard.report import (
    By,
    LeaderboardCell,
    LeaderboardColumn,
    LeaderboardModel,
    LeaderboardReport,
    LeaderboardRun,
)
from tenbin.errors import ConfigError, ResultError
from tenbin.statistics.ranks import Ranking
from tenbin.version import __version__

SCHEMA_VERSION = 1
_ENGLISH = "en"
_ALONE = "no other model has a comparable score"


def build_leaderboard(
    sources: Sequence[Source],
    by: By = "suite",
    allow: Sequence[str] = (),
    unread: Mapping[str, str] | None = None,
) -> LeaderboardReport:
    """Models × tasks and groups, with ranks where documents allow it.

    Args:
        sources: Stored runs.
        by: What columns are arranged by.
        allow: Kinds of difference with which cells are ranked together all the same.
        unread: Runs of a folder that could not be read → why.

    Raises:
        ConfigError: A kind of difference is unknown.
        ResultError: There is no score, or a run is damaged.
    """
    unknown = [kind for kind in allow if kind not in KINDS]
    if unknown:
        raise ConfigError(f"--allow {unknown[0]}: unknown", f"what may differ: {', '.join(KINDS)}")
    models = models_of(sources)
    columns = {
        key: _Column.of(key, places, models, allow) for key, places in places_of(models).items()
    }
    arranged = arrange([(key, column.reference) for key, column in columns.items()], by)
    if not arranged:
        raise ResultError(
            "the runs have no score to show", "a sweep on a budget is shown by `tenbin sweep RUN`"
        )
    documents = Documents(models)
    for one in arranged:
        columns[one.key].announce(documents)
    built = [columns[one.key].build(one, documents) for one in arranged]
    order = _order(built[0])
    report = LeaderboardReport(
        tenbin_version=__version__,
        schema_version=SCHEMA_VERSION,
        by=by,
        models=tuple(_described(models[at]) for at in order),
        columns=tuple(column for column, _ in built),
        cells=tuple(tuple(cells[at] for _, cells in built) for at in order),
        unread=unread or {},
    )
    return _with_gaps(report) if by == "language" else report


@dataclass(frozen=True, slots=True)
class _Column:
    """A column before it is ranked."""

    places: Mapping[int, Place]
    """By model."""
    reference: Place
    metric: str
    marks: Mapping[int, tuple[Difference, ...]]
    missing: Mapping[int, str]
    ranked: tuple[Place, ...]
    parts: list[Part] | str
    """What is ranked, or why nothing is."""

    @classmethod
    def of(
        cls, key: Key, found: Sequence[Place], models: Sequence[Model], allow: Sequence[str]
    ) -> _Column:
        reference = reference_of(found)
        metric = headline(reference)
        places, missing = {}, {}
        for place in found:
            score = place.score(metric)
            if score is None:
                missing[place.model] = f"has no {metric}, but {', '.join(place.details)}"
            elif score.value is None:
                missing[place.model] = _unscored(place)
            else:
                places[place.model] = place
        ids = list(dict.fromkeys(place.id for place in found))
        for at, model in enumerate(models):
            if at not in places and at not in missing:
                missing[at] = why_missing(model, key, ids)
        marked = {at: marks(place, reference) for at, place in places.items()}
        ranked = tuple(
            place for at, place in sorted(places.items()) if is_comparable(marked[at], allow)
        )
        parts = parts_of(ranked, metric) if len(ranked) > 1 else _ALONE
        return cls(places, reference, metric, marked, missing, ranked, parts)

    def announce(self, documents: Documents) -> None:
        """Say which documents the ranks will need."""
        if not isinstance(self.parts, str):
            documents.want(self.ranked, self.parts)

    def build(
        self, arranged: Arranged, documents: Documents
    ) -> tuple[LeaderboardColumn, list[LeaderboardCell]]:
        """The column, and its cells in the order of the models."""
        column = self._described(arranged)
        cells = {at: self._cell(at) for at in self.places}
        cells |= {at: LeaderboardCell(missing=why) for at, why in self.missing.items()}
        found = self._ranking(documents, column.top)
        if isinstance(found, str):
            column = replace(column, reason=found)
        else:
            column = replace(column, n=found.n, clusters=found.clusters, reason=found.reason)
            for place, own in zip(self.ranked, found.models, strict=True):
                cells[place.model] = replace(
                    cells[place.model],
                    ranked=True,
                    shared_value=own.value,
                    best=own.best,
                    tied=own.tied,
                    p_value=own.p_value,
                    rank_low=own.low,
                    rank_high=own.high,
                )
        return column, [cells[at] for at in range(len(cells))]

    def _ranking(self, documents: Documents, top: float | None) -> Ranking | str:
        if isinstance(self.parts, str):
            return self.parts
        return documents.rank(self.ranked, self.parts, self.metric, top)

    def _cell(self, at: int) -> LeaderboardCell:
        place = self.places[at]
        score = place.score(self.metric)
        assert score is not None, "others are missing"
        return LeaderboardCell(
            value=score.value,
            stderr=score.stderr,
            low=score.detail.low,
            high=score.detail.high,
            n=score.detail.n,
            run=place.source,
            differences=self.marks[at],
        )

    def _described(self, arranged: Arranged) -> LeaderboardColumn:
        place = self.reference
        detail = place.details[self.metric]
        if isinstance(arranged.key, GroupKey):
            mean = group_mean(place, self.metric)
            return LeaderboardColumn(
                label=arranged.label,
                section=arranged.section,
                kind="group",
                id=place.id,
                metric=self.metric,
                unit=detail.unit,
                top=top_of(detail) if isinstance(mean, str) else group_top(mean),
                higher_is_better=detail.higher_is_better,
                members=tuple(place.members),
            )
        config = place.cell.config
        return LeaderboardColumn(
            label=arranged.label,
            section=arranged.section,
            kind="task",
            id=place.id,
            metric=self.metric,
            unit=detail.unit,
            top=top_of(detail),
            higher_is_better=detail.higher_is_better,
            task=config.task,
            version=config.version,
            template=config.template,
            shots=config.num_fewshot,
            language=config.language,
            data=data_name(config, place),
        )


def _unscored(place: Place) -> str:
    """Why a cell that was run has no value."""
    failures = [
        f"{count:,} × {reason}"
        for id in place.members
        for reason, count in place.result.failures.get(id, {}).items()
    ]
    return "; ".join(["no document could be scored", *failures[:2]])


def _order(first: tuple[LeaderboardColumn, list[LeaderboardCell]]) -> list[int]:
    """Rows by the first column, the best first; without a score there, as they were given."""
    column, cells = first
    sign = -1.0 if column.higher_is_better else 1.0

    def place(at: int) -> tuple[bool, float]:
        value = cells[at].value
        return value is None, 0.0 if value is None else sign * value

    return sorted(range(len(cells)), key=place)


def _described(model: Model) -> LeaderboardModel:
    newest = model.sources[0].result
    return LeaderboardModel(
        model.name,
        newest.model,
        newest.fingerprint,
        tuple(LeaderboardRun(source.name, source.result.date) for source in model.sources),
    )


def _with_gaps(report: LeaderboardReport) -> LeaderboardReport:
    """The same with each value less the model's own in English, under the same metric."""
    english = [_english(report.columns, at) for at in range(len(report.columns))]
    rows = []
    for cells in report.cells:
        row = []
        for at, cell in enumerate(cells):
            other = english[at]
            base = None if other is None else cells[other].value
            known = cell.value is not None and base is not None
            row.append(replace(cell, gap=(cell.value or 0.0) - (base or 0.0)) if known else cell)
        rows.append(tuple(row))
    return replace(report, cells=tuple(rows))


def _english(columns: Sequence[LeaderboardColumn], at: int) -> int | None:
    """The English column of the same section, metric and shots; with the same template first."""
    own = columns[at]
    found = [
        number
        for number, one in enumerate(columns)
        if one.language == _ENGLISH
        and (one.section, one.metric, one.shots) == (own.section, own.metric, own.shots)
    ]
    found.sort(key=lambda number: columns[number].template != own.template)
    return found[0] if found and own.language != _ENGLISH else None
