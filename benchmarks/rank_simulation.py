"""Rank intervals and ties with the best in worlds of known truth: how often all of them hold.

The program's own functions on invented answers: no model, no data. The table of
docs/statistics.md, section Ranks, is from here.

    python benchmarks/rank_simulation.py [--times 1000] [--processes 2] [--worlds 0 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, say, write_result

from tenbin.records import Cell, Outcome
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.paired import compare, holm
from tenbin.statistics.ranks import Ranking, rank_models
from tenbin.statistics.shared_documents import RankedMember
from tenbin.statistics.special import special

CELL = Cell("sample", "1.0", "default", 0, 42)
Draw = np.random.Generator


@dataclass(frozen=True)
class World:
    """Models whose true scores are known."""

    name: str
    rates: tuple[float, ...]
    """The true score of each model."""
    draw: Callable[[Draw, Sequence[float]], list[RankedMember]]


def models(values: np.ndarray, groups: Sequence[str] | None = None) -> tuple[Measured, ...]:
    """Documents × models as the program measures them."""
    return tuple(
        measured(
            "mean",
            [
                Outcome(CELL, f"{at:06d}", "m", float(value), group=groups[at] if groups else None)
                for at, value in enumerate(column)
            ],
        )
        for column in values.T
    )


def scores(draw: Draw, rates: Sequence[float], count: int, shared: float = 0.5) -> np.ndarray:
    """Normal scores, of which the share `shared` of the variance is the document's difficulty."""
    common = draw.standard_normal((count, 1))
    own = draw.standard_normal((count, len(rates)))
    return np.sqrt(shared) * common + np.sqrt(1 - shared) * own - special().ndtri(np.array(rates))


def documents(count: int, shared: float = 0.5) -> Callable[..., list[RankedMember]]:
    """Independent documents, right or wrong."""

    def drawn(draw: Draw, rates: Sequence[float]) -> list[RankedMember]:
        return [RankedMember("", models((scores(draw, rates, count, shared) < 0) * 1.0))]

    return drawn


def paragraphs(count: int, size: int, alike: float) -> Callable[..., list[RankedMember]]:
    """Paragraphs of documents; a share `alike` of them is answered as a whole."""

    def drawn(draw: Draw, rates: Sequence[float]) -> list[RankedMember]:
        whole = np.repeat(scores(draw, rates, count) < 0, size, axis=0)
        single = scores(draw, rates, count * size) < 0
        joined = np.repeat(draw.random(count) < alike, size)
        values = np.where(joined[:, None], whole, single) * 1.0
        return [RankedMember("", models(values, [f"{at // size}" for at in range(count * size)]))]

    return drawn


def overlaps(count: int) -> Callable[..., list[RankedMember]]:
    """Values such as F1: a right answer has 1, a third of the wrong ones something between."""

    def drawn(draw: Draw, rates: Sequence[float]) -> list[RankedMember]:
        right = scores(draw, rates, count) < 0
        part = np.where(draw.random(right.shape) < 1 / 3, draw.random(right.shape), 0.0)
        return [RankedMember("", models(np.where(right, 1.0, part)))]

    return drawn


def group(*counts: int) -> Callable[..., list[RankedMember]]:
    """The plain mean of tasks of different sizes."""

    def drawn(draw: Draw, rates: Sequence[float]) -> list[RankedMember]:
        return [
            RankedMember(f"{at}", models((scores(draw, rates, count) < 0) * 1.0), 1 / len(counts))
            for at, count in enumerate(counts)
        ]

    return drawn


