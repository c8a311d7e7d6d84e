"""Compares stored runs document by document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from tenbin.analysis.compare.comparability import KINDS, Difference, differences
from tenbin.analysis.compare.groups import GroupMetric, GroupPair, group_metrics, group_pairs
from tenbin.analysis.compare.pairs import (
    Pair,
    Side,
    Wanted,
    cells_of,
    pairs_of,
    refuse_incomparable,
    shared_metrics,
    unmatched_ids,
)
from tenbin.analysis.compare.report import (
    ComparedRun,
    ComparedScore,
    ComparisonReport,
    RequirementReport,
)
from tenbin.analysis.compare.requirement import (
    Requirement,
    check_scales,
    judge_row,
    overall,
    parse_requirement,
)
from tenbin.analysis.compare.rows import Place, compared_cell, compared_group, place
from tenbin.errors import ConfigError, ResultError
from tenbin.results.samples import outcomes_of
from tenbin.statistics.measured import known_aggregation
from tenbin.statistics.paired import holm
from tenbin.version import __version__

SCHEMA_VERSION = 1

Score = TypeVar("Score", bound=ComparedScore)


def compare_runs(sides: Sequence[Side], wanted: Wanted) -> ComparisonReport:
    """Compare cells and groups of stored runs.

    Raises:
        ConfigError: What was asked for makes no sense.
        ResultError: Cells are missing, or not comparable.
    """
    unknown = [kind for kind in wanted.allow if kind not in KINDS]
    if unknown:
        raise ConfigError(f"--allow {unknown[0]}: unknown", f"what may differ: {', '.join(KINDS)}")
    requirement = None if wanted.require is None else parse_requirement(wanted.require)
    cells = [cells_of(side) for side in sides]
    outcomes = [outcomes_of(side.samples) for side in sides]
    pairs = pairs_of(sides, cells, wanted)
    groups, left_out = group_pairs(sides, cells, wanted)
    differing = _differences([*pairs, *(one for group in groups for one in group.members)])
    refuse_incomparable(sides, list(differing.values()), wanted.allow)
    chosen = [(pair, metric) for pair in pairs for metric in shared_metrics(pair, wanted.metrics)]
    rows = [
        compared_cell(pair, metric, differing[place(pair)][1], outcomes, len(chosen))
        for pair, metric in chosen
    ]
    scores = _group_scores(groups, wanted, left_out)
    means = [compared_group(score, differing, outcomes, len(scores)) for score in scores]
    not_compared = _not_compared(pairs)
    if not rows and not means:
        raise ResultError(
            "no metric can be compared: functions of the tasks aggregate all documents at once",
            "; ".join(f"{id}: {', '.join(names)}" for id, names in not_compared.items()),
        )
    return _report(
        ComparisonReport(
            tenbin_version=__version__,
            schema_version=SCHEMA_VERSION,
            runs=tuple(_described(side) for side in sides),
            correction="holm",
            tests=len(rows),
            comparisons=_corrected(rows),
            # Who names cells has left the others out on purpose.
            unmatched={} if wanted.cells else unmatched_ids(sides, cells, pairs),
            not_compared=not_compared or None,
            groups=_corrected(means) or None,
            groups_not_compared=left_out or None,
        ),
        requirement,
    )


def _group_scores(
    groups: Sequence[GroupPair], wanted: Wanted, left_out: dict[str, str]
) -> list[GroupMetric]:
    """The scores that groups are compared by; why others are not goes into `left_out`.

    Raises:
        ResultError: One that is named cannot be compared.
    """
    scores = []
    for group in groups:
        for found in group_metrics(group, wanted):
            if isinstance(found, str):
                left_out[group.id] = found
            else:
                scores.append(found)
    named = [id for id in left_out if id in wanted.cells]
    if named:
        raise ResultError(f"{named[0]}: cannot be compared: {left_out[named[0]]}")
    return scores


def _corrected(rows: Sequence[Score]) -> tuple[Score, ...]:
    corrected = holm([row.p_value for row in rows])
    return tuple(replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True))


def _report(report: ComparisonReport, requirement: Requirement | None) -> ComparisonReport:
    """The report with the verdict on what was required."""
    if requirement is None:
        return report
    groups = report.groups or ()
    check_scales(requirement, [*report.comparisons, *groups])
    comparisons = tuple(_judged(row, requirement) for row in report.comparisons)
    judged = tuple(_judged(row, requirement) for row in groups)
    verdict = overall([row.verdict for row in (*comparisons, *judged) if row.verdict])
    return replace(
        report,
        comparisons=comparisons,
        groups=judged or None,
        requirement=RequirementReport(str(requirement), verdict),
    )


def _judged(row: Score, requirement: Requirement) -> Score:
    found = judge_row(row, requirement)
    return replace(row, verdict=found.verdict, documents_needed=found.documents_needed)


def _differences(pairs: Sequence[Pair]) -> dict[Place, tuple[Pair, list[Difference]]]:
    """What the cells of each pair do not have in common; a member of a group only once."""
    found: dict[Place, tuple[Pair, list[Difference]]] = {}
    for pair in pairs:
        if place(pair) not in found:
            found[place(pair)] = pair, differences(pair.baseline, pair.other)
    return found


def _not_compared(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """Metrics that stored documents do not give again: a function of the task aggregates them."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        details = pair.baseline.result.details[pair.baseline.id]
        names = [
            metric
            for metric, detail in details.items()
            if detail.aggregation and not known_aggregation(detail.aggregation)
        ]
        if names:
            found[pair.baseline.id] = names
    return found


def _described(side: Side) -> ComparedRun:
    result = side.result
    return ComparedRun(
        side.name,
        result.model,
        result.fingerprint,
        result.date,
        result.tenbin_version,
        result.profile,
    )
