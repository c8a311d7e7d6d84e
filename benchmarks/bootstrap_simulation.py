"""Scores of confusion matrices and of whole texts in worlds of known truth: how often three
intervals cover.

The program's own bootstrap, beside the percentiles of its resamples and the value ± t errors.
Tables of docs/statistics.md, section Coverage, are from here.

    python benchmarks/bootstrap_simulation.py [--times 400]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from common import RESULTS, say, write_result

from tenbin.records import Cell, Outcome
from tenbin.statistics import confusion
from tenbin.statistics.bootstrap import Resampling, bootstrap, resampled_scores
from tenbin.statistics.intervals import t_interval
from tenbin.statistics.measured import Measured, measured

CELL = Cell("sample", "1.0", "default", 0, 42)
Draw = np.random.Generator

MODEST = np.array([[0.30, 0.05, 0.05], [0.06, 0.12, 0.06], [0.05, 0.06, 0.25]])
GOOD = np.array([[0.78, 0.02], [0.02, 0.18]])
SMALL = np.array([[0.42, 0.05, 0.01], [0.06, 0.36, 0.02], [0.02, 0.02, 0.04]])
MATRICES = [
    ("three classes, 67 % correct", "mcc", MODEST),
    ("three classes, 67 % correct", "macro_f1", MODEST),
    ("two classes, 96 % correct", "mcc", GOOD),
    ("two classes, 96 % correct", "macro_f1", GOOD),
    ("three classes, one of 8 %", "macro_f1", SMALL),
]


def confused(draw: Draw, metric: str, shares: np.ndarray, count: int) -> Measured:
    """Documents whose gold and predicted classes are drawn from a matrix."""
    size = len(shares)
    like = measured(metric, [outcome(str(k), k, k) for k in range(size)])
    cells = draw.choice(size * size, count, p=shares.ravel())
    return drawn_again(like, np.eye(size * size)[cells])


def texts(draw: Draw, metric: str, count: int) -> Measured:
    """Texts of very different lengths, of which the longer ones are easier."""
    lengths = np.exp(draw.normal(5, 1, count)).round() + 5
    rates = np.exp(draw.normal(1 - 0.15 * (np.log(lengths) - 5), 0.3))
    like = measured(metric, [replace(outcome("0", 0, 0), value=-1.0, weight=1.0)])
    return drawn_again(like, np.stack([rates * lengths, lengths], axis=1))


def outcome(document: str, gold: int, predicted: int) -> Outcome:
    """One document."""
    value = float(gold == predicted)
    return Outcome(CELL, document, "x", value, gold=gold, predicted=predicted)


def drawn_again(like: Measured, features: np.ndarray) -> Measured:
    """Other documents of the same score."""
    names = tuple(str(at) for at in range(len(features)))
    return replace(like, documents=names, clusters=(None,) * len(names), features=features)


def coverage(drawn: Callable[[], Measured], truth: float, times: int) -> dict[str, float]:
    """How often the intervals hold the truth; where there is none, they do not."""
    held: dict[str, list[bool]] = {"percentile": [], "t": [], "bca": []}
    for seed in range(times):
        found = drawn()
        resampling = Resampling(found.features, found.score)
        resampled, scores = bootstrap(resampling, seed), resampled_scores(resampling, seed)
        value, stderr = found.value, float(scores.std(ddof=1))
        ends: dict[str, Any] = {
            "percentile": np.quantile(scores, (0.025, 0.975)),
            "t": t_interval(value, stderr, resampling.degrees),
            "bca": (None, None) if resampled is None else (resampled.low, resampled.high),
        }
        for name, (low, high) in ends.items():
            held[name].append(low is not None and low <= truth <= high)
    return {name: round(float(np.mean(own)), 4) for name, own in held.items()}


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--times", type=int, default=400, help="simulations")
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    given = flags.parse_args()
    draw, matrices, rolled = np.random.default_rng(16), [], []
    for name, metric, shares in MATRICES:
        truth = float(getattr(confusion, metric)(shares))
        for count in (80, 300):
            make = lambda: confused(draw, metric, shares, count)  # noqa: B023, E731
            matrices.append({"world": name, "metric": metric, "documents": count,
                             **coverage(make, truth, given.times)})  # fmt: skip
            say(f"  {matrices[-1]}")
    for metric in ("weighted_perplexity", "bits_per_byte"):
        truth = texts(np.random.default_rng(1), metric, 2_000_000).value
        for count in (20, 80, 300):
            make = lambda: texts(draw, metric, count)  # noqa: B023, E731
            rolled.append({"metric": metric, "documents": count,
                           **coverage(make, truth, given.times)})  # fmt: skip
            say(f"  {rolled[-1]}")
    write_result(
        given.output_dir,
        "bootstrap_simulation",
        {"times": given.times, "matrices": matrices, "texts": rolled},
    )


if __name__ == "__main__":
    main()
