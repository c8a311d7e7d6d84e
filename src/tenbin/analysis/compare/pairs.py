"""Which cells of stored runs are compared with which, by which metrics; refuses what may not be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

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
    if len(sides) == 1:
        if len(wanted.cells) < 2:
            raise ConfigError(
                "one run alone: there is nothing to compare it with",
                f"name another run, or two of its ids with --cells: {', '.join(cells[0])}",
            )
        first, *others = (_find(sides[0], cells[0], id) for id in wanted.cells)
        return [Pair(0, 0, first, other) for other in others]
    numbers = range(len(sides))
    chosen = combinations(numbers, 2) if wanted.all_pairs else ((0, at) for at in numbers[1:])
    pairs = []
    for one, two in chosen:
        for here, there in _matched(cells[one], cells[two], wanted, one == 0):
            pairs.append(
                Pair(
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
    return [
        (id, id)
        for id in first
        # Cells of a sweep on a budget rest on different parts of the documents.
        if id in second and first[id].result.configs[id].role != "part"
    ]


def _find(side: Side, cells: Mapping[str, StoredCell], id: str) -> StoredCell:
    if id not in cells:
        raise ResultError(f"{side.name}: no task {id!r} in this run", f"it has: {', '.join(cells)}")
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
