"""Which cells of stored runs are compared with which, by which metrics; refuses what may not be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from tenbin.analysis.compare.comparability import KINDS, WARNED, Difference, StoredCell
from tenbin.errors import ConfigError, ResultError
from tenbin.results.schema import RunResult, Sample
from tenbin.statistics.measured import known_aggregation


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
    """Ids of tasks or groups. With one run: compare the first with each other one. With several:
    only these."""
    mapping: Mapping[str, str] | None = None
    """Id in the baseline → id in the other runs; if None, ids are matched by name."""
    metrics: tuple[str, ...] = ()
    """Names, or `all`; if empty, the first metric of each cell."""
    allow: tuple[str, ...] = ()
    """Kinds of difference that are no reason to refuse."""
    all_pairs: bool = False
    """Compare every run with every other instead of each with the first."""
    weighting: Literal["own", "plain", "size"] = "own"
    """Of groups: as their own score, every task the same, or by documents."""
    require: str | None = None
    """What the other side must be; see `requirement.py`."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cells, each with the number of its run."""

    first: int
    second: int
    baseline: StoredCell
    other: StoredCell


def cells_of(side: Side) -> dict[str, StoredCell]:
    """The cells of a run, each with its samples, by id."""
    samples: dict[str, dict[str, Sample]] = {id: {} for id in side.result.configs}
    for sample in side.samples:
        samples[sample.id][sample.document] = sample
    return {id: StoredCell(side.result, id, own) for id, own in samples.items()}


def pairs_of(
    sides: Sequence[Side], cells: Sequence[Mapping[str, StoredCell]], wanted: Wanted
) -> list[Pair]:
    """The cells to compare.

    Raises:
        ConfigError: One run alone, and not two of its ids.
        ResultError: An id is missing, or the runs have none in common.
    """
    if len(sides) == 1 and len(wanted.cells) < 2:
        raise ConfigError(
            "one run alone: there is nothing to compare it with",
            f"name another run, or two of its ids with --cells: {', '.join(cells[0])}",
        )
    pairs = []
    grouped = False
    for one, two in run_pairs(sides, wanted):
        groups = sides[one].result.groups, sides[two].result.groups
        # Cells of a sweep on a budget rest on different parts of the documents.
        whole = [id for id, cell in cells[one].items() if cell.config.role != "part"]
        for here, there in matched_ids(whole, cells[two], wanted, (one, two)):
            if here in groups[0] and there in groups[1] and here not in cells[one]:
                grouped = True
                continue
            pairs.append(
                Pair(
                    one,
                    two,
                    _find(sides[one], cells[one], here),
                    _find(sides[two], cells[two], there),
                )
            )
    if not pairs and not grouped:
        if any(cell.config.role == "part" for cell in cells[0].values()):
            raise ResultError(
                f"{sides[0].name} is a sweep on a budget: its prompts have no scores of their own",
                "`tenbin sweep RUN` shows the distribution of each run; to compare two models, run "
                "one template in full with both",
            )
        raise ResultError(
            "the runs have no task id in common",
            "say which belong together with --map ID_IN_FIRST=ID_IN_OTHER; "
            + "; ".join(f"{s.name} has {', '.join(c)}" for s, c in zip(sides, cells, strict=True)),
        )
    return pairs


def run_pairs(sides: Sequence[Side], wanted: Wanted) -> list[tuple[int, int]]:
    """Numbers of the runs that are compared with each other; one run alone with itself."""
    if len(sides) == 1:
        return [(0, 0)]
    numbers = range(len(sides))
    return list(combinations(numbers, 2)) if wanted.all_pairs else [(0, at) for at in numbers[1:]]


def matched_ids(
    first: Collection[str], second: Collection[str], wanted: Wanted, runs: tuple[int, int]
) -> list[tuple[str, str]]:
    """Ids of tasks or groups that are compared with each other.

    Args:
        first: Ids of one run.
        second: Ids of the other.
        wanted: What the user names.
        runs: Numbers of the runs; the ids of a mapping start from run 0, the baseline.
    """
    mapping = wanted.mapping or {}
    if wanted.cells and runs[0] == runs[1]:
        baseline, *others = wanted.cells
        return [(baseline, other) for other in others]
    if wanted.cells:
        return [(id, mapping.get(id, id)) for id in wanted.cells]
    if mapping:
        # Between two of the others, both ids are the ones that the baseline's was mapped to.
        return [(there if runs[0] else here, there) for here, there in mapping.items()]
    return [(id, id) for id in first if id in second]


def _find(side: Side, cells: Mapping[str, StoredCell], id: str) -> StoredCell:
    if id not in cells:
        ids = ", ".join([*cells, *side.result.groups])
        raise ResultError(f"{side.name}: no task {id!r} in this run", f"it has: {ids}")
    return cells[id]


def refuse_incomparable(
    sides: Sequence[Side],
    found: Sequence[tuple[Pair, Sequence[Difference]]],
    allow: Sequence[str],
) -> None:
    """Refuse cells that differ in what a comparison rests on, unless that is allowed.

    Raises:
        ResultError: Naming the cells and what differs.
    """
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


def shared_metrics(pair: Pair, wanted: Sequence[str]) -> Iterator[str]:
    """The metrics that two cells are compared by.

    Raises:
        ResultError: They have none in common, or not the one that is wanted.
    """
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


def unmatched_ids(
    sides: Sequence[Side], cells: Sequence[Mapping[str, StoredCell]], pairs: Sequence[Pair]
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
