"""Runs that stop early: published constants, and simulations with known truth.

The long form, with more worlds and repetitions, is benchmarks/until_simulation.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tenbin.statistics.intervals import mean_estimate, wilson_interval
from tenbin.statistics.sequential import (
    LOOKS,
    block_size,
    boundaries,
    confidence_sequence,
    documents_for_width,
    look_at,
)
from tests.statistics.worlds import shared_luck


def test_boundaries_are_those_of_o_brien_and_fleming() -> None:
    # Jennison and Turnbull (2000), table 2.3: 2.040 for five looks, 1.977 for two.
    assert boundaries(5) == pytest.approx([4.562, 3.226, 2.634, 2.281, 2.040], abs=1e-3)
    assert boundaries(2)[-1] == pytest.approx(1.977, abs=1e-3)
    assert boundaries(1)[0] == pytest.approx(1.960, abs=1e-3)
    assert boundaries(5, 0.01)[-1] == pytest.approx(2.621, abs=1e-3)


def test_documents_that_a_width_takes() -> None:
    # Wilson's interval at 50 % is z/(2·√(n + z²)) wide to each side.
    assert documents_for_width(0.02) == pytest.approx((1.96 / 0.04) ** 2, abs=3)
    assert documents_for_width(0.05) == pytest.approx((1.96 / 0.10) ** 2, abs=3)
    assert documents_for_width(0.02, 0.95) < documents_for_width(0.02, 0.9) < 1_000
    found = documents_for_width(0.03, 0.7)
    halves = []
    for n in (found - 1, found):
        low, high = wilson_interval(0.7, math.sqrt(0.21 / (n - 1)), n, n - 1)
        halves.append((high - low) / 2)
    assert halves[1] <= 0.03 < halves[0]


def test_blocks_are_a_tenth_of_what_a_width_takes_but_not_small() -> None:
    assert block_size(0.02) == 241
    assert block_size(0.05) == block_size(0.2) == 50


@pytest.mark.parametrize(
    ("half", "share"), [(0.05, 0.5), (0.05, 0.7), (0.05, 0.9), (0.03, 0.95), (0.02, 0.7)]
)
def test_intervals_cover_where_their_width_stopped_the_run(half: float, share: float) -> None:
    generator = np.random.default_rng(16)
    size, times = block_size(half), 1_500
    covered = 0
    for counts in np.cumsum(generator.binomial(size, share, (times, 12)), axis=1):
        for block, right in enumerate(counts, 1):
            n, value = block * size, right / (block * size)
            stderr = math.sqrt(value * (1 - value) / (n - 1))
            low, high = wilson_interval(value, stderr, n, n - 1)
            if (high - low) / 2 <= half:
                break
        else:
            pytest.fail("never stopped")
        covered += low <= share <= high
    assert 0.925 <= covered / times <= 0.985


def test_intervals_of_clusters_cover_where_their_width_stopped_the_run() -> None:
    generator = np.random.default_rng(17)
    half, share, per_block, times = 0.05, 0.7, 13, 600
    # Paragraphs with 4 questions: a block of 52 documents is 13 of them.
    sizes = np.full(per_block * 30, 4)
    covered = 0
    for right in shared_luck(generator, sizes, share, 0.3, times):
        for last in range(3 * per_block, len(sizes) + 1, per_block):
            n = 4 * last
            value = right[:last].sum() / n
            found = mean_estimate(value, [(right[:last] - 4 * value) / n], n, 1.0)
            assert found.low is not None and found.high is not None
            if (found.high - found.low) / 2 <= half:
                break
        else:
            pytest.fail("never stopped")
        covered += found.low <= share <= found.high
    assert 0.92 <= covered / times <= 0.98


def paired(
    generator: np.random.Generator, won: float, lost: float, clusters: int, size: int
) -> np.ndarray:
    """Summed differences of clusters; half of the clusters share one difference."""
    steps = generator.choice([1.0, -1.0, 0.0], p=[won, lost, 1 - won - lost], size=(clusters, size))
    shared = generator.random(clusters) < (0.5 if size > 1 else 0.0)
    steps[shared] = steps[shared, :1]
    return steps.sum(axis=1)


def stopped(steps: np.ndarray, size: int) -> tuple[bool, int]:
    """Whether a comparison is decided, and on how many clusters it stopped."""
    for number, boundary in enumerate(boundaries(), 1):
        clusters = len(steps) * number // LOOKS
        look = look_at(steps[:clusters], np.full(clusters, float(size)), boundary)
        if look.decides:
            return True, clusters
    return False, len(steps)


@pytest.mark.parametrize(("clusters", "size"), [(1_119, 1), (200, 4)])
def test_no_more_than_one_in_twenty_is_decided_without_a_difference(
    clusters: int, size: int
) -> None:
    generator = np.random.default_rng(18)
    times = 1_000
    wrong = sum(stopped(paired(generator, 0.1, 0.1, clusters, size), size)[0] for _ in range(times))
    # Three standard errors around 5 %.
    assert 0.030 <= wrong / times <= 0.071


def test_a_clear_difference_is_decided_early() -> None:
    generator = np.random.default_rng(19)
    ends = [stopped(paired(generator, 0.2, 0.1, 1_119, 1), 1) for _ in range(300)]
    assert all(decided for decided, _ in ends)
    assert np.mean([clusters for _, clusters in ends]) == pytest.approx(497, abs=30)


def test_a_look_holds_the_difference_and_its_repeated_interval() -> None:
    steps = np.array([1.0, 1.0, 0.0, 0.0, -1.0, 1.0])
    look = look_at(steps, np.ones(6), 2.0)
    assert look.difference == pytest.approx(1 / 3) and look.n == look.clusters == 6
    assert look.stderr == pytest.approx(np.std(steps, ddof=1) / math.sqrt(6))
    assert (look.low, look.high) == pytest.approx(
        (1 / 3 - 2 * look.stderr, 1 / 3 + 2 * look.stderr)
    )
    assert 0 < look.z < look.difference / look.stderr, "few clusters count as fewer"
    assert not look.decides
    alike = look_at(np.zeros(9), np.ones(9), 2.0)
    assert alike.z == 0 and alike.high == -alike.low == pytest.approx(2 * math.sqrt(2) / 9)
    assert look_at(-np.ones(9), np.ones(9), 4.6).decides


def test_a_confidence_sequence_holds_at_all_times_and_an_ordinary_interval_does_not() -> None:
    generator = np.random.default_rng(20)
    share, times = 0.7, 250
    moments = np.unique(np.geomspace(20, 1_000, 40).astype(int))
    outside = {"sequence": 0, "wilson": 0}
    for run in np.cumsum(generator.random((times, 1_000)) < share, axis=1):
        ever = dict.fromkeys(outside, False)
        for n in moments:
            value = run[n - 1] / n
            stderr = math.sqrt(value * (1 - value) / (n - 1))
            intervals = {
                "sequence": confidence_sequence(run[n - 1], int(n)),
                "wilson": wilson_interval(value, stderr, n, n - 1),
            }
            for name, (low, high) in intervals.items():
                ever[name] |= not low <= share <= high
        for name in outside:
            outside[name] += ever[name]
    assert outside["sequence"] / times <= 0.05
    assert outside["wilson"] / times >= 0.20


def test_confidence_sequences_of_clusters_and_of_little() -> None:
    assert confidence_sequence(0, 0) == (0.0, 1.0)
    assert confidence_sequence(0, 50)[0] == 0.0 and confidence_sequence(50, 50)[1] == 1.0
    low, high = confidence_sequence(70, 100)
    assert low < 0.7 < high
    assert confidence_sequence(280, 400, 4) == pytest.approx((low, high))
    assert confidence_sequence(35.0, 50) != confidence_sequence(34.5, 50), "values between 0 and 1"


def test_a_confidence_sequence_holds_for_documents_that_are_all_alike_in_a_cluster() -> None:
    generator = np.random.default_rng(21)
    outside = 0
    for run in np.cumsum(generator.random((300, 250)) < 0.6, axis=1):
        outside += any(
            not low <= 0.6 <= high
            for clusters in range(10, 251, 10)
            for low, high in [confidence_sequence(4 * run[clusters - 1], 4 * clusters, 4)]
        )
    assert outside / 300 <= 0.05
