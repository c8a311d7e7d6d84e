"""Bands and changes of learning curves in worlds of known truth: how often they hold.

The program's own functions on invented answers: no model, no data. The table of docs/watch.md is
from here.

    python benchmarks/curve_simulation.py [--times 400] [--processes 2]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, say, write_result

from tenbin.records import Cell, Outcome
from tenbin.statistics.curves.changes import StepScores
from tenbin.statistics.measured import measured
from tenbin.statistics.shared_documents import RankedMember, SharedDocuments
from tenbin.statistics.special import special

CELL = Cell("sample", "1.0", "default", 0, 42)
STEPS = 8
Draw = np.random.Generator


@dataclass(frozen=True)
class World:
    """A training whose true scores are known."""

    name: str
    draw: Callable[[Draw, Sequence[float], int], np.ndarray]
    level: float
    count: int
    top: float | None
    size: int = 0
    """Documents of a paragraph; 0: they are independent."""


def right_or_wrong(
    draw: Draw, rates: Sequence[float], count: int, shared: float = 0.7
) -> np.ndarray:
    """Documents × steps; all steps find the same documents hard."""
    common = draw.standard_normal((count, 1))
    own = draw.standard_normal((count, len(rates)))
    border = special().ndtri(np.array(rates))
    return (np.sqrt(shared) * common + np.sqrt(1 - shared) * own < border) * 1.0


def bits(draw: Draw, means: Sequence[float], count: int) -> np.ndarray:
    """Skewed values, as of bits per byte."""
    common = draw.gamma(2.0, 0.5, (count, 1))
    return common - 1.0 + draw.gamma(1.0, 0.3, (count, len(means))) - 0.3 + np.array(means)


def paragraphs(draw: Draw, means: Sequence[float], count: int) -> np.ndarray:
    """Three documents of a paragraph, which has a change of its own between steps."""
    own = np.repeat(draw.normal(0, 0.3, (count // 3, len(means))), 3, axis=0)
    return np.array(means) + own + draw.normal(0, 0.3, (len(own), len(means)))


WORLDS = (
    World("right or wrong, 60 %, 40 documents", right_or_wrong, 0.6, 40, 1.0),
    World("right or wrong, 60 %, 150 documents", right_or_wrong, 0.6, 150, 1.0),
    World("right or wrong, 60 %, 600 documents", right_or_wrong, 0.6, 600, 1.0),
    World("right or wrong, 60 %, 150, steps nearly the same",
          partial(right_or_wrong, shared=0.97), 0.6, 150, 1.0),
    World("right or wrong, 4 %, 150 documents", right_or_wrong, 0.04, 150, 1.0),
    World("bits per byte, skewed, 40 documents", bits, 1.0, 40, None),
    World("bits per byte, skewed, 300 documents", bits, 1.0, 300, None),
    World("50 paragraphs of three documents", paragraphs, 0.5, 150, None, 3),
)  # fmt: skip


def scores_of(world: World, values: np.ndarray) -> StepScores:
    """Answers as the program measures them."""
    groups = [f"{at // world.size}" for at in range(len(values))] if world.size else None
    models = tuple(
        measured(
            "mean",
            [
                Outcome(CELL, f"{at:06d}", "m", float(value), group=groups[at] if groups else None)
                for at, value in enumerate(column)
            ],
        )
        for column in values.T
    )
    shared = SharedDocuments.of([RankedMember("", models)])
    return StepScores.of(shared, 3, True, world.top)


def observe(place: int, times: int) -> dict[str, Any]:
    """One world: claims on flat curves, and bands that hold on rising ones."""
    world = WORLDS[place]
    draw = np.random.default_rng(100 + place)
    neighbours = [(at, at + 1) for at in range(STEPS - 1)]
    newest = [(at, STEPS - 1) for at in range(STEPS - 1)]
    flat = [world.level] * STEPS
    rising = [world.level + 0.06 * at * (1 - world.level) for at in range(STEPS)]
    shape = np.array(rising) - np.mean(rising)
    claims = [0, 0]
    held = 0
    for _ in range(times):
        scores = scores_of(world, world.draw(draw, flat, world.count))
        for at, pairs in enumerate((neighbours, newest)):
            claims[at] += any(one.shown for one in scores.changes(pairs))
        scores = scores_of(world, world.draw(draw, rising, world.count))
        band, centre = np.array(scores.band()), np.mean(scores.values)
        held += bool(((band[:, 0] <= centre + shape) & (centre + shape <= band[:, 1])).all())
    found = {
        "world": world.name,
        "simulations": times,
        "band_holds": round(100 * held / times, 1),
        "neighbours_claimed": round(100 * claims[0] / times, 1),
        "newest_claimed": round(100 * claims[1] / times, 1),
    }
    say(str(found))
    return found


def main() -> None:
    """Simulate every world and write the table."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--times", type=int, default=400)
    made.add_argument("--processes", type=int, default=2)
    made.add_argument("--output_dir", type=Path, default=RESULTS)
    given = made.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        rows = list(pool.map(partial(observe, times=given.times), range(len(WORLDS))))
    write_result(given.output_dir, "curve_simulation", {"steps": STEPS, "worlds": rows})
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")


if __name__ == "__main__":
    main()
