"""A leaderboard as a page shows it: one set of columns, arranged in several ways, and histories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tenbin.analysis.leaderboard.build import LeaderboardBuilder
from tenbin.analysis.leaderboard.history import ModelHistory
from tenbin.analysis.leaderboard.models import COLUMNS, Source
from tenbin.analysis.leaderboard.report import LeaderboardReport
from tenbin.errors import TenbinError
from tenbin.results.folder import BESIDE_RESULT, numbered_names, run_name
from tenbin.results.read import StoredRun


@dataclass(frozen=True, slots=True)
class PageColumn:
    """Where a column of the leaderboard stands in another arrangement."""

    column: int
    """Its position in the leaderboard."""
    section: str
    label: str


@dataclass(frozen=True, slots=True)
class PageLeaderboard:
    """Models × tasks and groups, or the reason why there is none."""

    report: LeaderboardReport | None = None
    """By suite, with the gaps to English."""
    languages: Sequence[PageColumn] = ()
    """Tasks that differ in language alone, side by side."""
    templates: Sequence[PageColumn] = ()
    """Templates of one task, side by side."""
    histories: Sequence[ModelHistory] = ()
    places: Mapping[str, int] = field(default_factory=dict)
    """Name of a run → its position on the page; empty where a server lists runs."""
    error: str | None = None


def review_leaderboard(runs: Sequence[StoredRun]) -> PageLeaderboard | None:
    """Return the leaderboard of a page's runs; None for a single run."""
    if len(runs) < 2:
        return None
    names = _names(runs)
    sources = [_source(name, run) for name, run in zip(names, runs, strict=True)]
    try:
        builder = LeaderboardBuilder(sources)
        builder.rank()
        found = page_leaderboard(builder)
    except TenbinError as error:
        return PageLeaderboard(error=error.message)
    return replace(found, places={name: at for at, name in enumerate(names)})


def _source(name: str, run: StoredRun) -> Source:
    return Source(name, run.result, lambda: run.samples(COLUMNS))


def _names(runs: Sequence[StoredRun]) -> list[str]:
    """What the user called each run; where two are called the same, with the folder around it.

    The rest of the path is left out: the page does not show where runs are stored.
    """
    names = [run_name(run.path) for run in runs]
    counts = Counter(names)
    names = [
        name if counts[name] == 1 else f"{_around(run)}/{name}"
        for name, run in zip(names, runs, strict=True)
    ]
    return numbered_names(names)


def _around(run: StoredRun) -> str:
    place = run.path.absolute()
    return place.parent.parent.name if place.name == BESIDE_RESULT else place.parent.name


def page_leaderboard(builder: LeaderboardBuilder) -> PageLeaderboard:
    """Return a leaderboard in all its arrangements.

    Raises:
        ResultError: There is no score.
    """
    keys = [one.key for one in builder.arranged("suite")]

    report = builder.report()
    places = {key: at for at, key in enumerate(keys)}

    def arranged(by: Literal["language", "template"]) -> list[PageColumn]:
        found = [
            PageColumn(places[one.key], one.section, one.label) for one in builder.arranged(by)
        ]
        levels: dict[str, set[str | None]] = {}
        for one in found:
            levels.setdefault(one.section, set()).add(getattr(report.columns[one.column], by))
        return [one for one in found if len(levels[one.section]) > 1]

    tasks = any(column.kind == "task" for column in report.columns)
    languages = arranged("language") if tasks else []
    return PageLeaderboard(
        report=_with_gaps(report, builder.report("language"), languages) if languages else report,
        languages=languages,
        templates=arranged("template") if tasks else [],
        histories=builder.histories(),
    )


def _with_gaps(
    report: LeaderboardReport, other: LeaderboardReport, languages: Sequence[PageColumn]
) -> LeaderboardReport:
    """The same cells with the gaps that they have by language."""
    rows = {model.name: at for at, model in enumerate(other.models)}
    titles = {(one.section, one.label): at for at, one in enumerate(other.columns)}
    places = {one.column: titles[one.section, one.label] for one in languages}
    return replace(
        report,
        cells=tuple(
            tuple(
                replace(cell, gap=other.cells[rows[model.name]][places[at]].gap)
                if at in places
                else cell
                for at, cell in enumerate(cells)
            )
            for model, cells in zip(report.models, report.cells, strict=True)
        ),
    )
