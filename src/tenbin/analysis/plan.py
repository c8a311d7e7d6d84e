"""How many documents a difference needs before anything is run, and what a data set can detect.

The plan is for right or wrong answers and `tenbin compare`'s exact test. Scores between them, such
as F1, vary less and need fewer documents; a stored run says how many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenbin.analysis.compare import MetricComparison
from tenbin.analysis.document import ABSENT, to_json
from tenbin.errors import ConfigError
from tenbin.results.schema import RunResult
from tenbin.statistics.power import (
    CORRELATIONS,
    LEVEL,
    POWER,
    documents_for,
    expected_discordance,
    paired_difference,
)
from tenbin.version import __version__

SCHEMA_VERSION = 1
WIDEST = 0.5
"""The score that needs the most documents, taken where none is known."""


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What is to be found, and how surely."""

    detect: float
    """The difference in points."""
    correlations: tuple[float, ...] = CORRELATIONS
    """Between the two runs over documents."""
    score: float | None = None
    """The score that is expected, in points; None: as a stored run says, or 50."""
    power: float = POWER
    tests: int | None = None
    """Comparisons that share the level of 5 %; None: as many as there are tasks."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task to plan for."""

    id: str
    documents: int | None
    """Of its data set; None where that is not known."""
    share: float | None = None
    """Its score from 0 to 1, where a run is known."""
    spread: float = 1.0
    """Documents that say as much as one independent right or wrong one: above 1 where documents
    depend on each other, below where scores lie between right and wrong."""
    correlation: float | None = None
    """Of two runs that are known."""


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """What one task needs and can show."""

    id: str
    score: float
    """In points: what was assumed, or what a run has."""
    documents: int | None
    """Of its data set; None where that is not known."""
    needed: Mapping[str, int]
    """Correlation → documents that the difference needs."""
    detectable: Mapping[str, float | None] | None
    """Correlation → the difference in points that all documents of the data set detect; None where
    their number is not known, or where so few detect nothing."""
    correlation: float | None = field(default=None, metadata=ABSENT)
    """As two stored runs have it; None if there are none."""


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What `tenbin plan` says."""

    tenbin_version: str
    schema_version: int
    detect: float
    """The difference in points."""
    power: float
    level: float
    tests: int
    """Comparisons that share the level."""
    tasks: tuple[PlannedTask, ...]
    left_out: Mapping[str, str]
    """Task id → why it cannot be planned."""

    def to_json(self) -> dict[str, Any]:
        """What `tenbin plan --format json` prints."""
        document: dict[str, Any] = to_json(self)
        return document


def check_settings(settings: PlanSettings) -> None:
    """Refuse what makes no sense.

    Raises:
        ConfigError: Naming the option.
    """
    if not 0 < settings.detect < 100:
        raise ConfigError(
            f"--detect {settings.detect:g}: takes a difference in points between 0 and 100",
            "--detect 2",
        )
    for correlation in settings.correlations:
        if not 0 <= correlation < 1:
            raise ConfigError(
                f"--correlation {correlation:g}: takes numbers from 0 to below 1",
                "--correlation 0.2,0.5,0.8",
            )
    if settings.score is not None and not 0 <= settings.score <= 100:
        raise ConfigError(f"--score {settings.score:g}: takes points from 0 to 100", "--score 70")
    if not 0.5 <= settings.power < 1:
        raise ConfigError(
            f"--power {100 * settings.power:g}: takes percent from 50 to below 100", "--power 80"
        )
    if settings.tests is not None and settings.tests < 1:
        raise ConfigError(f"--tests {settings.tests}: takes a whole number from 1", "--tests 5")


def make_plan(
    candidates: Sequence[Candidate], settings: PlanSettings, left_out: Mapping[str, str]
) -> PlanReport:
    """Plan for all candidates.

    Raises:
        ConfigError: The settings make no sense, or there is nothing to plan for.
    """
    check_settings(settings)
    if not candidates:
        reasons = "; ".join(f"{id}: {why}" for id, why in left_out.items())
        raise ConfigError(f"there is no task to plan for: {reasons}", "name others with --tasks")
    tests = settings.tests or len(candidates)
    return PlanReport(
        __version__,
        SCHEMA_VERSION,
        settings.detect,
        settings.power,
        LEVEL,
        tests,
        tuple(_planned(one, settings, LEVEL / tests) for one in candidates),
        left_out,
    )


def _planned(task: Candidate, settings: PlanSettings, level: float) -> PlannedTask:
    given = None if settings.score is None else settings.score / 100
    share = next((one for one in (given, task.share) if one is not None), WIDEST)
    step = settings.detect / 100
    correlations = settings.correlations
    if task.correlation is not None:
        correlations = (round(min(max(task.correlation, 0.0), 0.99), 2),)
    needed, found = {}, {}
    for one in correlations:
        apart = expected_discordance(share, step, one)
        number = task.spread * documents_for(step, apart, level, settings.power)
        needed[f"{one:g}"] = math.ceil(round(number, 6))
        if task.documents:
            independent = max(1, round(task.documents / task.spread))
            points = paired_difference(independent, share, one, level, settings.power)
            found[f"{one:g}"] = None if points is None else 100 * points
    return PlannedTask(
        task.id, 100 * share, task.documents, needed, found or None, task.correlation
    )


def candidates_of_run(result: RunResult) -> tuple[list[Candidate], dict[str, str]]:
    """The tasks of a stored run by their first metric, and why others are left out."""
    found, left_out = [], {}
    for id in result.configs:
        score = result.scores(id)[0]
        detail = score.detail
        if detail.states("weight") or detail.aggregation == "perplexity":
            left_out[id] = f"{score.metric} has no points"
        elif score.value is None or score.stderr is None:
            left_out[id] = f"{score.metric} has no standard error"
        else:
            top = 100.0 if detail.unit == "%" else 1.0
            share = score.value / top
            documents = result.n_samples[id].original
            spread = _spread(share, score.stderr / top, detail.n, detail.clusters or detail.n)
            found.append(Candidate(id, documents, share, spread))
    return found, left_out


def candidates_of_comparisons(
    rows: Sequence[MetricComparison], result: RunResult
) -> tuple[list[Candidate], dict[str, str]]:
    """The tasks that two runs were compared by, with the correlation between them."""
    found, left_out = [], {}
    for row in rows:
        id = row.baseline.id
        if row.top is None:
            left_out[id] = f"{row.metric} has no points"
        elif row.correlation is None or not row.stderr:
            left_out[id] = "the runs do not differ, or one answers every document alike"
        else:
            one, two = row.value.baseline / row.top, row.value.other / row.top
            # The variance that independent right or wrong answers of this correlation would have.
            spread = row.correlation * math.sqrt(one * (1 - one) * two * (1 - two))
            apart = one * (1 - one) + two * (1 - two) - 2 * spread
            known = _known_variance(row.stderr / row.top, row.clusters)
            more = known * row.n / apart if apart > 0 else 1.0
            documents = result.n_samples[id].original
            found.append(Candidate(id, documents, one, more, row.correlation))
    return found, left_out


def _spread(share: float, stderr: float, documents: int, clusters: int) -> float:
    """Documents that say as much as one independent right or wrong one."""
    variance = share * (1 - share) / documents
    known = _known_variance(stderr, clusters)
    return known / variance if variance > 0 and known > 0 else 1.0


def _known_variance(stderr: float, clusters: int) -> float:
    """The variance without what an error adds for the mean being estimated from so few clusters:
    independent documents say as much as themselves, however few they are."""
    return stderr**2 * (clusters - 1) / clusters
