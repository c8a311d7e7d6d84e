"""The cells of all runs, each once, under ids that distinguish them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from tenbin.pipeline.merge.agreement import Part, refuse
from tenbin.results.identity import RunIdentity
from tenbin.results.schema import CellConfig, Sample

_SHOTS, _SEED = re.compile(r"@\d+shot(?=@|$)"), re.compile(r"@seed-?\d+(?=@|$)")
_READ = ("outcomes", "failure_kind")
_Key: TypeAlias = "tuple[object, ...]"


@dataclass(frozen=True, slots=True)
class MergedCell:
    """A cell of the merged run."""

    part: int
    """The run that it is taken from, by number."""
    id: str
    """Its id in the merged run."""
    own_id: str
    """Its id in the run it is taken from."""
    config: CellConfig
    also: tuple[tuple[int, str], ...] = ()
    """Other runs that have the same cell, and its id there."""


def merged_cells(parts: Sequence[Part]) -> list[MergedCell]:
    """All cells, in the order of the runs.

    Raises:
        ResultError: A cell is in two runs with different documents or outcomes.
    """
    found: dict[_Key, list[tuple[int, str]]] = {}
    for number, part in enumerate(parts):
        for id, config in part.result.configs.items():
            found.setdefault(_key(id, config), []).append((number, id))
    lines = [
        line
        for (number, id), *others in found.values()
        for other, other_id in others
        for line in _differing(parts[number], id, parts[other], other_id)
    ]
    if lines:
        refuse(lines, "leave one of the runs out, or run the cell again in the same way")
    firsts = [
        MergedCell(number, id, id, parts[number].result.configs[id], tuple(others))
        for (number, id), *others in found.values()
    ]
    return _with_own_ids(firsts)


def _key(id: str, config: CellConfig) -> _Key:
    """What a cell is: seeds count only where something was sampled."""
    sampled = config.num_fewshot or config.do_sample
    plain = _SEED.sub("", _SHOTS.sub("", id))
    return plain, config.role, config.num_fewshot, config.seed if sampled else None


def _with_own_ids(cells: Sequence[MergedCell]) -> list[MergedCell]:
    """The cells with shots and seed in their ids, as in a sweep, where ids alone would not do.

    Tasks of one family are marked together, so that a group has members of one mark.
    """
    shots: dict[str, set[int]] = {}
    seeds: dict[tuple[str, int], set[int]] = {}
    marked: dict[str, set[str]] = {}
    for one in cells:
        plain, family = _plain(one.own_id), _family(one)
        shots.setdefault(plain, set()).add(one.config.num_fewshot)
        seeds.setdefault((plain, one.config.num_fewshot), set()).add(one.config.seed)
        known = marked.setdefault(family, set())
        known |= {"shots"} if _SHOTS.search(one.own_id) else set()
        known |= {"seed"} if _SEED.search(one.own_id) else set()
    for one in cells:
        plain, count = _plain(one.own_id), one.config.num_fewshot
        if len(shots[plain]) > 1:
            marked[_family(one)].add("shots")
        if len(seeds[plain, count]) > 1:
            marked[_family(one)].add("seed")
    return [
        MergedCell(one.part, _marked(one, marked[_family(one)]), one.own_id, one.config, one.also)
        for one in cells
    ]


def _family(cell: MergedCell) -> str:
    return cell.config.family or cell.config.task


def _plain(id: str) -> str:
    return _SEED.sub("", _SHOTS.sub("", id))


def _marked(cell: MergedCell, marks: set[str]) -> str:
    plain, config = _plain(cell.own_id), cell.config
    name, at, rest = plain.partition("@")
    shots = f"@{config.num_fewshot}shot" if "shots" in marks else ""
    sampled = bool(config.num_fewshot or config.do_sample)
    seed = f"@seed{config.seed}" if "seed" in marks and sampled else ""
    return f"{name}{shots}{seed}{at}{rest}"


def _differing(first: Part, id: str, second: Part, other_id: str) -> Iterator[str]:
    """What two runs say differently of one cell; outcomes are compared if all else is equal."""
    mine, theirs = (RunIdentity.of(one.result).tasks() for one in (first, second))
    asked, other = mine[id], theirs[other_id]
    names = dict.fromkeys((*asked, *other))
    seedless = not first.result.configs[id].num_fewshot
    lines = [
        f"{second.name}: {other_id}: {name}: {asked.get(name)} → {other.get(name)}"
        for name in names
        if asked.get(name) != other.get(name) and not (name == "seed" and seedless)
    ]
    hashes = (first.result.prompts[id].prompts_hash, second.result.prompts[other_id].prompts_hash)
    if not lines and None not in hashes and hashes[0] != hashes[1]:
        lines.append(f"{second.name}: {other_id}: other prompts than in {first.name}")
    if not lines:
        count = _different_outcomes(first, id, second, other_id)
        if count:
            lines.append(
                f"{second.name}: {other_id}: other outcomes than in {first.name} for {count:,} "
                "documents"
            )
    yield from lines


def _different_outcomes(first: Part, id: str, second: Part, other_id: str) -> int:
    """How many documents of a cell two runs judged differently."""
    return sum(
        _judged(one) != _judged(two)
        for one, two in zip_longest(_of(first, id), _of(second, other_id))
    )


def _of(part: Part, id: str) -> Iterator[Sample]:
    return (one for one in part.stored.samples(_READ) if one.id == id)


def _judged(sample: Sample | None) -> object:
    return None if sample is None else (sample.document, sample.failure_kind, sample.outcomes)
