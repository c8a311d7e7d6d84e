"""The distribution over prompts: errors and coverage in worlds of known truth."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.distribution import (
    CURVE,
    QUANTILES,
    ScoreDistribution,
    score_distribution,
)
from tests.statistics.prompts.worlds import Sweep, observe, sweep


@lru_cache
def judged(
    name: str, times: int
) -> tuple[list[tuple[Sweep, ScoreDistribution]], np.ndarray, np.ndarray]:
    """Sweeps with their distributions, the errors of quantiles, and which were covered."""
    generator = np.random.default_rng(9)
    swept = [sweep(name, generator, 4, seed) for seed in range(times)]
    found = [
        (one, score_distribution(one.matrix, seed, draws=200)) for seed, one in enumerate(swept)
    ]
    errors, covered = [], []
    for one, given in found:
        aim = np.quantile(one.scores, QUANTILES)
        errors.append([abs(at.value - true) for at, true in zip(given.quantiles, aim, strict=True)])
        covered.append(
            [at.low <= true <= at.high for at, true in zip(given.quantiles, aim, strict=True)]
        )
    return found, np.array(errors), np.array(covered)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("prompts hardly differ", 0.035),
        ("prompts differ", 0.045),
        ("prompts prefer letters", 0.04),
    ],
)
def test_quantiles_are_near_the_truth_and_intervals_hold_it(name: str, error: float) -> None:
    # Means of a hundred sweeps are 0.013 to 0.03; these are of four.
    _, errors, covered = judged(name, 4)
    assert errors[:, 1:-1].mean() < error
    assert covered.mean() >= 0.8


def test_a_gap_is_seen_and_the_band_spans_it() -> None:
    found, _, covered = judged("gap: a fifth broken", 4)
    seen = [given for _, given in found if given.gap is not None]
    assert len(seen) >= 3
    for given in seen:
        assert given.simultaneous
        assert given.gap is not None
        assert 0.0 <= given.gap[0] < 0.4 < given.gap[1] < 0.8
        assert all(at in given.curve for at in given.quantiles)
    assert covered.mean() >= 0.85


def test_smooth_worlds_have_no_gap() -> None:
    found, _, _ = judged("prompts differ", 4)
    assert sum(given.gap is not None for _, given in found) <= 1


def test_the_band_is_wider_than_single_intervals_and_rises() -> None:
    generator = np.random.default_rng(1)
    given = score_distribution(sweep("prompts differ", generator, 4, 1).matrix, 1)
    assert len(given.curve) == CURVE
    for at in given.quantiles:
        band = given.curve[round(at.share * (CURVE - 1))]
        assert band.share == pytest.approx(at.share)
        assert band.low <= at.low <= at.value <= at.high <= band.high
    values = [at.value for at in given.curve]
    assert values == sorted(values)


def test_a_full_sweep_is_its_own_distribution() -> None:
    generator = np.random.default_rng(2)
    grid = (generator.random((50, 8)) < 0.7).astype(float)
    given = score_distribution(observe(grid, 8, 1).matrix, 1)
    for at, true in zip(given.quantiles, np.quantile(grid.mean(axis=0), QUANTILES), strict=True):
        assert (at.low, at.value, at.high) == pytest.approx((true, true, true))
    assert given.noise == 0.0
    assert [place.value for place in given.places] == pytest.approx(list(grid.mean(axis=0)))


def test_places_draw_uncertain_scores_together_and_order_clear_ones() -> None:
    generator = np.random.default_rng(3)
    swept = sweep("gap: a fifth broken", generator, 8, 1)
    given = score_distribution(swept.matrix, 1)
    broken, sound = given.places[:20], given.places[20:]
    assert max(place.rank_low for place in broken) < min(place.rank_high for place in sound)
    assert np.mean([place.rank for place in broken]) < 0.2
    inside = [place.low <= swept.scores[place.prompt] <= place.high for place in given.places]
    assert np.mean(inside) > 0.85


def test_percent_and_few_prompts_work_alike() -> None:
    generator = np.random.default_rng(4)
    given = sweep("prompts differ", generator, 3, 1, n=60, count=6).matrix
    plain = score_distribution(given, 1)
    percent = score_distribution(
        PromptMatrix(100 * given.values, given.asked, given.clusters, 100.0), 1
    )
    assert plain.gap is None
    for one, other in zip(plain.quantiles, percent.quantiles, strict=True):
        assert other.value == pytest.approx(100 * one.value, abs=1.0)


def test_values_beyond_the_highest_have_no_bounds() -> None:
    generator = np.random.default_rng(5)
    grid = generator.normal(40, 8, (80, 1)) + generator.normal(0, 6, (80, 20)) + np.arange(20)
    given = observe(grid, 4, 1).matrix
    assert (given.top, given.bound) == (1.0, None)
    found = score_distribution(given, 1)
    truth = np.quantile(grid.mean(axis=0), QUANTILES)
    for at, true in zip(found.quantiles, truth, strict=True):
        assert at.low - 1 <= true <= at.high + 1
    assert found.quantiles[3].value == pytest.approx(truth[3], abs=2.5)
    assert found.mean.low is not None and found.mean.high is not None
    assert found.mean.low <= float(grid.mean()) <= found.mean.high


def test_cells_that_are_all_right_leave_room_for_a_wrong_one() -> None:
    found = score_distribution(observe(np.ones((100, 20)), 4, 1).matrix, 1)
    assert found.quantiles[-1].high == 1.0
    assert 0.9 < found.quantiles[0].low < 1.0
    assert found.gap is None
    assert all(0.9 < place.low < place.high <= 1.0 for place in found.places)
