"""From stored runs to paired comparisons: match cells, refuse what is not comparable, compare.

Joins results and statistics. Needs no model: everything comes from what runs wrote down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from tenbin.analysis.comparability import KINDS, Difference, StoredCell, differences
from tenbin.errors import ConfigError, ResultError
from tenbin.records import Outcome
from tenbin.results.outcomes import outcomes_of
from tenbin.statistics.measured import AGGREGATIONS, Measured, measured
from tenbin.statistics.paired import Comparison, compare, holm
from tenbin.statistics.power import interval_of
from tenbin.version import __version__

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Side:
    """A run to compare, as it was read."""

    name: str
    """How the user knows it: its path."""
    document: Mapping[str, Any]
    samples: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to compare, and what may differ."""

    cells: tuple[str, ...] = ()
    """With one run: the first with each other one. With several: these ids only."""
    mapping: Mapping[str, str] | None = None
    """Id in the baseline → id in the other runs; ids are matched by name where None."""
    metrics: tuple[str, ...] = ()
    """Names, or `all`; nothing: the first metric of each cell."""
    allow: tuple[str, ...] = ()
    """Kinds of difference that are no reason to refuse."""
    all_pairs: bool = False
    """Compare every run with every other instead of each with the first."""


@dataclass(frozen=True, slots=True)
class _Pair:
    first: int
    second: int
    baseline: StoredCell
    other: StoredCell


def compare_runs(sides: Sequence[Side], wanted: Wanted) -> dict[str, Any]:
    """Compare cells of stored runs; the document that JSON and terminal show.

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
        _row(pair, metric, differing, outcomes)
        for pair, differing in found
        for metric in _metrics(pair, wanted.metrics)
    ]
    for row, corrected in zip(rows, holm([row["p_value"] for row in rows]), strict=True):
        row["p_holm"] = corrected
    return {
        "tenbin_version": __version__,
        "schema_version": SCHEMA_VERSION,
        "runs": [_described(side) for side in sides],
        "correction": "holm",
        "tests": len(rows),
        "comparisons": rows,
        # Who names cells has left the others out on purpose.
        "unmatched": {} if wanted.cells else _unmatched(sides, cells, pairs),
    }


def _cells(side: Side) -> dict[str, StoredCell]:
    samples: dict[str, dict[str, Mapping[str, Any]]] = {id: {} for id in side.document["configs"]}
    for sample in side.samples:
        samples[sample["id"]][sample["document"]] = sample
    return {id: StoredCell(side.document, id, own) for id, own in samples.items()}


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
        refused = tuple(one for one in differing if one.kind not in allow)
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
    mine = pair.baseline.document["details"][pair.baseline.id]
    theirs = pair.other.document["details"][pair.other.id]
    shared = [metric for metric in mine if metric in theirs]
    if not shared:
        raise ResultError(
            f"{pair.baseline.id} and {pair.other.id} have no metric in common",
            f"one has {', '.join(mine)}; the other {', '.join(theirs)}",
        )
    if not wanted:
        yield shared[0]
    elif "all" in wanted:
        yield from shared
    else:
        missing = [metric for metric in wanted if metric not in shared]
        if missing:
            raise ResultError(
                f"{pair.baseline.id}: no metric {missing[0]!r} on both sides",
                f"there are: {', '.join(shared)}, or `all`",
            )
        yield from wanted


def _outcomes(
    found: Mapping[tuple[str, str], Sequence[Outcome]], id: str, metric: str
) -> Sequence[Outcome]:
    if (id, metric) not in found:
        raise ResultError(
            f"{id}: result.json has a score of {metric}, but no sample has an outcome of it",
            "the stored run is damaged: run the same command again",
        )
    return found[id, metric]


def _row(
    pair: _Pair,
    metric: str,
    differing: Sequence[Difference],
    outcomes: Sequence[Mapping[tuple[str, str], Sequence[Outcome]]],
) -> dict[str, Any]:
    detail = pair.baseline.document["details"][pair.baseline.id][metric]
    aggregation = _aggregation(pair.baseline.id, metric, detail)
    mine = _outcomes(outcomes[pair.first], pair.baseline.id, metric)
    theirs = _outcomes(outcomes[pair.second], pair.other.id, metric)
    first, second = measured(aggregation, mine), measured(aggregation, theirs)
    # Whole texts have a length and no highest value; all other metrics run from 0 to 1 or to 100.
    top = None if "weight" in detail else 100.0 if detail["unit"] == "%" else 1.0
    better = bool(detail["higher_is_better"])
    result = compare(first, second, abs(int(pair.baseline.config["seed"])), better, top)
    return {
        "baseline": {"run": pair.first, "id": pair.baseline.id},
        "other": {"run": pair.second, "id": pair.other.id},
        "metric": metric,
        "unit": detail["unit"],
        "top": top,
        "higher_is_better": better,
        **_numbers(result),
        "left_out": {"baseline": len(mine) - result.n, "other": len(theirs) - result.n},
        "differences": [asdict(one) for one in differing],
        "changes": _changes(pair, (first, second), (mine, theirs), better),
    }


def _aggregation(id: str, metric: str, detail: Mapping[str, Any]) -> str:
    if "aggregation" in detail:
        return str(detail["aggregation"])
    # Runs of the first shape of result.json do not say; a mean has an analytic error.
    if detail.get("stderr_method") == "analytic":
        return "mean"
    if metric in AGGREGATIONS:
        return metric
    raise ResultError(
        f"{id}: the run does not say how {metric} is made of documents", "run it again"
    )


def _numbers(result: Comparison) -> dict[str, Any]:
    plain = {**asdict(result), **interval_of(result)}
    # What could have been found is read off the interval's width.
    plain["detectable"] = None if "reason" in plain else result.detectable
    plain["value"] = {"baseline": plain.pop("baseline"), "other": plain.pop("other")}
    return plain


def _changes(
    pair: _Pair,
    found: tuple[Measured, Measured],
    outcomes: tuple[Sequence[Outcome], Sequence[Outcome]],
    higher_is_better: bool,
) -> list[dict[str, Any]]:
    """Documents whose value changed, the largest changes first."""
    one, two = (dict(zip(side.documents, side.values.tolist(), strict=True)) for side in found)
    mine, theirs = ({o.document: o.answer for o in own} for own in outcomes)
    changes = [
        {
            "document": document,
            "better": (two[document] > value) == higher_is_better,
            "target": _right_answer(pair.baseline.samples[document]),
            "baseline": {"value": value, "answer": mine[document]},
            "other": {"value": two[document], "answer": theirs[document]},
        }
        for document, value in one.items()
        if document in two and two[document] != value
    ]
    return sorted(changes, key=_by_size)


def _right_answer(sample: Mapping[str, Any]) -> str | None:
    answer: str | None = sample["references"][0] if sample["references"] else sample["target"]
    return answer


def _by_size(change: Mapping[str, Any]) -> tuple[float, str]:
    return -abs(change["other"]["value"] - change["baseline"]["value"]), change["document"]


def _described(side: Side) -> dict[str, Any]:
    document = side.document
    return {
        "name": side.name,
        "model": document["model"],
        "fingerprint": document.get("fingerprint"),
        "date": document.get("date"),
        "tenbin_version": document.get("tenbin_version"),
        "profile": document.get("profile"),
    }


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