EQUAL, HIGH = (0.6,) * 12, (0.97,) * 12
SPACED = tuple(np.linspace(0.45, 0.75, 12))
CLUMPS = (0.7,) * 4 + (0.6,) * 4 + (0.5,) * 4
WORLDS = (
    *(World(f"12 equal at 60 %, {n} documents", EQUAL, documents(n)) for n in (40, 150, 1000)),
    *(World(f"12 equal at 97 %, {n} documents", HIGH, documents(n)) for n in (40, 150, 1000)),
    World("12 equal at 60 %, answers hardly shared, 150 documents", EQUAL, documents(150, 0.1)),
    World("12 equal at 60 %, answers nearly the same, 150 documents", EQUAL, documents(150, 0.95)),
    World("3 equal at 60 %, 150 documents", EQUAL[:3], documents(150)),
    World("40 equal at 60 %, 150 documents", (0.6,) * 40, documents(150)),
    *(World(f"45 to 75 % in 12 steps, {n} documents", SPACED, documents(n)) for n in (150, 1000)),
    *(World(f"four at 70, 60, 50 %, {n} documents", CLUMPS, documents(n)) for n in (150, 1000)),
    World("12 equal, 40 paragraphs of 4, half as a whole", EQUAL, paragraphs(40, 4, 0.5)),
    World("12 equal, 200 paragraphs of 4, half as a whole", EQUAL, paragraphs(200, 4, 0.5)),
    World("12 equal, values as of F1, 150 documents", EQUAL, overlaps(150)),
    World("12 equal, mean of tasks of 30, 300 and 1,000", EQUAL, group(30, 300, 1000)),
)


def true_ranks(rates: Sequence[float]) -> list[tuple[int, int]]:
    """Of equal models each may have any of the ranks that they share."""
    return [
        (1 + sum(one > own for one in rates), len(rates) - sum(one < own for one in rates))
        for own in rates
    ]


def observe(found: Ranking, world: World, members: Sequence[RankedMember]) -> dict[str, float]:
    """What one simulation shows."""
    places = list(zip(found.models, true_ranks(world.rates), strict=True))
    best = [at for at, rate in enumerate(world.rates) if rate == max(world.rates)]
    left = [at for at in best if not (found.models[at].best or found.models[at].tied)]
    leader = next(at for at, own in enumerate(found.models) if own.best)
    naive = 0.0
    if len(members) == 1 and len(best) > 1:
        own = members[0].models
        others = [at for at in range(len(own)) if at != leader]
        corrected = holm([compare(own[leader], own[at], tests=None).p_value for at in others])
        claimed = {at for at, p in zip(others, corrected, strict=True) if p < 0.05}
        naive = float(bool(claimed & set(best)) and leader in best)
    return {
        "all ranks hold": float(all(o.low <= low and high <= o.high for o, (low, high) in places)),
        "ranks": float(np.mean([own.high - own.low + 1 for own, _ in places])),
        "a best one is left out": float(bool(left)),
        "by the test alone": naive,
        "tied or best": float(sum(own.best or own.tied for own in found.models)),
    }


def simulate(given: tuple[int, int, int]) -> list[dict[str, float]]:
    """Some simulations of one world, for one process."""
    number, first, times = given
    world, rows = WORLDS[number], []
    for at in range(first, first + times):
        members = world.draw(np.random.default_rng((18, number, at)), world.rates)
        rows.append(observe(rank_models(members, at), world, members))
    return rows


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--times", type=int, default=1000, help="simulations of each world")
    flags.add_argument("--processes", type=int, default=2)
    flags.add_argument("--worlds", type=int, nargs="+", default=range(len(WORLDS)))
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    options = flags.parse_args()
    found: list[dict[str, Any]] = []
    share = -(-options.times // options.processes)
    with ProcessPoolExecutor(options.processes) as pool:
        for number in options.worlds:
            parts = [(number, at, share) for at in range(0, options.times, share)]
            rows = [row for part in pool.map(simulate, parts) for row in part]
            means = {name: round(float(np.mean([r[name] for r in rows])), 4) for name in rows[0]}
            found.append({"world": WORLDS[number].name, "times": len(rows), **means})
            say(f"  {found[-1]}")
    write_result(options.output_dir, "rank_simulation", {"worlds": found})


if __name__ == "__main__":
    main()
