"""Comparisons in worlds of known truth: how often tests claim, intervals cover, promises hold.

The program's own functions on invented answers: no model, no data. The tables of
docs/statistics.md, section Comparisons, are from here.

    python benchmarks/comparison_simulation.py [--times 2000] [--only skewed]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, say, write_result

from tenbin.records import Cell, Outcome
from tenbin.statistics.bounded import bounded_mean
from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.paired import compare, compare_members
from tenbin.statistics.paired_sides import PairedMember
from tenbin.statistics.permutation import sign_flip
from tenbin.statistics.power import (
    CORRELATIONS,
    detectable,
    detectable_difference,
    expected_discordance,
    mcnemar_power,
)

CELL = Cell("sample", "1.0", "default", 0, 42)
Draw = np.random.Generator


def documents(
    values: Sequence[float] | np.ndarray, groups: Sequence[str] | None = None
) -> Measured:
    """Documents with these values; documents of one group are one cluster."""
    return measured(
        "mean",
        [
            Outcome(CELL, f"{at:06d}", "m", float(value), group=groups[at] if groups else None)
            for at, value in enumerate(values)
        ],
    )


def right_or_wrong(draw: Draw, count: int, won: float, lost: float) -> tuple[Measured, Measured]:
    """Both sides of documents of which shares are won and lost."""
    chance = draw.random(count)
    first = np.where(chance < won, 0.0, 1.0)
    second = np.where((chance >= won) & (chance < won + lost), 0.0, 1.0)
    return documents(first), documents(second)


def power_of_comparisons(draw: Draw, times: int) -> list[dict[str, Any]]:
    """The true power at the difference that a comparison says it finds in four of five."""
    rows = []
    for count in (40, 80, 400, 1000):
        for apart in (0.05, 0.1, 0.3):
            used, by_width = [], []
            for _ in range(times // 10):
                found = compare(*right_or_wrong(draw, count, apart / 2, apart / 2))
                if found.detectable is not None:
                    step = found.detectable
                    used.append(mcnemar_power(count, max(apart, step), step))
                if found.stderr:
                    step = detectable_difference(found.stderr, count - 1)
                    by_width.append(mcnemar_power(count, max(apart, step), step))
            rows.append(
                {
                    "documents": count,
                    "discordance": apart,
                    "from the error": mean(by_width),
                    "used": mean(used),
                }
            )
    return rows


def power_of_single_runs(draw: Draw, times: int) -> list[dict[str, Any]]:
    """The true power at the difference that one run says it finds on the same documents."""
    rows = []
    for count in (80, 400, 1500):
        for share in (0.5, 0.7, 0.9):
            for correlation in CORRELATIONS:
                used, before = [], []
                for _ in range(times // 40):
                    found = estimate(documents(draw.random(count) < share))
                    shown = detectable(found)
                    assert shown is not None
                    step = shown.paired[correlation]
                    # What was promised before: a correlation of 0.5, and a t test.
                    old = shown.unpaired / 2**0.5
                    for one, into in ((step, used), (old, before)):
                        if one is not None:
                            apart = max(one, expected_discordance(share, one, correlation))
                            into.append(mcnemar_power(count, apart, one))
                rows.append(
                    {
                        "documents": count,
                        "share": share,
                        "correlation": correlation,
                        "one correlation, t test": mean(before),
                        "used": mean(used),
                    }
                )
    return rows


SKEWED: dict[str, Callable[[Draw, int], np.ndarray]] = {
    "normal": lambda draw, n: np.clip(draw.normal(0, 0.2, n), -1, 1),
    "exponential": lambda draw, n: np.clip((draw.exponential(size=n) - 1) / 8, -1, 1),
    "log-normal": lambda draw, n: (np.exp(draw.normal(size=n)) - np.exp(0.5)) / 30,
    "beta, most near 0": lambda draw, n: draw.beta(0.3, 3, n) - 0.3 / 3.3,
    "one in five loses 0.8": lambda draw, n: np.where(draw.random(n) < 0.2, -0.8, 0.2),
    "one in ten loses 0.9": lambda draw, n: np.where(draw.random(n) < 0.1, -0.9, 0.1),
    "one in twenty loses 0.95": lambda draw, n: np.where(draw.random(n) < 0.05, -0.95, 0.05),
}
"""Differences with a mean of 0."""
GAINING: dict[str, Callable[[Draw, int], np.ndarray]] = {
    "0.1 ± 0.3": lambda draw, n: np.clip(draw.normal(0.1, 0.3, n), -1, 1),
    "F1: 60 % equal, +0.09 on average": lambda draw, n: np.where(
        draw.random(n) < 0.6, 0.0, draw.choice([-1.0, -0.5, 0.3, 0.5, 1.0, 1.0], size=n)
    ),
}


def skewed_differences(draw: Draw, times: int) -> list[dict[str, Any]]:
    """How often a difference is claimed, by sign flips and by Gaffke's bound."""
    rows = []
    for count in (10, 20, 40, 100):
        for kind, worlds in (("none", SKEWED), ("gain", GAINING)):
            for name, world in worlds.items():
                flips, bound = [], []
                for at in range(times // 4):
                    steps = world(draw, count)
                    flips.append(sign_flip(steps, at, 499)[0] < 0.05)
                    bound.append(bounded_mean(steps, np.ones(count), 1.0, at).p_value() < 0.05)
                rows.append(
                    {
                        "clusters": count,
                        "difference": kind,
                        "world": name,
                        "sign flips": mean(flips),
                        "gaffke": mean(bound),
                    }
                )
    return rows


MEMBERS: dict[str, tuple[list[tuple[int, float, float]], list[float | None]]] = {
    "10 and 1,000, equal weights, 10 % won and lost": (
        [(10, 0.1, 0.1), (1000, 0.1, 0.1)],
        [0.5, 0.5],
    ),
    "the same, +30 and -30 points": ([(10, 0.3, 0.0), (1000, 0.0, 0.3)], [0.5, 0.5]),
    "30, 300 and 1,000, equal weights, +10, -5, -5": (
        [(30, 0.15, 0.05), (300, 0.05, 0.1), (1000, 0.05, 0.1)],
        [1 / 3] * 3,
    ),
    "the same by documents": (
        [(30, 0.15, 0.05), (300, 0.05, 0.1), (1000, 0.05, 0.1)],
        [None] * 3,
    ),
    "fifty of 20, equal weights": ([(20, 0.1, 0.1)] * 50, [0.02] * 50),
}


def groups_of_tasks(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Coverage of means over members that share nothing, and claims where the mean is 0."""
    rows = []
    for name, (members, weights) in MEMBERS.items():
        of = np.array([m[0] if w is None else w for m, w in zip(members, weights, strict=True)])
        truth = float(of @ [won - lost for _, won, lost in members] / of.sum())
        covered, claimed = [], []
        for _ in range(times // 4):
            made = [
                PairedMember(str(at), *right_or_wrong(draw, *member), weight)
                for at, (member, weight) in enumerate(zip(members, weights, strict=True))
            ]
            found = compare_members(made, tests=None)
            assert found.low is not None and found.high is not None
            covered.append(found.low <= truth <= found.high)
            claimed.append(found.p_value < 0.05)
        claims = mean(claimed) if abs(truth) < 1e-9 else None
        rows.append({"members": name, "covered": mean(covered), "claimed": claims})
    return rows


def groups_of_languages(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Languages of the same items: joined by item, and taken as independent."""
    rows = []
    for languages, items, missing in ((10, 80, 0.0), (5, 80, 0.33)):
        joined, apart = [], []
        for _ in range(times // 4):
            hard = draw.standard_normal(items)
            taste = 0.8 * draw.standard_normal(items)
            members: list[list[PairedMember]] = [[], []]
            for at in range(languages):
                noise = draw.logistic(size=(2, items))
                asked = draw.random(items) >= missing
                names = [f"{item:04d}" for item in np.flatnonzero(asked)]
                sides = []
                for sign, one in zip((0.5, -0.5), noise, strict=True):
                    right = (hard + sign * taste + one > 0)[asked]
                    rows_of = [
                        Outcome(CELL, name, "m", float(value))
                        for name, value in zip(names, right, strict=True)
                    ]
                    sides.append(measured("mean", rows_of))
                members[0].append(PairedMember("one", sides[0], sides[1], 1.0))
                members[1].append(PairedMember(str(at), sides[0], sides[1], 1.0))
            for given, into in zip(members, (joined, apart), strict=True):
                into.append(compare_members(given, tests=None).p_value < 0.05)
        rows.append(
            {
                "languages": languages,
                "items": items,
                "missing": missing,
                "claimed": mean(joined),
                "as independent": mean(apart),
            }
        )
    return rows


def mean(values: Sequence[float | bool]) -> float | None:
    return round(float(np.mean(values)), 4) if len(values) else None


PARTS: dict[str, Callable[[Draw, int], list[dict[str, Any]]]] = {
    "comparisons": power_of_comparisons,
    "single_runs": power_of_single_runs,
    "skewed": skewed_differences,
    "tasks": groups_of_tasks,
    "languages": groups_of_languages,
}


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--times", type=int, default=2000, help="simulations, at most")
    flags.add_argument("--only", choices=PARTS, action="append")
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    options = flags.parse_args()
    found = {}
    for name in options.only or PARTS:
        say(name)
        found[name] = PARTS[name](np.random.default_rng(16), options.times)
        for row in found[name]:
            say(f"  {row}")
    if not options.only:
        write_result(options.output_dir, "comparison_simulation", {"times": options.times, **found})


if __name__ == "__main__":
    main()
