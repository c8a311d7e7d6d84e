"""One row of a comparison: two cells, or the mean of a group in two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tenbin.analysis.compare.comparability import Difference
from tenbin.analysis.compare.groups import GroupMetric
from tenbin.analysis.compare.pairs import Pair
from tenbin.analysis.compare.report import (
    BothSides,
    Change,
    ComparedCell,
    GroupComparison,
    JudgedAnswer,
    MetricComparison,
)
from tenbin.analysis.paired import shown_fields
from tenbin.errors import ResultError
from tenbin.records import Outcome
from tenbin.results.samples import Outcomes
from tenbin.results.schema import MetricDetail, Sample
from tenbin.statistics.groups import scaled
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.paired import compare_members
from tenbin.statistics.paired_sides import PairedMember

Place: TypeAlias = "tuple[int, str, int, str]"
"""What a pair is known by: run and cell of both sides."""


def place(pair: Pair) -> Place:
    """What a pair is known by."""
    return pair.first, pair.baseline.id, pair.second, pair.other.id


def _outcomes(found: Outcomes, id: str, metric: str) -> Sequence[Outcome]:
    if (id, metric) not in found:
        raise ResultError(
            f"{id}: result.json has a score of {metric}, but no sample has an outcome of it",
            "the stored run is damaged: run the same command again",
        )
    return found[id, metric]


@dataclass(frozen=True, slots=True)
class _Sides:
    """One metric of two cells."""

    detail: MetricDetail
    outcomes: tuple[Sequence[Outcome], Sequence[Outcome]]
    measured: tuple[Measured, Measured]

    @classmethod
    def of(cls, pair: Pair, metric: str, outcomes: Sequence[Outcomes]) -> _Sides:
        detail = pair.baseline.result.details[pair.baseline.id][metric]
        if not detail.aggregation:
            raise ResultError(
                f"{pair.baseline.id}: the run does not say how {metric} is made of documents",
                "run it again",
            )
        mine = _outcomes(outcomes[pair.first], pair.baseline.id, metric)
        theirs = _outcomes(outcomes[pair.second], pair.other.id, metric)
        both = measured(detail.aggregation, mine), measured(detail.aggregation, theirs)
        for cell, own in zip((pair.baseline, pair.other), both, strict=True):
            if own.failed and not own.documents:
                raise ResultError(
                    f"{cell.id}: {metric}: all {own.failed:,} documents failed in one of the runs",
                    "`tenbin report` shows why; --cells compares other ids",
                )
        return cls(detail, (mine, theirs), both)

    @property
    def top(self) -> float | None:
        """As `top_of` has it."""
        return top_of(self.detail)


def top_of(detail: MetricDetail) -> float | None:
    """Perplexities and other metrics without bounds, whose intervals are t intervals, have no
    highest value; the others run from 0 to 1 or to 100."""
    unbounded = detail.states("weight") or detail.aggregation == "perplexity"
    unbounded |= detail.aggregation == "mean" and detail.interval_method == "t"
    return None if unbounded else 100.0 if detail.unit == "%" else 1.0


def compared_cell(
    pair: Pair,
    metric: str,
    differing: Sequence[Difference],
    outcomes: Sequence[Outcomes],
    tests: int,
) -> MetricComparison:
    """One row, not corrected for the others yet."""
    sides = _Sides.of(pair, metric, outcomes)
    first, second = sides.measured
    better = sides.detail.higher_is_better
    members = [PairedMember("", first, second)]
    seed = abs(pair.baseline.config.seed)
    try:
        found = compare_members(members, seed, better, sides.top, tests)
    except ResultError as error:
        raise ResultError(f"{pair.baseline.id}: {error.message}", error.hint) from error
    shown = shown_fields(found)
    mine, theirs = sides.outcomes
    return MetricComparison(
        baseline=ComparedCell(pair.first, pair.baseline.id),
        other=ComparedCell(pair.second, pair.other.id),
        metric=metric,
        unit=sides.detail.unit,
        top=sides.top,
        higher_is_better=better,
        value=BothSides(shown.pop("baseline"), shown.pop("other")),
        left_out=BothSides(len(mine) - found.n, len(theirs) - found.n),
        differences=tuple(differing),
        changes=_changes(pair, sides.measured, sides.outcomes, better),
        p_holm=found.p_value,
        **shown,
    )


def compared_group(
    score: GroupMetric,
    differing: Mapping[Place, tuple[Pair, Sequence[Difference]]],
    outcomes: Sequence[Outcomes],
    tests: int,
) -> GroupComparison:
    """The mean of a group, not corrected for the others yet."""
    pair = score.pair
    all_sides = [_Sides.of(one, metric, outcomes) for one, metric in score.members]
    unbounded = any(sides.top is None for sides in all_sides)
    top = None if unbounded else 100.0 if score.detail.unit == "%" else 1.0
    members = []
    for (one, _), sides, weight in zip(score.members, all_sides, score.weights, strict=True):
        scale = 1.0 if top is None or sides.top is None else top / sides.top
        config = one.baseline.config
        first, second = (scaled(side, scale) for side in sides.measured)
        members.append(PairedMember(config.family or config.task, first, second, weight))
        if not set(first.documents) & set(second.documents):
            raise ResultError(
                f"{pair.id}: the runs share no scored document of {one.baseline.id}",
                "name the ids to compare with --cells",
            )
    seed = abs(score.members[0][0].baseline.config.seed)
    found = compare_members(members, seed, score.detail.higher_is_better, top, tests)
    shown = shown_fields(found)
    known = dict.fromkeys(one for member, _ in score.members for one in differing[place(member)][1])
    asked = [sum(len(sides.outcomes[at]) for sides in all_sides) for at in (0, 1)]
    return GroupComparison(
        baseline=ComparedCell(pair.first, pair.id),
        other=ComparedCell(pair.second, pair.other_id),
        metric=score.metric,
        unit=score.detail.unit,
        top=top,
        higher_is_better=score.detail.higher_is_better,
        value=BothSides(shown.pop("baseline"), shown.pop("other")),
        left_out=BothSides(asked[0] - found.n, asked[1] - found.n),
        differences=tuple(known),
        p_holm=found.p_value,
        weighting=score.weighting,
        members=tuple(one.baseline.id for one, _ in score.members),
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
