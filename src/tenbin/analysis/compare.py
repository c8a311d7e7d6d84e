"""Compares stored runs document by document: matches cells, refuses what is not comparable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from tenbin.analysis.comparability import KINDS, WARNED, Difference, StoredCell, differences
from tenbin.analysis.document import ABSENT, to_json
from tenbin.analysis.paired import shown_fields
from tenbin.errors import ConfigError, ResultError
from tenbin.records import Outcome
from tenbin.results.samples import Outcomes, outcomes_of
from tenbin.results.schema import RunResult, Sample
from tenbin.statistics.measured import Measured, known_aggregation, measured
from tenbin.statistics.paired import compare, holm
from tenbin.version import __version__

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Side:
    """A run to compare."""

    name: str
    """How the user knows it: its path."""
    result: RunResult
    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to compare, and what may differ."""

    cells: tuple[str, ...] = ()
    """With one run: compare the first with each other one. With several: only these ids."""
    mapping: Mapping[str, str] | None = None
    """Id in the baseline → id in the other runs; if None, ids are matched by name."""
    metrics: tuple[str, ...] = ()
    """Names, or `all`; if empty, the first metric of each cell."""
    allow: tuple[str, ...] = ()
    """Kinds of difference that are no reason to refuse."""
    all_pairs: bool = False
    """Compare every run with every other instead of each with the first."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run that took part."""

    name: str
    model: Mapping[str, object]
    fingerprint: str
    date: str
    tenbin_version: str | None
    profile: str | None


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """A cell that took part: the number of its run, and its task id."""

    run: int
    id: str


@dataclass(frozen=True, slots=True)
class BothSides:
    """A number of the baseline and of the other side."""

    baseline: float
    other: float


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """What one side made of a document."""

    value: float
    answer: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """A document whose value differs between the sides."""

    document: str
    better: bool
    """Whether the other side is better."""
    target: str | None
    """The right answer."""
    baseline: JudgedAnswer
    other: JudgedAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricComparison:
    """One metric of two cells, on the documents that both scored; the other less the baseline."""

    baseline: ComparedCell
    other: ComparedCell
    metric: str
    unit: str
    top: float | None
    """The highest value a document can have; None for perplexities."""
    higher_is_better: bool
    n: int
    clusters: int
    difference: float
    stderr: float | None
    low: float | None
    high: float | None
    interval_method: str
    wins: int
    losses: int
    ties: int
    p_value: float
    test: str
    detectable: float | None
    reason: str | None = field(default=None, metadata=ABSENT)
    """Why there is no interval; None if there is one."""
    value: BothSides
    left_out: BothSides
    """Documents of each side that the other did not score."""
    differences: tuple[Difference, ...]
    """What the cells do not have in common, and was allowed."""
    changes: tuple[Change, ...]
    """The largest changes first."""
    p_holm: float
    """The p-value corrected for all comparisons, after Holm."""


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """What `tenbin compare` found."""

    tenbin_version: str
    schema_version: int
    runs: tuple[ComparedRun, ...]
    correction: str
    tests: int
    comparisons: tuple[MetricComparison, ...]
    unmatched: Mapping[str, list[str]]
    """Run name → ids that took no part."""
    not_compared: Mapping[str, list[str]] | None = field(default=None, metadata=ABSENT)
    """Task id → metrics that only a function of the task can aggregate; None if there are none."""

    def to_json(self) -> dict[str, Any]:
        """What `tenbin compare --format json` prints."""
        document: dict[str, Any] = to_json(self)
        return document


@dataclass(frozen=True, slots=True)
class _Pair:
    first: int
    second: int
    baseline: StoredCell
    other: StoredCell


def compare_runs(sides: Sequence[Side], wanted: Wanted) -> ComparisonReport:
    """Compare cells of stored runs.

    Raises:
        ConfigError: What was asked for makes no sense.
        ResultError: Cells are missing, or not comparable.
    """
    unknown = [kind for kind in wanted.allow if kind not in KINDS]
    if unknown:
        raise ConfigError(f"--allow {unknown[0]}: unknown", f"what may differ: {', '.join(KINDS)}")
    cells = [_cells(side) for side in sides]
    outcomes = [outcomes_of(side.samples) for side in sides]
    pairs = _pairs(sides, cells, wanted)
    found = [(pair, differences(pair.baseline, pair.other)) for pair in pairs]
    _refuse(sides, found, wanted.allow)
    rows = [
        _compared(pair, metric, differing, outcomes)
        for pair, differing in found
        for metric in _metrics(pair, wanted.metrics)
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
        unmatched={} if wanted.cells else _unmatched(sides, cells, pairs),
        not_compared=not_compared or None,
    )


def _not_compared(pairs: Sequence[_Pair]) -> dict[str, list[str]]:
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


def _cells(side: Side) -> dict[str, StoredCell]:
    samples: dict[str, dict[str, Sample]] = {id: {} for id in side.result.configs}
    for sample in side.samples:
        samples[sample.id][sample.document] = sample
    return {id: StoredCell(side.result, id, own) for id, own in samples.items()}


