"""Means over groups, balanced accuracies and single scores in worlds of known truth: how often
their intervals cover.

The program's own functions on invented answers: no model, no data. Tables of docs/statistics.md,
section Coverage, are from here.

    python benchmarks/group_simulation.py [--times 1000] [--only groups]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, say, write_result

from tenbin.records import Cell, Outcome
from tenbin.statistics.groups import Member, group_estimates
from tenbin.statistics.intervals import Estimate, estimate
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.special import special

CELL = Cell("sample", "1.0", "default", 0, 42)
Draw = np.random.Generator

GROUPS: list[tuple[str, Sequence[int], Sequence[float], float | None]] = [
    ("10 at 90 %, 1,000 at 50 %", (10, 1000), (0.9, 0.5), None),
    ("5 at 98 %, 50 at 80 %, 500 at 30 %", (5, 50, 500), (0.98, 0.8, 0.3), None),
    ("three of 8 at 97 %, 2,000 at 60 %", (8, 8, 8, 2000), (0.97, 0.97, 0.97, 0.6), None),
    ("57 of 100 at 98 %", (100,) * 57, (0.98,) * 57, None),
    ("30 of 10 at 95 %", (10,) * 30, (0.95,) * 30, None),
    ("50 of 4 at 90 %", (4,) * 50, (0.9,) * 50, None),
    ("40 of 3 at 3 %", (3,) * 40, (0.03,) * 40, None),
    ("four of 50 at 50, 70, 90, 99 %", (50,) * 4, (0.5, 0.7, 0.9, 0.99), None),
    ("30 at 97 %, 30 at 3 %", (30, 30), (0.97, 0.03), None),
    ("200 at 50 %, 10 of the items again at 90 %", (200, 10), (0.5, 0.9), 0.5),
    ("1,000 at 50 %, 10 of the items again at 95 %", (1000, 10), (0.5, 0.95), 0.0),
    ("10 languages of 40 items at 95 %", (40,) * 10, (0.95,) * 10, 0.6),
    ("10 languages of 15 items at 80 %", (15,) * 10, (0.8,) * 10, 0.9),
    (
        "six languages of 83 to 2,325 rows, numbered alike",
        (2325, 83, 959, 263, 315, 504),
        (0.85, 0.75, 0.7, 0.72, 0.74, 0.7),
        0.0,
    ),
]
"""Name, documents and scores of the members, and how alike members answer an item; None: members
share no items."""

BALANCED: list[tuple[str, Sequence[float], Sequence[float], Sequence[int]]] = [
    ("85 : 15, recalls 90 and 95 %", (0.85, 0.15), (0.9, 0.95), (80, 120, 300)),
    ("90 : 10, recalls 90 and 97 %", (0.9, 0.1), (0.9, 0.97), (80, 120, 300)),
    ("85 : 15, recalls 90 and 90 %", (0.85, 0.15), (0.9, 0.9), (80, 120, 300)),
    (
        "three classes, one of 8 % with a recall of 95 %",
        (0.46, 0.46, 0.08),
        (0.8, 0.8, 0.95),
        (80, 120, 300),
    ),
    ("84 : 16, recalls 95 and 30 %", (0.84, 0.16), (0.95, 0.3), (80, 120, 300)),
    ("90 : 10, recalls 99 and 50 %", (0.9, 0.1), (0.99, 0.5), (80, 120, 300)),
    ("70 : 30, recalls 98 and 98 %", (0.7, 0.3), (0.98, 0.98), (80, 120, 300)),
    ("ten equal classes, recalls 95 %", (0.1,) * 10, (0.95,) * 10, (80, 120, 300)),
]
"""Name, shares of the classes, their recalls, documents."""

Ends = tuple[float, float]


def documents(values: np.ndarray) -> Measured:
    """Independent documents with these values."""
    rows = (Outcome(CELL, f"{at:06d}", "m", float(one)) for at, one in enumerate(values))
    return measured("mean", rows)


def valued(like: Measured, values: np.ndarray) -> Measured:
    """The same documents with other values."""
    features = like.features.copy()
    features[:, 0] = values
    return replace(like, features=features)


def put_together(estimates: Sequence[Estimate], weights: np.ndarray) -> Ends:
    """The members' own intervals, whose distances from their values add as variances do."""
    below = above = value = 0.0
    for one, weight in zip(estimates, weights.tolist(), strict=True):
        assert one.value is not None and one.low is not None and one.high is not None
        value += weight * one.value
        below += (weight * (one.value - one.low)) ** 2
        above += (weight * (one.high - one.value)) ** 2
    return value - math.sqrt(below), value + math.sqrt(above)


