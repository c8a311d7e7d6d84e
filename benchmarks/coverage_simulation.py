"""Single scores, comparisons, sweeps and option order in worlds of known truth: how often their
intervals cover, and how often an effect is claimed.

The program's own functions on invented answers: no model, no data. Tables of docs/statistics.md are
from here, as far as no other script is named there.

    python benchmarks/coverage_simulation.py [--times 600] [--only honest]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from common import RESULTS, say, write_result
from tests.statistics import test_option_order as orders
from tests.statistics.prompts import test_effects as effects
from tests.statistics.test_selection import answers, options

from tenbin.statistics.intervals import Estimate, estimate, t_interval
from tenbin.statistics.measured import Measured
from tenbin.statistics.option_order import option_order
from tenbin.statistics.paired import compare
from tenbin.statistics.selection import cross_fitted, honest_estimate
from tenbin.statistics.variance import templates_differ, variance_shares

Draw = np.random.Generator
Drawn = tuple[np.ndarray, Sequence[str | None]]

SIZES = (60, 120, 300)
TEMPLATES = {
    "equally good, 60 %": np.full(6, 0.6),
    "55 to 65 %": np.linspace(0.55, 0.65, 6),
    "one at 65 %, five at 50 %": np.array([0.5] * 5 + [0.65]),
    "one at 80 %, five at 50 %": np.array([0.5] * 5 + [0.8]),
    "equally good, 90 %": np.full(6, 0.9),
    "twenty equally good, 60 %": np.full(20, 0.6),
}


def documents(values: np.ndarray, clusters: Sequence[str | None]) -> Measured:
    """Documents with these values."""
    return replace(options(values[None, :])[0], clusters=tuple(clusters))


def independent(count: int, share: float) -> Callable[[Draw], Drawn]:
    """Right or wrong documents."""
    alone = [None] * count
    return lambda draw: ((draw.random(count) < share).astype(float), alone)


def paragraphs(count: int, share: float, correlation: float) -> Callable[[Draw], Drawn]:
    """Paragraphs with 1 to 7 questions, whose chances differ by paragraph."""
    size = (1 - correlation) / correlation

    def drawn(draw: Draw) -> Drawn:
        whose = np.repeat(np.arange(count), draw.integers(1, 8, count))
        chances = draw.beta(share * size, (1 - share) * size, count)[whose]
        return (draw.random(len(whose)) < chances).astype(float), [str(one) for one in whose]

    return drawn


def partial_credit(count: int, full: float, none: float) -> Callable[[Draw], Drawn]:
    """Values as of F1: some at 1, some at 0, the others between."""

    def drawn(draw: Draw) -> Drawn:
        kind, between = draw.random(count), draw.random(count)
        value = np.where(kind < full, 1.0, np.where(kind < full + none, 0.0, between))
        return value, [None] * count

    return drawn


BINARY = ((80, 0.5), (80, 0.25), (80, 0.9), (80, 0.97), (20, 0.5), (20, 0.25), (20, 0.9))
CLUSTERED = ((20, 0.8, 0.3), (40, 0.5, 0.3), (40, 0.8, 0.3), (200, 0.95, 0.3), (40, 0.95, 0.6))
MEANS: list[tuple[str, float, Callable[[Draw], Drawn]]] = [
    *((f"n = {n}, {share:.0%}", share, independent(n, share)) for n, share in BINARY),
    *((f"{n} paragraphs at {share:.0%}, correlation {rho}", share, paragraphs(n, share, rho))
      for n, share, rho in CLUSTERED),
    ("F1: half at 100, a fifth at 0, n = 80", 0.65, partial_credit(80, 0.5, 0.2)),
    ("F1: 95 % at 100, the rest between, n = 80", 0.975, partial_credit(80, 0.95, 0.0)),
]  # fmt: skip


def single_means(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Intervals of means, beside the value ± t errors."""
    rows = []
    for name, truth, drawn in MEANS:
        found = [estimate(documents(*drawn(draw))) for _ in range(20 * times)]
        plain = [t_interval(one.value or 0.0, one.stderr or 0.0, one.clusters - 1) for one in found]
        rows.append({"world": name, "used": covered(found, truth),
                     "t": rounded([low <= truth <= high for low, high in plain])})  # fmt: skip
        say(f"  {rows[-1]}")
    return rows