def _pairs(
    sides: Sequence[Side], cells: Sequence[Mapping[str, StoredCell]], wanted: Wanted
) -> list[_Pair]:
    if len(sides) == 1:
        if len(wanted.cells) < 2:
            raise ConfigError(
                "one run alone: there is nothing to compare it with",
                f"name another run, or two of its ids with --cells: {', '.join(cells[0])}",
            )
        first, *others = (_find(sides[0], cells[0], id) for id in wanted.cells)
        return [_Pair(0, 0, first, other) for other in others]
    numbers = range(len(sides))
    chosen = combinations(numbers, 2) if wanted.all_pairs else ((0, at) for at in numbers[1:])
    pairs = []
    for one, two in chosen:
        for here, there in _matched(cells[one], cells[two], wanted, one == 0):
            pairs.append(
                _Pair(
                    one,
                    two,
                    _find(sides[one], cells[one], here),
                    _find(sides[two], cells[two], there),
                )
            )
    if not pairs:
        raise ResultError(
            "the runs have no task id in common",
            "say which belong together with --map ID_IN_FIRST=ID_IN_OTHER; "
            + "; ".join(f"{s.name} has {', '.join(c)}" for s, c in zip(sides, cells, strict=True)),
        )
    return pairs


def _matched(
    first: Mapping[str, StoredCell],
    second: Mapping[str, StoredCell],
    wanted: Wanted,
    from_baseline: bool,
) -> list[tuple[str, str]]:
    mapping = wanted.mapping or {}
    if wanted.cells:
        return [(id, mapping.get(id, id)) for id in wanted.cells]
    if mapping:
        # Between two of the others, both ids are the ones that the baseline's was mapped to.
        return [(here if from_baseline else there, there) for here, there in mapping.items()]
    return [(id, id) for id in first if id in second]


def _find(side: Side, cells: Mapping[str, StoredCell], id: str) -> StoredCell:
    if id not in cells:
        raise ResultError(f"{side.name}: no task {id!r} in this run", f"it has: {', '.join(cells)}")
    return cells[id]


def _refuse(
    sides: Sequence[Side],
    found: Sequence[tuple[_Pair, Sequence[Difference]]],
    allow: Sequence[str],
) -> None:
    cells: dict[tuple[Difference, ...], list[str]] = {}
    for pair, differing in found:
        refused = tuple(one for one in differing if one.kind not in (*allow, *WARNED))
        if refused:
            ids = " and ".join(dict.fromkeys((pair.baseline.id, pair.other.id)))
            runs = f" ({sides[pair.first].name} and {sides[pair.second].name})"
            cells.setdefault(refused, []).append(ids + (runs if len(sides) > 2 else ""))
    lines = []
    for refused, names in cells.items():
        lines.append(f"  {', '.join(names)}")
        lines += [f"    {one.kind}: {one.text}" for one in refused]
    kinds = {one.kind for refused in cells for one in refused}
    if lines:
        named = ",".join(kind for kind in KINDS if kind in kinds)
        raise ResultError(
            "not comparable:\n" + "\n".join(lines),
            f"--cells names the ids to compare; --allow {named} compares these all the same",
        )


def _metrics(pair: _Pair, wanted: Sequence[str]) -> Iterator[str]:
    mine = pair.baseline.result.details[pair.baseline.id]
    theirs = pair.other.result.details[pair.other.id]
    shared = [metric for metric in mine if metric in theirs]
    if not shared:
        raise ResultError(
            f"{pair.baseline.id} and {pair.other.id} have no metric in common",
            f"one has {', '.join(mine)}; the other {', '.join(theirs)}",
        )
    comparable = [
        metric
        for metric in shared
        if not mine[metric].aggregation or known_aggregation(mine[metric].aggregation)
    ]
    if not wanted:
        yield from comparable[:1]
    elif "all" in wanted:
        yield from comparable
    else:
        missing = [metric for metric in wanted if metric not in shared]
        if missing:
            raise ResultError(
                f"{pair.baseline.id}: no metric {missing[0]!r} on both sides",
                f"there are: {', '.join(shared)}, or `all`",
            )
        yield from wanted


def _outcomes(found: Outcomes, id: str, metric: str) -> Sequence[Outcome]:
    if (id, metric) not in found:
        raise ResultError(
            f"{id}: result.json has a score of {metric}, but no sample has an outcome of it",
            "the stored run is damaged: run the same command again",
        )
    return found[id, metric]


def _compared(
    pair: _Pair,
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
    pair: _Pair,
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


def _unmatched(
    sides: Sequence[Side], cells: Sequence[Mapping[str, StoredCell]], pairs: Sequence[_Pair]
) -> dict[str, list[str]]:
    """Ids that took no part, by run."""
    used: dict[int, set[str]] = {at: set() for at in range(len(sides))}
    for pair in pairs:
        used[pair.first].add(pair.baseline.id)
        used[pair.second].add(pair.other.id)
    left = {
        side.name: [id for id in own if id not in used[at]]
        for at, (side, own) in enumerate(zip(sides, cells, strict=True))
    }
    return {name: ids for name, ids in left.items() if ids}
