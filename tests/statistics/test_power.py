"""What a score could have shown: worked by hand, and found as often as promised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import measured
from tenbin.statistics.power import detectable, detectable_difference
from tests.statistics.worlds import outcomes


def test_eighty_items_by_hand() -> None:
    found = estimate(measured("mean", outcomes([1, 0] * 40)))
    shown = detectable(found)
    assert shown is not None
    # 1.96·sqrt(0.25/80) = 0.11; (1.96 + 0.84)·sqrt(2·0.25/80) = 0.22; paired, ρ = 0.5: 0.157.
    assert shown.half_width == pytest.approx(0.11, abs=0.003)
    assert shown.unpaired == pytest.approx(0.22, abs=0.005)
    assert shown.paired == pytest.approx(0.157, abs=0.004)


def test_all_right_does_not_promise_everything() -> None:
    shown = detectable(estimate(measured("mean", outcomes([1] * 80))))
    assert shown is not None and shown.unpaired > 0.03


def test_nothing_is_promised_without_an_interval() -> None:
    assert detectable(estimate(measured("mean", outcomes([1])))) is None


def test_nothing_is_promised_of_four_documents() -> None:
    assert detectable(estimate(measured("mean", outcomes([1, 0, 0, 1])))) is None
    few = detectable(estimate(measured("mean", outcomes([1, 0, 0, 1, 0]))))
    assert few is not None and few.unpaired > few.paired


def test_differences_of_that_size_are_found_four_times_out_of_five() -> None:
    generator = np.random.default_rng(4)
    for count in (80, 500):
        error = np.sqrt(2 * 0.25 / count)
        step = detectable_difference(error, 2 * (count - 1))
        values = generator.normal(size=(2, 4000, count)) / 2
        values[0] += step
        share = (stats.ttest_ind(*values, axis=1).pvalue < 0.05).mean()
        assert share == pytest.approx(0.8, abs=0.02)
