"""Runs that stop early, in simulated worlds of known truth: coverage, size, documents.

Not speed. Uses the functions of `tenbin.statistics.sequential` and the intervals of ordinary runs;
`tests/statistics/test_sequential.py` is the short form. Takes some minutes.

    python benchmarks/until_simulation.py [--times 4000]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, say, setup_facts, write_result

from tenbin.statistics.intervals import mean_estimate, wilson_interval
from tenbin.statistics.sequential import (
    FEWEST_CLUSTERS,
    LOOKS,
    block_size,
    boundaries,
    confidence_sequence,
    look_at,
)

SEED = 16


@cache
def wilson(right: int, n: int) -> tuple[float, float]:
    value = right / n
    return wilson_interval(value, math.sqrt(value * (1 - value) / (n - 1)), n, n - 1)


def widths_of_documents(times: int) -> Iterator[dict[str, Any]]:
    """Independent documents that are right or wrong; 2,000 or 10,000 of them."""
    for points, documents in ((5, 2_000), (3, 2_000), (2, 10_000)):
        for share in (0.5, 0.7, 0.9, 0.95, 0.99):
            generator = np.random.default_rng(SEED)
            size, half = block_size(points / 100), points / 100
            looks = documents // size
            ends = []
            for counts in np.cumsum(generator.binomial(size, share, (times, looks)), axis=1):
                for block, right in enumerate(counts.tolist(), 1):
                    low, high = wilson(right, block * size)
                    if (high - low) / 2 <= half:
                        break
                ends.append((low <= share <= high, block * size, right / (block * size) - share))
            yield row(f"±{points} at {share:.0%}", ends)


def widths_of_clusters(times: int) -> Iterator[dict[str, Any]]:
    """Paragraphs with 1 to 7 questions whose answers correlate; ±5 points."""
    for share, correlation in ((0.5, 0.3), (0.7, 0.3), (0.9, 0.3), (0.7, 0.6)):
        generator = np.random.default_rng(SEED)
        half, size, scale = 0.05, block_size(0.05), (1 - correlation) / correlation
        ends = []
        for _ in range(times):
            sizes = generator.integers(1, 8, 1_000)
            luck = generator.beta(share * scale, (1 - share) * scale, len(sizes))
            right, asked = generator.binomial(sizes, luck), np.cumsum(sizes)
            last = 0
            while last < len(sizes):
                goal = (asked[last - 1] if last else 0) + size
                last = min(len(sizes), int(np.searchsorted(asked, goal)) + 1)
                n = int(asked[last - 1])
                value = float(right[:last].sum() / n)
                found = mean_estimate(value, [(right[:last] - value * sizes[:last]) / n], n, 1.0)
                assert found.low is not None and found.high is not None
                if last >= FEWEST_CLUSTERS and (found.high - found.low) / 2 <= half:
                    break
            ends.append((found.low <= share <= found.high, n, value - share))
        yield row(f"±5 at {share:.0%}, paragraphs, correlation {correlation:g}", ends)


def row(world: str, ends: list[tuple[bool, int, float]]) -> dict[str, Any]:
    found = {
        "world": world,
        "coverage": round(100 * float(np.mean([end[0] for end in ends])), 1),
        "documents": round(float(np.mean([end[1] for end in ends]))),
        "bias_points": round(100 * float(np.mean([end[2] for end in ends])), 2),
    }
    say(str(found))
    return found


def decisions(times: int) -> Iterator[dict[str, Any]]:
    """Paired comparisons: 1,119 documents, or 250 paragraphs of four."""
    for won, lost in ((0.1, 0.1), (0.02, 0.02), (0.2, 0.1), (0.15, 0.1), (0.12, 0.1)):
        for clusters, size in ((1_119, 1), (250, 4)):
            generator = np.random.default_rng(SEED)
            ends = []
            own: list[tuple[bool, float]] = []
            for _ in range(times):
                steps = generator.choice(
                    [1.0, -1.0, 0.0], p=[won, lost, 1 - won - lost], size=(clusters, size)
                )
                if size > 1:
                    shared = generator.random(clusters) < 0.5
                    steps[shared] = steps[shared, :1]
                ends.append(decided(steps.sum(axis=1), size, won - lost))
                if size == 1:
                    # Documents without a difference: both right in 60 % of them.
                    both = generator.random(clusters) < 0.6
                    right = np.where(steps[:, 0] == 0, both, steps[:, 0] > 0)[: ends[-1][1]]
                    low, high = wilson(int(right.sum()), len(right))
                    truth = won + 0.6 * (1 - won - lost)
                    own.append((low <= truth <= high, float(right.mean()) - truth))
            kind = f"{clusters:,} documents" if size == 1 else f"{clusters} paragraphs of {size}"
            found = {
                "world": f"{won:.0%} won, {lost:.0%} lost, {kind}",
                "decided": round(100 * float(np.mean([end[0] for end in ends])), 1),
                "documents": round(size * float(np.mean([end[1] for end in ends]))),
                "repeated_interval_covers": round(100 * float(np.mean([e[2] for e in ends])), 1),
            }
            if own:
                found["own_interval_covers"] = round(100 * float(np.mean([o[0] for o in own])), 1)
                found["own_bias_points"] = round(100 * float(np.mean([o[1] for o in own])), 2)
            say(str(found))
            yield found


def decided(steps: np.ndarray, size: int, truth: float) -> tuple[bool, int, bool]:
    """Whether it is decided, on how many clusters, and whether its interval holds the truth."""
    for number, boundary in enumerate(boundaries(), 1):
        clusters = len(steps) * number // LOOKS
        look = look_at(steps[:clusters], np.full(clusters, float(size)), boundary)
        if look.decides:
            break
    return look.decides, clusters, look.low <= truth <= look.high


def peeking(times: int) -> Iterator[dict[str, Any]]:
    """How often an interval that is read after every 10 documents is wrong at some time."""
    for share in (0.5, 0.7, 0.9):
        for documents in (1_000, 3_000):
            generator = np.random.default_rng(SEED)
            wrong = {"ordinary": 0, "sequence": 0}
            width = 0.0
            for _ in range(times):
                run = np.cumsum(generator.random(documents) < share)
                ever = dict.fromkeys(wrong, False)
                for n in range(20, documents + 1, 10):
                    right = int(run[n - 1])
                    for name, (low, high) in (
                        ("ordinary", wilson(right, n)), ("sequence", sequence(right, n)),
                    ):  # fmt: skip
                        ever[name] |= not low <= share <= high
                low, high = sequence(int(run[-1]), documents)
                ordinary = wilson(int(run[-1]), documents)
                width += (high - low) / (ordinary[1] - ordinary[0])
                for name in wrong:
                    wrong[name] += ever[name]
            found = {
                "world": f"{share:.0%}, {documents:,} documents",
                **{name: round(100 * count / times, 1) for name, count in wrong.items()},
                "sequence_is_wider_by": round(width / times, 2),
            }
            say(str(found))
            yield found


@cache
def sequence(right: int, n: int) -> tuple[float, float]:
    return confidence_sequence(right, n)


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--times", type=int, default=4_000)
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    options = flags.parse_args()
    body = {
        "what": "runs that stop early, in simulated worlds of known truth",
        "times": options.times,
        "widths": [
            *widths_of_documents(options.times),
            *widths_of_clusters(options.times // 2),
        ],
        "decisions": list(decisions(options.times)),
        "peeking": list(peeking(options.times // 4)),
        "setup": setup_facts(),
    }
    write_result(options.output_dir, "until_simulation", body)


if __name__ == "__main__":
    main()