def means_of_groups(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Both means of each group."""
    rows = []
    for name, sizes, scores, alike in GROUPS:
        likes = [documents(np.ones(size)) for size in sizes]
        limits = special().ndtri(np.array(scores))
        by_documents = np.array(sizes) / sum(sizes)
        plain = np.full(len(sizes), 1 / len(sizes))
        truths = [float(weights @ scores) for weights in (by_documents, plain)]
        found: list[list[Ends]] = [[], [], []]
        for _ in range(times):
            common = draw.standard_normal(max(sizes))
            members = []
            for at, (like, limit) in enumerate(zip(likes, limits, strict=True)):
                own, size = draw.standard_normal(sizes[at]), sizes[at]
                share = alike or 0.0
                hard = math.sqrt(share) * common[:size] + math.sqrt(1 - share) * own
                family = str(at) if alike is None else "one"
                members.append(Member(family, valued(like, (hard < limit).astype(float))))
            both = group_estimates(members)
            for one, into in zip(both, found, strict=False):
                assert one.low is not None and one.high is not None
                into.append((one.low, one.high))
            if alike is None:
                found[2].append(put_together([estimate(m.measured) for m in members], plain))
        rows.append(
            {
                "group": name,
                "by documents": covered(found[0], truths[0]),
                "plain": covered(found[1], truths[1]),
                "plain, width": width(found[1]),
                "plain, put together": covered(found[2], truths[1]) if found[2] else None,
                "plain, put together, width": width(found[2]) if found[2] else None,
            }
        )
        say(f"  {rows[-1]}")
    return rows


def balanced_accuracies(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Balanced accuracies of independent documents."""
    rows = []
    for name, shares, recalls, counts in BALANCED:
        classes = len(shares)
        for count in counts:
            like = measured(
                "balanced_acc",
                [
                    Outcome(CELL, f"{at:06d}", "m", 1.0, None, classes - 1, classes - 1)
                    for at in range(count)
                ],
            )
            found = []
            for _ in range(times):
                gold = draw.choice(classes, count, p=shares)
                right = draw.random(count) < np.array(recalls)[gold]
                picked = np.where(right, gold, (gold + 1) % classes)
                one = estimate(replace(like, features=np.eye(classes**2)[classes * gold + picked]))
                assert one.low is not None and one.high is not None
                found.append((one.low, one.high))
            truth = float(np.mean(recalls))
            rows.append({"world": name, "documents": count, "used": covered(found, truth)})
            say(f"  {rows[-1]}")
    return rows


def too_short(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Worlds in which intervals of single scores are too short."""
    rows = []
    clusters = ["one" if at < 50 else None for at in range(100)]
    halves = measured(
        "mean",
        [Outcome(CELL, f"{at:06d}", "m", 1.0, group=one) for at, one in enumerate(clusters)],
    )
    f1 = documents(np.ones(40))
    found: list[list[Ends]] = [[], []]
    for _ in range(times):
        chances = draw.beta(0.7 / 0.3 * 0.7, 0.3 / 0.3 * 0.7, 51)[np.r_[np.zeros(50, int), 1:51]]
        luck = draw.random(40)
        between = np.where(luck < 0.02, 0.0, draw.beta(5, 1, 40))
        for into, like, values in (
            (found[0], halves, (draw.random(100) < chances).astype(float)),
            (found[1], f1, np.where(luck > 0.1, 1.0, between)),
        ):
            one = estimate(valued(like, values))
            assert one.low is not None and one.high is not None
            into.append((one.low, one.high))
    names = ("half of 100 documents in one cluster", "F1: 90 % at 1, 2 % at 0, 40 documents")
    truths = (0.7, 0.9 + 0.08 * 5 / 6)
    for name, own, truth in zip(names, found, truths, strict=True):
        rows.append({"world": name, "used": covered(own, truth)})
        say(f"  {rows[-1]}")
    rates = np.array([[0.97, 0.03], [0.95, 0.05]])
    for name in ("macro_f1", "mcc"):
        for count in (60, 200):
            like = measured(
                name, [Outcome(CELL, f"{at:06d}", "m", 1.0, None, 1, 1) for at in range(count)]
            )
            truth = float(like.score((np.array([[0.8], [0.2]]) * rates).ravel() * 1e6))
            ends: list[Ends] = []
            for at in range(times // 2):
                gold = (draw.random(count) < 0.2).astype(int)
                picked = (draw.random(count) < rates[gold, 1]).astype(int)
                one = estimate(replace(like, features=np.eye(4)[2 * gold + picked]), at)
                if one.low is not None and one.high is not None:
                    ends.append((one.low, one.high))
            rows.append(
                {
                    "world": f"{name}: a class of 20 % that is named in 5 %, {count} documents",
                    "used": covered(ends, truth),
                    "intervals": len(ends) / (times // 2),
                }
            )
            say(f"  {rows[-1]}")
    return rows


def covered(found: Sequence[Ends], truth: float) -> float:
    """The share of intervals that hold the truth."""
    return round(float(np.mean([low <= truth <= high for low, high in found])), 4)


def width(found: Sequence[Ends]) -> float:
    """Their mean width."""
    return round(float(np.mean([high - low for low, high in found])), 4)


PARTS: dict[str, Callable[[Draw, int], list[dict[str, Any]]]] = {
    "groups": means_of_groups,
    "balanced": balanced_accuracies,
    "too short": too_short,
}


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--times", type=int, default=1000, help="simulations")
    flags.add_argument("--only", choices=PARTS, action="append")
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    options = flags.parse_args()
    found = {}
    for name in options.only or PARTS:
        say(name)
        found[name] = PARTS[name](np.random.default_rng(16), options.times)
    if not options.only:
        write_result(options.output_dir, "group_simulation", {"times": options.times, **found})


if __name__ == "__main__":
    main()
