"""Order, noise and agreement of curves, by hand and against known noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tenbin.statistics.curves.trend import mean_agreement, rank_correlation, step_noise


def test_rank_correlation_by_hand() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 30, 40]) == 1
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == -1
    # Five of six pairs agree, one does not.
    assert rank_correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([1, 2, 3], [5, 5, 5]) is None


def test_rank_correlation_with_ties_is_scipys() -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        one, two = generator.integers(0, 5, (2, 9)).tolist()
        assert rank_correlation(one, two) == pytest.approx(stats.kendalltau(one, two).statistic)


@pytest.mark.parametrize("noise", [0.002, 0.02])
def test_step_noise_is_found_on_a_bent_curve(noise: float) -> None:
    generator = np.random.default_rng(2)
    steps = np.arange(100, 10_100, 100)
    curve = 0.25 + 0.1 * np.log10(steps / 100)
    found = [
        step_noise(steps.tolist(), (curve + generator.normal(0, noise, len(steps))).tolist())
        for _ in range(20)
    ]
    assert np.mean([one for one in found if one]) == pytest.approx(noise, rel=0.1)


def test_step_noise_of_straight_lines_and_of_few_steps() -> None:
    steps = [float(step) for step in np.expm1([1.0, 2.0, 3.5, 4.0])]
    assert step_noise(steps, [1.0, 2.0, 3.5, 4.0]) == pytest.approx(0.0, abs=1e-9)
    assert step_noise([1, 2], [0.1, 0.2]) is None


def test_agreement_is_the_mean_over_pairs() -> None:
    curves = [[1, 2, 3], [2, 4, 8], [3, 2, 1]]
    assert mean_agreement(curves) == pytest.approx((1 - 1 - 1) / 3)
    assert mean_agreement(curves[:1]) is None