def honest_scores(draw: Draw, times: int) -> list[dict[str, Any]]:
    """The honest score of the best template: coverage and bias."""
    rows = []
    for name, chances in TEMPLATES.items():
        for count in SIZES:
            held, off, below = [], [], []
            for seed in range(times):
                right = answers(draw, chances, count)
                choice = cross_fitted(options(right), seed)
                found, truth = honest_estimate(choice, seed, 1.0), float(chances[choice.best])
                held.append(holds(found, truth))
                off.append(choice.honest.value - truth)
                below.append(choice.honest.value < right.mean(axis=1).min())
            rows.append({"world": name, "documents": count, "covered": rounded(held),
                         "bias_points": round(100 * float(np.mean(off)), 2),
                         "error": round(float(np.sqrt(np.mean(np.square(off)))), 4),
                         "below_every_template": rounded(below)})  # fmt: skip
            say(f"  {rows[-1]}")
    return rows


EFFECTS = [(0.0, 1, 60), (0.0, 1, 300), (0.0, 5, 60), (0.05, 1, 120), (0.1, 1, 120), (0.1, 5, 40)]
"""The standard deviation of the wording, documents of a paragraph, paragraphs."""


def wording(draw: Draw, times: int) -> list[dict[str, Any]]:
    """The variance that is due to the wording: as estimated, beside what it is."""
    rows = []
    for spread, size, count in EFFECTS:
        whose = np.repeat(np.arange(count), size)
        clusters = [str(one) for one in whose]
        found, truth, claimed = [], [], []
        for _ in range(times):
            moved = spread * draw.standard_normal(6)
            chances = 0.6 + moved[:, None] + 0.15 * draw.standard_normal((6, count))[:, whose]
            right = (draw.random(chances.shape) < chances).astype(float)
            found.append(variance_shares(right[:, None, :], clusters).components["prompt"])
            truth.append(moved.var(ddof=1))
            differ = templates_differ(right, clusters)
            claimed.append(differ is not None and differ.p_value < 0.05)
        rows.append({"spread": spread, "paragraphs": count, "questions": size,
                     "true_variance": round(float(np.mean(truth)), 6),
                     "estimated": round(float(np.mean(found)), 6),
                     "claimed": rounded(claimed)})  # fmt: skip
        say(f"  {rows[-1]}")
    return rows


PAIRS = [
    *((f"n = {n}", n, 1, 0.0, won, lost)
      for n in (80, 1000) for won, lost in ((0.15, 0.05), (0.1, 0.1), (0.03, 0.0))),
    *((f"{n} paragraphs, correlation {rho}", n, 4, rho, won, lost)
      for n, rho in ((40, 0.1), (20, 0.4)) for won, lost in ((0.15, 0.05), (0.1, 0.1))),
    ("40 paragraphs, correlation 0.9", 40, 4, 0.9, 0.03, 0.0),
    ("80 items in 10 languages, correlation 0.9", 80, 10, 0.9, 0.03, 0.0),
    ("12 items in 10 languages, correlation 0.9", 12, 10, 0.9, 0.1, 0.0),
]  # fmt: skip
"""Name, paragraphs, their questions, how many of these are of one mind, shares won and lost."""


