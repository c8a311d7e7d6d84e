"""Few skewed differences: a test that holds where flipping signs does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tenbin.statistics.bounded import bounded_mean
from tenbin.statistics.measured import measured
from tenbin.statistics.paired import compare
from tenbin.statistics.permutation import sign_flip
from tests.statistics.worlds import outcomes, with_values

WORLDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "one in ten loses much": lambda draw, n: np.where(draw.random(n) < 0.1, -0.9, 0.1),
    "one in five loses much": lambda draw, n: np.where(draw.random(n) < 0.2, -0.8, 0.2),
    "many small, few large": lambda draw, n: draw.beta(0.3, 3, n) - 0.3 / 3.3,
}
"""Differences between -1 and 1 with a mean of 0."""


@pytest.mark.parametrize("count", [10, 30])
@pytest.mark.parametrize("world", WORLDS)
def test_skewed_differences_without_a_mean_are_rarely_claimed(world: str, count: int) -> None:
    draw = np.random.default_rng(count)
    claimed, flipped = 0, 0
    for at in range(120):
        steps = WORLDS[world](draw, count)
        found = bounded_mean(steps, np.ones(count), 1.0, at)
        low, high = found.interval(0.95)
        assert (low <= 0 <= high) == (found.p_value() >= 0.05), "interval and test agree"
        claimed += found.p_value() < 0.05
        flipped += sign_flip(steps, at, 199)[0] < 0.05
    assert claimed / 120 <= 0.05
    if count == 10:
        assert flipped / 120 > 0.08, "what flipping signs claims here"


def test_by_hand() -> None:
    # All of ten documents gain 0.1: one more that loses 1 would undo it.
    found = bounded_mean(np.full(10, 0.1), np.ones(10), 1.0, 1)
    assert found.p_value() > 0.3
    # All gain everything there is: the mean of n + 1 with one of -1 has the weight of a uniform
    # minimum, so it is below 0 with probability 2^-n.
    sure = bounded_mean(np.ones(10), np.ones(10), 1.0, 1)
    assert sure.p_value() <= 2 * (2**-10 + 0.001)
    assert sure.interval(0.95)[0] == pytest.approx(1 - 2 * (1 - 0.025**0.1), abs=0.02)
    assert sure.interval(0.95)[1] == 1.0


def test_the_largest_cluster_may_come_again() -> None:
    sums, ones = np.array([0.5] * 20), np.ones(20)
    small = bounded_mean(sums, ones, 1.0, 3).interval(0.95)
    large = bounded_mean(sums, np.append(ones[:-1], 5.0), 1.0, 3).interval(0.95)
    assert large[0] < small[0]


def test_comparisons_of_few_documents_use_it() -> None:
    draw = np.random.default_rng(5)
    for count, method in ((49, "gaffke"), (50, "t")):
        like = measured("mean", outcomes([1.0] * count))
        first, second = draw.random((2, count))
        found = compare(with_values(like, first), with_values(like, second))
        assert found.interval_method == method
        assert found.test == ("gaffke" if method == "gaffke" else "sign-flip")
        assert found.low is not None and found.low <= found.difference
    like = measured("mean", outcomes([1.0] * 20))
    unbounded = compare(
        with_values(like, draw.normal(size=20)), with_values(like, draw.normal(size=20))
    )
    assert (unbounded.test, unbounded.interval_method) == ("sign-flip", "t")
    right = compare(with_values(like, np.ones(20)), with_values(like, np.ones(20)))
    assert (right.test, right.interval_method) == ("mcnemar, exact", "bonett-price")
