"""Sweeps on a budget in worlds of known truth: errors and coverage of everything that is stated.

100 prompts on 300 documents, of which each document is asked a few. The truth is what the full grid
of the same documents gives.

    python benchmarks/prompt_simulation.py [--repetitions 100] [--budgets 2 4 8] [--worlds WORD …]

Prints the table of docs/statistics.md and keeps it in results/prompt_simulation.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from common import RESULTS, say, setup_facts, write_result
from tests.statistics.prompts.worlds import WORLDS, Sweep, sweep

from tenbin.statistics.prompts.distribution import QUANTILES, score_distribution
from tenbin.statistics.prompts.mean import mean_score
from tenbin.statistics.prompts.per_prompt import prompt_scores

ROUNDING = 1e-9
"""Sums of the same numbers in another order: a full sweep has intervals of no length."""
INNER = slice(1, -1)
"""The quantiles without the worst and the best prompt."""


def judge(swept: Sweep, budget: int, seed: int) -> dict[str, Any]:
    """What one sweep states, beside the truth."""
    truth = swept.scores
    scores = prompt_scores(swept.matrix, seed)
    found = score_distribution(swept.matrix, seed, scores=scores)
    low, value, high = (
        np.array([getattr(one, part) for one in found.quantiles])
        for part in ("low", "value", "high")
    )
    aim = np.quantile(truth, QUANTILES)
    picks = np.random.default_rng(seed).choice(len(truth), budget, replace=False)
    best = scores.prompts[scores.values.argmax()]
    curve = np.quantile(truth, [one.share for one in found.curve])
    return {
        "noise_stated": float(scores.variances.mean()),
        "noise": float(((scores.values - truth[scores.prompts]) ** 2).mean()),
        "error": np.abs(value - aim),
        "covered": (low - ROUNDING <= aim) & (aim <= high + ROUNDING),
        "width": high - low,
        "whole_error": np.abs(np.quantile(truth[picks], QUANTILES) - aim),
        "gap": found.gap is not None,
        "band": all(
            one.low - ROUNDING <= at <= one.high + ROUNDING
            for one, at in zip(found.curve, curve, strict=True)
        ),
        "regret": float(truth.max() - truth[best]),
        "spread": float(truth.std()),
    }


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def mean(name: str) -> Any:
        return np.mean([row[name] for row in rows], axis=0)

    return {
        "repetitions": len(rows),
        "spread": round(float(mean("spread")), 4),
        "noise_ratio": round(float(mean("noise_stated") / mean("noise")), 3),
        "noise": round(float(np.sqrt(mean("noise"))), 4),
        "quantile_error": round(float(mean("error")[INNER].mean()), 4),
        "whole_templates_error": round(float(mean("whole_error")[INNER].mean()), 4),
        "coverage": {
            f"{share:g}": round(float(found), 3)
            for share, found in zip(QUANTILES, mean("covered"), strict=True)
        },
        "width": [round(float(one), 3) for one in mean("width")],
        "gaps_seen": round(float(mean("gap")), 3),
        "band_coverage": round(float(mean("band")), 3),
        "regret": round(float(mean("regret")), 4),
    }


def mean_coverage(name: str, budget: int, times: int) -> dict[str, float]:
    """How often the mean's interval holds the full grid's mean, and its error's ratio."""
    generator = np.random.default_rng([11, budget, list(WORLDS).index(name)])
    inside, errors, stated = 0, [], []
    for seed in range(times):
        swept = sweep(name, generator, budget, seed)
        found, truth = mean_score(swept.matrix), float(swept.grid.mean())
        assert found.low is not None and found.high is not None and found.stderr is not None
        inside += found.low <= truth <= found.high
        errors.append((found.value - truth) ** 2)
        stated.append(found.stderr**2)
    return {
        "mean_coverage": round(inside / times, 4),
        "mean_variance_ratio": round(float(np.mean(stated) / np.mean(errors)), 3),
        "mean_repetitions": times,
    }


def line(name: str, budget: int, row: dict[str, Any]) -> str:
    covered = ", ".join(f"{100 * found:.0f}" for found in row["coverage"].values())
    return (
        f"| {name}, {budget}x | {100 * row['mean_coverage']:.1f} | {row['noise_ratio']:.2f} | "
        f"{row['quantile_error']:.3f} | {row['whole_templates_error']:.3f} | {covered} | "
        f"{100 * row['band_coverage']:.0f} | {100 * row['gaps_seen']:.0f} |"
    )


def simulate(options: argparse.Namespace) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for budget in options.budgets:
        for name in WORLDS:
            if options.worlds and not any(word in name for word in options.worlds):
                continue
            generator = np.random.default_rng([7, budget])
            rows = [
                judge(sweep(name, generator, budget, seed), budget, seed)
                for seed in range(options.repetitions)
            ]
            means = mean_coverage(name, budget, options.mean_repetitions)
            yield name, budget, {**summarise(rows), **means}


def main() -> None:
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--repetitions", type=int, default=100)
    flags.add_argument("--mean_repetitions", type=int, default=2000, help="of the mean alone")
    flags.add_argument("--budgets", type=int, nargs="+", default=[2, 4, 8])
    flags.add_argument("--worlds", nargs="*", help="words of their names; default all")
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    flags.add_argument("--name", default="prompt_simulation")
    options = flags.parse_args()
    found: dict[str, dict[str, Any]] = {}
    say("| world | mean covered | noise | error | whole | quantiles covered | band | gap seen |")
    for name, budget, row in simulate(options):
        found.setdefault(f"{budget}x", {})[name] = row
        say(line(name, budget, row))
    write_result(options.output_dir, options.name, {"worlds": found, "setup": setup_facts()})


if __name__ == "__main__":
    main()
