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
from tenbin.analysis.leaderboard.history import ModelHistory, histories
from tenbin.analysis.leaderboard.marks import is_comparable, marks, reference_of
from tenbin.analysis.leaderboard.models import Model, Source, models_of
from tenbin.analysis.leaderboard.ranking import (
    Documents,
    Part,
    ReadDocuments,
    Watch,
    group_top,
    parts_of,
)
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


def _ignore_progress(what: str, done: int, total: int) -> None:
    """Ignore progress."""


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
    builder = LeaderboardBuilder(sources, allow, unread)
    builder.rank(by)
    return builder.report(by)


class LeaderboardBuilder:
    """A leaderboard in steps: scores are there at once, ranks after all documents were read."""

    def __init__(
        self,
        sources: Sequence[Source],
        allow: Sequence[str] = (),
        unread: Mapping[str, str] | None = None,
    ) -> None:
        """Find the rows, the columns and what is not comparable.

        Args:
            sources: Stored runs.
            allow: Kinds of difference with which cells are ranked together all the same.
            unread: Runs of a folder that could not be read → why.

        Raises:
            ConfigError: A kind of difference is unknown.
        """
        if unknown := [kind for kind in allow if kind not in KINDS]:
            hint = f"what may differ: {', '.join(KINDS)}"
            raise ConfigError(f"--allow {unknown[0]}: unknown", hint)
        self._unread = unread or {}
        self._models = models_of(sources)
        self._columns = {
            key: _Column.of(key, places, self._models, allow)
            for key, places in places_of(self._models).items()
        }
        self._ranked: dict[Key, _Ranked] = {}

    def arranged(self, by: By) -> list[Arranged]:
        """The columns in their order, with sections and labels.

        Raises:
            ResultError: There is none.
        """
        found = arrange([(key, column.reference) for key, column in self._columns.items()], by)
        if not found:
            raise ResultError(
                "the runs have no score to show",
                "a sweep on a budget is shown by `tenbin sweep RUN`",
            )
        return found

    def rank(
        self, by: By = "suite", read: ReadDocuments | None = None, watch: Watch = _ignore_progress
    ) -> None:
        """Read documents and rank the models of each column.

        Args:
            by: Which columns: those that are shown in this arrangement.
            read: Reads the documents of a run.
            watch: Called with how far this is.

        Raises:
            UnreadableRunsError: Runs are damaged.
        """
        keys = [one.key for one in self.arranged(by)]
        documents = Documents(self._models, read)
        for key in keys:
            self._columns[key].announce(documents)
        documents.read(watch)
        for number, key in enumerate(keys):
            watch("ranking columns", number, len(keys))
            self._ranked[key] = self._columns[key].ranking(documents)

    def report(self, by: By = "suite") -> LeaderboardReport:
        """The leaderboard, with the ranks that are known by now.

        Raises:
            ResultError: There is no score.
        """
        built = [
            self._columns[one.key].build(one, self._ranked.get(one.key))
            for one in self.arranged(by)
        ]
        order = _order(built[0])
        report = LeaderboardReport(
            tenbin_version=__version__,
            schema_version=SCHEMA_VERSION,
            by=by,
            models=tuple(_described(self._models[at]) for at in order),
            columns=tuple(column for column, _ in built),
            cells=tuple(tuple(cells[at] for _, cells in built) for at in order),
            unread=self._unread,
        )
        return _with_gaps(report) if by == "language" else report

    def histories(self, by: By = "suite") -> list[ModelHistory]:
        """The runs of each model by date; positions of columns are those of the report."""
        places = [(one.key, self._columns[one.key].metric) for one in self.arranged(by)]
        sources = [source for model in self._models for source in model.sources]
        return histories(sources, {key: (at, metric) for at, (key, metric) in enumerate(places)})


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What the documents of a column say."""

    ranking: Ranking | str
    """The ranks, or why there are none."""
    chance: float | None


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

    def ranking(self, documents: Documents) -> _Ranked:
        """Rank the comparable cells."""
        if isinstance(self.parts, str):
            return _Ranked(self.parts, None)
        top = self._top()
        return _Ranked(
            documents.rank(self.ranked, self.parts, self.metric, top),
            documents.chance(self.ranked, self.parts, top),
        )

    def build(
        self, arranged: Arranged, ranked: _Ranked | None
    ) -> tuple[LeaderboardColumn, list[LeaderboardCell]]:
        """The column, and its cells in the order of the models; None: not ranked yet."""
        column = self._described(arranged)
        cells = {at: self._cell(at) for at in self.places}
        cells |= {at: LeaderboardCell(missing=why) for at, why in self.missing.items()}
        if ranked is not None:
            column = replace(column, chance=ranked.chance)
        found = None if ranked is None else ranked.ranking
        if isinstance(found, str):
            column = replace(column, reason=found)
        elif found is not None:
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

    def _top(self) -> float | None:
        """The highest value there can be; None for perplexities."""
        place = self.reference
        mean = group_mean(place, self.metric) if place.group else ""
        return top_of(place.details[self.metric]) if isinstance(mean, str) else group_top(mean)

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
            id=place.id,
            differences=self.marks[at],
        )

    def _described(self, arranged: Arranged) -> LeaderboardColumn:
        place = self.reference
        detail = place.details[self.metric]
        if isinstance(arranged.key, GroupKey):
            return LeaderboardColumn(
                label=arranged.label,
                section=arranged.section,
                kind="group",
                id=place.id,
                metric=self.metric,
                unit=detail.unit,
                top=self._top(),
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
            top=self._top(),
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
        tuple(
            LeaderboardRun(
                source.name, source.result.date, tuple(source.result.tags), source.result.note
            )
            for source in model.sources
        ),
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
