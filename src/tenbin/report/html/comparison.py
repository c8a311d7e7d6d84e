"""Every pair of runs, compared on the documents that both scored, as far as they go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tenbin.analysis.compare import Side, Wanted, compare_runs
from tenbin.analysis.compare.comparability import WARNED, StoredCell, differences
from tenbin.analysis.compare.groups import group_pairs
from tenbin.analysis.compare.pairs import cells_of
from tenbin.analysis.compare.report import ComparedScore
from tenbin.analysis.document import to_json
from tenbin.errors import TenbinError
from tenbin.report.html.model import (
    AlignedTask,
    PageComparison,
    PagePair,
    PairedScore,
    RefusedTask,
)
from tenbin.report.html.sample_blocks import Blocks
from tenbin.report.html.watch import Watch, unwatched, watched
from tenbin.results.read import StoredRun
from tenbin.statistics.paired import holm

MOST_PAIRS = 66
"""Pairs that are compared, those of 12 runs; beyond, each run is compared with the first only."""
_MOST_CHANGES = 300
"""Changed documents listed per task and pair; the document browser can show all of them."""

Cells = Mapping[str, StoredCell]


@dataclass(frozen=True, slots=True)
class _Sides:
    """All runs, ready to be compared."""

    sides: Sequence[Side]
    cells: Sequence[Cells]
    aligned: Sequence[AlignedTask]
    blocks: Blocks
    """Where the lists of changed documents go."""


def review_differences(
    runs: Sequence[StoredRun],
    names: Sequence[str],
    aligned: Sequence[AlignedTask],
    blocks: Blocks,
    watch: Watch = unwatched,
) -> PageComparison | None:
    """Return what every pair of runs has in common and where it differs; None for a single run.

    Args:
        runs: Any number of runs.
        names: What they are called on the page.
        aligned: Which of their tasks belong together.
        blocks: Where the lists of changed documents go.
        watch: Told of progress.
    """
    if len(runs) < 2:
        return None
    sides = [
        Side(name, run.result, list(run.samples())) for name, run in zip(names, runs, strict=True)
    ]
    every = _Sides(sides, [cells_of(side) for side in sides], aligned, blocks)
    numbers = list(combinations(range(len(runs)), 2))
    whole = len(numbers) <= MOST_PAIRS
    if not whole:
        numbers = [(0, other) for other in range(1, len(runs))]
    pairs = [
        _compare_pair(every, first, second)
        for first, second in watched(numbers, "comparing", "pairs of runs", watch)
    ]
    return PageComparison(_corrected(pairs, len(runs)), whole)


def _compare_pair(every: _Sides, first: int, second: int) -> PagePair:
    found = PagePair(
        first,
        second,
        only_first=_alone(every.aligned, first, second),
        only_second=_alone(every.aligned, second, first),
    )
    tasks, refused = _comparable_tasks(every, first, second)
    groups, refused_groups = _comparable_groups(every, first, second, tasks)
    found = replace(found, refused=[*refused, *refused_groups])
    if not tasks:
        return found
    sides = [every.sides[first], every.sides[second]]
    try:
        report = compare_runs(sides, Wanted(mapping={**tasks, **groups}))
    except TenbinError as error:
        return replace(found, error=error.message)
    changes = [to_json(row.changes[:_MOST_CHANGES]) for row in report.comparisons]
    return replace(
        found,
        comparisons=[PairedScore(replace(row, changes=())) for row in report.comparisons],
        groups=[PairedScore(row) for row in report.groups or ()],
        changes=every.blocks.add(changes),
    )


def _alone(aligned: Sequence[AlignedTask], run: int, other: int) -> list[str]:
    """Return the tasks that one run has and the other has not."""
    found = [task.cells[run] for task in aligned if task.cells[other] is None]
    return [id for id in found if id is not None]


def _comparable_tasks(
    every: _Sides, first: int, second: int
) -> tuple[dict[str, str], list[RefusedTask]]:
    """Return the ids of tasks that go together, and those that do not, with the reasons."""
    tasks, refused = {}, []
    for task in every.aligned:
        here, there = task.cells[first], task.cells[second]
        if here is None or there is None:
            continue
        cells = every.cells[first][here], every.cells[second][there]
        reasons = _refusals(*cells)
        mine, theirs = (cell.result.details[cell.id] for cell in cells)
        if not set(mine) & set(theirs):
            reasons = [f"metrics: {', '.join(mine)} here, {', '.join(theirs)} there"]
        if reasons:
            refused.append(RefusedTask(here, there, reasons))
        else:
            tasks[here] = there
    return tasks, refused


def _comparable_groups(
    every: _Sides, first: int, second: int, tasks: Mapping[str, str]
) -> tuple[dict[str, str], list[RefusedTask]]:
    """Return the groups whose members all go together, and why others do not."""
    sides = [every.sides[first], every.sides[second]]
    cells = [every.cells[first], every.cells[second]]
    pairs, reasons = group_pairs(sides, cells, Wanted())
    found = {}
    refused = [RefusedTask(id, id, [reason]) for id, reason in reasons.items()]
    for pair in pairs:
        apart = [
            one.baseline.id
            for one in pair.members
            if tasks.get(one.baseline.id) != one.other.id and _refusals(one.baseline, one.other)
        ]
        if apart:
            words = f"members that are not comparable: {', '.join(apart)}"
            refused.append(RefusedTask(pair.id, pair.other_id, [words]))
        else:
            found[pair.id] = pair.other_id
    return found, refused


def _refusals(first: StoredCell, second: StoredCell) -> list[str]:
    found = differences(first, second)
    return [f"{one.kind}: {one.text}" for one in found if one.kind not in WARNED]


def _corrected(pairs: Sequence[PagePair], runs: int) -> list[PagePair]:
    """Correct p-values for all comparisons with one baseline, whichever run that is."""
    for baseline in range(runs):
        mine = [pair for pair in pairs if baseline in (pair.first, pair.second)]
        tasks = _holm([row for pair in mine for row in pair.comparisons])
        groups = _holm([row for pair in mine for row in pair.groups])
        pairs = [
            pair
            if baseline not in (pair.first, pair.second)
            else replace(
                pair,
                comparisons=_with(pair.comparisons, tasks, baseline == pair.first),
                groups=_with(pair.groups, groups, baseline == pair.first),
            )
            for pair in pairs
        ]
    return list(pairs)


def _holm(rows: Sequence[PairedScore]) -> Iterator[float]:
    return iter(holm([row.score.p_value for row in rows]))


def _with(
    rows: Sequence[PairedScore], corrected: Iterator[float], first: bool
) -> list[PairedScore]:
    """Return rows with the next corrected p-values: of the first or the second run's family."""
    if first:
        return [replace(row, score=replace(row.score, p_holm=next(corrected))) for row in rows]
    return [replace(row, p_holm_turned=next(corrected)) for row in rows]


def baseline_rows(comparison: PageComparison) -> list[tuple[int, ComparedScore]]:
    """Return the number of the other run and the score of every comparison with the first run."""
    return [
        (pair.second, row.score)
        for pair in comparison.pairs
        if pair.first == 0
        for row in (*pair.comparisons, *pair.groups)
    ]
