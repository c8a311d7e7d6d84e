"""Compares stored runs document by document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenbin.analysis.compare.comparability import KINDS, Difference, differences
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
    BothSides,
    Change,
    ComparedCell,
    ComparedRun,
    ComparisonReport,
    JudgedAnswer,
    MetricComparison,
)
from tenbin.analysis.paired import shown_fields
from tenbin.errors import ConfigError, ResultError
from tenbin.records import Outcome
from tenbin.results.samples import Outcomes, outcomes_of
from tenbin.results.schema import Sample
from tenbin.statistics.measured import Measured, known_aggregation, measured
from tenbin.statistics.paired import compare, holm
from tenbin.version import __version__

SCHEMA_VERSION = 1


def compare_runs(sides: Sequence[Side], wanted: Wanted) -> ComparisonReport:
    """Compare cells of stored runs.

    Raises:
        ConfigError: What was asked for makes no sense.
        ResultError: Cells are missing, or not comparable.
    """
    unknown = [kind for kind in wanted.allow if kind not in KINDS]
    if unknown:
        raise ConfigError(f"--allow {unknown[0]}: unknown", f"what may differ: {', '.join(KINDS)}")
    cells = [cells_of(side) for side in sides]
    outcomes = [outcomes_of(side.samples) for side in sides]
    pairs = pairs_of(sides, cells, wanted)
    found = [(pair, differences(pair.baseline, pair.other)) for pair in pairs]
    refuse_incomparable(sides, found, wanted.allow)
    rows = [
        _compared(pair, metric, differing, outcomes)
        for pair, differing in found
        for metric in shared_metrics(pair, wanted.metrics)
    ]
    not_compared = _not_compared(pairs)
    if not rows:
        raise ResultError(
            "no metric can be compared: functions of the tasks aggregate all documents at once",
            "; ".join(f"{id}: {', '.join(names)}" for id, names in not_compared.items()),
        )
    corrected = holm([row.p_value for row in rows])
    return ComparisonReport(
        tenbin_version=__version__,
        schema_version=SCHEMA_VERSION,
        runs=tuple(_described(side) for side in sides),
        correction="holm",
        tests=len(rows),
        comparisons=tuple(
            replace(row, p_holm=p_holm) for row, p_holm in zip(rows, corrected, strict=True)
        ),
        # Who names cells has left the others out on purpose.
        unmatched={} if wanted.cells else unmatched_ids(sides, cells, pairs),
        not_compared=not_compared or None,
    )


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


def _outcomes(found: Outcomes, id: str, metric: str) -> Sequence[Outcome]:
    if (id, metric) not in found:
        raise ResultError(
            f"{id}: result.json has a score of {metric}, but no sample has an outcome of it",
            "the stored run is damaged: run the same command again",
        )
    return found[id, metric]


def _compared(
    pair: Pair,
    metric: str,
    differing: Sequence[Difference],
    outcomes: Sequence[Outcomes],
) -> MetricComparison:
    """One row, not corrected for the others yet."""
    detail = pair.baseline.result.details[pair.baseline.id][metric]
    if not detail.aggregation:
        raise ResultError(
            f"{pair.baseline.id}: the run does not say how {metric} is made of documents",
            "run it again",
        )
    mine = _outcomes(outcomes[pair.first], pair.baseline.id, metric)
    theirs = _outcomes(outcomes[pair.second], pair.other.id, metric)
    first, second = measured(detail.aggregation, mine), measured(detail.aggregation, theirs)
    # Perplexities have no highest value; all other metrics run from 0 to 1 or to 100.
    unbounded = detail.states("weight") or detail.aggregation == "perplexity"
    top = None if unbounded else 100.0 if detail.unit == "%" else 1.0
    better = detail.higher_is_better
    found = compare(first, second, abs(pair.baseline.config.seed), better, top)
    shown = shown_fields(found)
    return MetricComparison(
        baseline=ComparedCell(pair.first, pair.baseline.id),
        other=ComparedCell(pair.second, pair.other.id),
        metric=metric,
        unit=detail.unit,
        top=top,
        higher_is_better=better,
        value=BothSides(shown.pop("baseline"), shown.pop("other")),
        left_out=BothSides(len(mine) - found.n, len(theirs) - found.n),
        differences=tuple(differing),
        changes=_changes(pair, (first, second), (mine, theirs), better),
        p_holm=found.p_value,
        **shown,
    )


def _changes(
    pair: Pair,
    found: tuple[Measured, Measured],
    outcomes: tuple[Sequence[Outcome], Sequence[Outcome]],
    higher_is_better: bool,
) -> tuple[Change, ...]:
    """Documents whose value changed, the largest changes first."""
    one, two = (dict(zip(side.documents, side.values.tolist(), strict=True)) for side in found)
    mine, theirs = ({o.document: o.answer for o in own} for own in outcomes)
    changes = [
        Change(
            document,
            (two[document] > value) == higher_is_better,
            _right_answer(pair.baseline.samples[document]),
            JudgedAnswer(value, mine[document]),
            JudgedAnswer(two[document], theirs[document]),
        )
        for document, value in one.items()
        if document in two and two[document] != value
    ]
    return tuple(
        sorted(changes, key=lambda c: (-abs(c.other.value - c.baseline.value), c.document))
    )


def _right_answer(sample: Sample) -> str | None:
    return sample.references[0] if sample.references else sample.target


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