def paired_differences(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Intervals of paired differences, beside the value ± t errors."""
    rows = []
    for name, count, size, alike, won, lost in PAIRS:
        whose = np.repeat(np.arange(count), size)
        clusters = [str(one) for one in whose] if size > 1 else [None] * count
        truth, held, plain = won - lost, [], []
        for seed in range(4 * times):
            shared, own = draw.random(count)[whose], draw.random(len(whose))
            kind = np.where(draw.random(len(whose)) < alike, shared, own)
            one = np.where(kind < won, 0.0, np.where(kind < won + lost, 1.0, own > 0.5))
            two = np.where(kind < won, 1.0, np.where(kind < won + lost, 0.0, one))
            found = compare(documents(one, clusters), documents(two, clusters), seed, tests=None)
            held.append(found.low <= truth <= found.high)
            ends = t_interval(found.difference, found.stderr, found.clusters - 1)
            plain.append(ends[0] <= truth <= ends[1])
        rows.append({"world": name, "won": won, "lost": lost, "used": rounded(held),
                     "t": rounded(plain)})  # fmt: skip
        say(f"  {rows[-1]}")
    return rows


def positions(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Intervals of option order; the draws are numbered, so that the generator is not used."""
    rows = []
    for name, world in orders.WORLDS.items():
        large = orders.made_world(np.random.default_rng(0), 20_000, *world)
        truth = {key: point(one) for key, one in orders.measures(option_order(large)).items()}
        for count in SIZES:
            held: dict[str, list[bool]] = {key: [] for key in truth}
            claims = []
            for seed in range(times):
                found = option_order(
                    orders.made_world(np.random.default_rng([1, seed]), count, *world), seed
                )
                claims.append(found.before.recall_spread.p_value < 0.05)
                for key, one in orders.measures(found).items():
                    held[key].append(one.low - 0.002 <= truth[key] <= one.high + 0.002)
            rows.append({"world": name, "documents": count, "claimed": rounded(claims),
                         "true": {key: round(value, 3) for key, value in truth.items()},
                         "covered": {key: rounded(own) for key, own in held.items()}})  # fmt: skip
            say(f"  {rows[-1]}")
    return rows


def choices(draw: Draw, times: int) -> list[dict[str, Any]]:
    """Effects of choices in the wording of a sweep on a budget, where there are none."""
    rows = []
    for taste in (0.0, 2.0):
        claimed, held = [], []
        for seed in range(times // 3):
            found = effects.swept(draw, seed, 0.0, taste)
            claimed.append(any(one.p_value < 0.05 for one in found))
            held.append(all(one.low <= 0 <= one.high for one in found))
        rows.append({"tastes_of_documents": taste, "claimed": rounded(claimed),
                     "all_hold": rounded(held)})  # fmt: skip
        say(f"  {rows[-1]}")
    return rows


def point(one: Any) -> float:
    """The middle of a score, or of a spread."""
    value: float = one.value if hasattr(one, "value") else one.deviation
    return value


def holds(found: Estimate, truth: float) -> bool:
    """Whether an interval contains the truth."""
    assert found.low is not None and found.high is not None
    return found.low <= truth <= found.high


def covered(found: Sequence[Estimate], truth: float) -> float:
    """The share of intervals that hold the truth."""
    return rounded([holds(one, truth) for one in found])


def rounded(claims: Sequence[Any]) -> float:
    """The share of those that are true."""
    return round(float(np.mean(claims)), 4)


PARTS: dict[str, Callable[[Draw, int], list[dict[str, Any]]]] = {
    "means": single_means,
    "honest": honest_scores,
    "wording": wording,
    "paired": paired_differences,
    "option order": positions,
    "choices": choices,
}


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--times", type=int, default=300, help="simulations; more of what is fast")
    flags.add_argument("--only", choices=PARTS, action="append")
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    given = flags.parse_args()
    found = {}
    for name in given.only or PARTS:
        say(name)
        found[name] = PARTS[name](np.random.default_rng(16), given.times)
    if not given.only:
        write_result(given.output_dir, "coverage_simulation", {"times": given.times, **found})


if __name__ == "__main__":
    main()
