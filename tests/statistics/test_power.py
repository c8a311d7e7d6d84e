"""What a score could have shown: worked by hand, and found as often as promised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import measured
from tenbin.statistics.permutation import mcnemar
from tenbin.statistics.power import (
    CORRELATIONS,
    detectable,
    detectable_difference,
    documents_for,
    expected_discordance,
    mcnemar_power,
    paired_difference,
    smallest_difference,
)
from tests.statistics.worlds import outcomes


def test_eighty_items_by_hand() -> None:
    found = estimate(measured("mean", outcomes([1, 0] * 40)))
    shown = detectable(found)
    assert shown is not None
    # 1.96·sqrt(0.25/80) = 0.11; (1.96 + 0.84)·sqrt(2·0.25/80) = 0.22. On the same documents, with
    # ρ = 0.5, t tests of a difference of variance 0.25/80 would find 0.157; an exact test needs
    # about one document more.
    assert shown.half_width == pytest.approx(0.11, abs=0.003)
    assert shown.unpaired == pytest.approx(0.22, abs=0.005)
    assert shown.paired[0.5] == pytest.approx(0.165, abs=0.003)
    assert shown.paired[0.2] > shown.paired[0.5] > shown.paired[0.8] > 0


def test_all_right_does_not_promise_everything() -> None:
    shown = detectable(estimate(measured("mean", outcomes([1] * 80))))
    assert shown is not None and shown.unpaired > 0.03


def test_nothing_is_promised_without_an_interval() -> None:
    assert detectable(estimate(measured("mean", outcomes([1])))) is None


def test_nothing_is_promised_of_four_documents() -> None:
    assert detectable(estimate(measured("mean", outcomes([1, 0, 0, 1])))) is None
    few = detectable(estimate(measured("mean", outcomes([1, 0, 0, 1, 0]))))
    assert few is not None
    # Five fair coins fall on one side once in sixteen times: no exact test at 5 % can reject.
    assert few.paired == dict.fromkeys(CORRELATIONS)


def test_percent_is_the_same_in_points() -> None:
    shares = detectable(estimate(measured("mean", outcomes([1, 0] * 40))))
    percent = detectable(estimate(measured("mean", outcomes([100, 0] * 40)), top=100.0), 100.0)
    assert shares is not None and percent is not None
    assert percent.paired[0.5] == pytest.approx(100 * shares.paired[0.5])


def test_other_means_go_by_their_error() -> None:
    shown = detectable(estimate(measured("mean", outcomes([-3.0, 4.0] * 40)), top=None), None)
    assert shown is not None
    error = 3.5 / np.sqrt(79)
    assert shown.paired[0.5] == pytest.approx(detectable_difference(error, 79), rel=1e-3)


def test_differences_of_that_size_are_found_four_times_out_of_five() -> None:
    generator = np.random.default_rng(4)
    for count in (80, 500):
        error = np.sqrt(2 * 0.25 / count)
        step = detectable_difference(error, 2 * (count - 1))
        values = generator.normal(size=(2, 4000, count)) / 2
        values[0] += step
        share = (stats.ttest_ind(*values, axis=1).pvalue < 0.05).mean()
        assert share == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(("documents", "won", "lost"), [(30, 0.3, 0.1), (120, 0.15, 0.05)])
def test_the_power_of_the_exact_test_is_how_often_it_rejects(
    documents: int, won: float, lost: float
) -> None:
    generator = np.random.default_rng(documents)
    counts = generator.multinomial(documents, [won, lost, 1 - won - lost], size=4000)[:, :2]
    seen, times = np.unique(counts, axis=0, return_counts=True)
    rejected = [mcnemar(wins, losses) < 0.05 for wins, losses in seen.tolist()]
    share = float(times @ rejected) / 4000
    assert mcnemar_power(documents, won + lost, won - lost) == pytest.approx(share, abs=0.025)


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize(("documents", "share"), [(80, 0.5), (80, 0.9), (400, 0.7), (1500, 0.6)])
def test_what_one_run_promises_is_found_four_times_out_of_five(
    documents: int, share: float, correlation: float
) -> None:
    """The range over correlations holds at each of them, whatever the known run happens to score.

    A correlation of 0.5 for all, and a t test, promised what was found in 22 to 70 %.
    """
    generator = np.random.default_rng(documents)
    powers = []
    for right in generator.binomial(documents, share, size=12).tolist():
        step = paired_difference(documents, right / documents, correlation)
        assert step is not None
        apart = max(step, expected_discordance(share, step, correlation))
        powers.append(mcnemar_power(documents, apart, step))
    assert 0.77 <= np.mean(powers) <= 0.86


@pytest.mark.parametrize("level", [0.05, 0.05 / 6])
@pytest.mark.parametrize("discordance", [0.05, 0.2, 0.4])
def test_documents_and_differences_agree(discordance: float, level: float) -> None:
    for difference in (0.01, 0.03, 0.05):
        documents = documents_for(difference, discordance, level)
        found = mcnemar_power(documents, discordance, difference, level)
        assert 0.8 - 1e-9 <= found <= 0.83
        again = smallest_difference(documents, lambda step: max(discordance, step), level)
        assert again == pytest.approx(difference, rel=0.03)


def test_a_correlation_that_the_scores_do_not_allow() -> None:
    # 90 % and 60 %: at least 30 % of the documents must differ.
    assert expected_discordance(0.9, 0.3, 1.0) == pytest.approx(0.3)
    assert expected_discordance(0.5, 0.0, 0.0) == pytest.approx(0.5)
    assert expected_discordance(1.0, 0.1, 0.5) == pytest.approx(0.1)
