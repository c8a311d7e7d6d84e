"""Paired comparisons: by hand, beside other implementations, in worlds of known truth."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tenbin.errors import ResultError
from tenbin.statistics import confusion
from tenbin.statistics.intervals import Estimate
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.paired import Comparison, compare, holm
from tenbin.statistics.permutation import mcnemar, sign_flip, sign_flip_counts, swap_sides
from tests.statistics.worlds import coverage, outcomes, with_values


def sides(
    first: list[float | None], second: list[float | None], groups: list[str] | None = None
) -> tuple[Measured, Measured]:
    return measured("mean", outcomes(first, groups)), measured("mean", outcomes(second, groups))


def test_right_and_wrong_by_hand() -> None:
    found = compare(*sides([0, 0, 0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 0, 1, None]))
    assert (found.wins, found.losses, found.ties, found.n) == (5, 1, 1, 7)
    assert (found.baseline, found.other) == pytest.approx((2 / 7, 6 / 7))
    assert found.difference == pytest.approx(4 / 7)
    # At most 1 or at least 5 of 6 fair coins: 2·(1 + 6)/64.
    assert found.p_value == pytest.approx(14 / 64)
    assert found.test == "mcnemar, exact"
    # With one more win and one more loss: 4/9 ± t₆·sqrt((8/9 - 16/81)/8).
    reach = stats.t.ppf(0.975, 6) * np.sqrt((8 / 9 - 16 / 81) / 8)
    assert found.low == pytest.approx(4 / 9 - reach)
    assert found.high == pytest.approx(min(1.0, 4 / 9 + reach))


def test_a_document_is_won_by_what_is_better() -> None:
    found = compare(*sides([1, 1, 0], [0, 1, 0]), higher_is_better=False)
    assert (found.wins, found.losses, found.difference) == (1, 0, pytest.approx(-1 / 3))


def test_no_difference_is_no_certainty() -> None:
    found = compare(*sides([100.0] * 80, [100.0] * 80), top=100.0)
    assert (found.difference, found.p_value, found.stderr) == (0, 1.0, 0)
    assert found.low is not None and found.high is not None
    # One win and one loss in 82: ± 1.99·sqrt(2/82/81), in percent.
    assert found.high == pytest.approx(3.45, abs=0.05) and found.low == -found.high
    assert found.detectable is not None and found.detectable > 4


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (3, 3), (9, 1), (0, 12), (40, 61)])
def test_mcnemar_agrees_with_the_binomial(wins: int, losses: int) -> None:
    tail = stats.binom.cdf(min(wins, losses), wins + losses, 0.5)
    assert mcnemar(wins, losses) == pytest.approx(min(1.0, 2 * tail))
    counts = np.array([1] * wins + [-1] * losses + [0] * 5)
    assert sign_flip_counts(counts) == pytest.approx(mcnemar(wins, losses))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_sign_flips_agree_with_going_through_all_by_hand(sums: list[int]) -> None:
    observed = abs(sum(sums))
    ways = [
        abs(sum(sign * one for sign, one in zip(signs, sums, strict=True))) >= observed
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    expected = sum(ways) / len(ways)
    assert sign_flip_counts(np.array(sums)) == pytest.approx(expected)
    assert sign_flip(np.array(sums, dtype=float), 1) == (pytest.approx(expected), True)


def test_drawn_sign_flips_agree_with_the_exact_distribution() -> None:
    sums = np.random.default_rng(2).integers(-3, 5, 60)
    drawn, exact = sign_flip(sums.astype(float), 5)
    assert not exact
    assert drawn == pytest.approx(sign_flip_counts(sums), abs=0.01)
    far, _ = sign_flip(np.ones(60), 5, draws=99)
    assert far == 1 / 100, "never 0"


def test_swapping_goes_through_all_ways() -> None:
    gold, first, second = [0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 1, 0], [0, 1, 1, 0, 0, 1]
    one, two = (
        measured("mcc", outcomes(np.equal(gold, picked), None, gold, picked))
        for picked in (first, second)
    )
    found = compare(one, two)

    def gap(left: list[int], right: list[int]) -> float:
        scores = []
        for picked in (left, right):
            counts = np.zeros((2, 2))
            np.add.at(counts, (gold, picked), 1)
            scores.append(float(confusion.mcc(counts)))
        return abs(scores[1] - scores[0])

    ways = []
    for swapped in itertools.product((False, True), repeat=6):
        pairs = [(b, a) if s else (a, b) for a, b, s in zip(first, second, swapped, strict=True)]
        ways.append(gap([a for a, _ in pairs], [b for _, b in pairs]))
    assert found.test == "swap, exact"
    assert found.p_value == pytest.approx(np.mean(np.array(ways) >= gap(first, second) - 1e-9))
    assert found.difference == pytest.approx(two.value - one.value)


def test_a_class_that_only_one_side_predicts() -> None:
    gold = [0, 1, 0, 1, 0, 1]
    one = measured("macro_f1", outcomes([1] * 6, None, gold, gold))
    two = measured("macro_f1", outcomes([1] * 6, None, gold, [0, 1, 2, 1, 0, 1]))
    found = compare(one, two)
    assert found.difference == pytest.approx(two.value - one.value)
    assert (found.wins, found.losses) == (0, 1)


def test_sides_that_cannot_be_compared() -> None:
    with pytest.raises(ResultError, match="share no scored document"):
        compare(*sides([None], [1.0]))
    with pytest.raises(ResultError, match="different kinds"):
        compare(measured("mean", outcomes([1])), measured("mcc", outcomes([1], None, [0], [0])))


def test_what_either_side_joins_is_one_cluster() -> None:
    one = measured("mean", outcomes([1, 0, 1, 0, 1]))
    two = measured("mean", outcomes([1, 0, 1, 1, 1], ["a", "a", "b", "b", "c"]))
    assert compare(one, two).clusters == compare(two, one).clusters == 3


def test_one_cluster_has_no_error() -> None:
    found = compare(*sides([1, 0], [1, 1], ["a", "a"]))
    assert (found.stderr, found.low, found.p_value) == (None, None, 1.0)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.booleans(), st.sampled_from("abcd")), min_size=1, max_size=30
    )
)
def test_exchanging_the_sides_changes_the_sign_only(rows: list[tuple[bool, bool, str]]) -> None:
    groups = [group for _, _, group in rows]
    one, two = sides([float(a) for a, _, _ in rows], [float(b) for _, b, _ in rows], groups)
    there, back = compare(one, two), compare(two, one)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.wins, there.losses, there.ties) == (back.losses, back.wins, back.ties)
    assert there.p_value == pytest.approx(back.p_value)
    if there.low is not None and back.high is not None:
        assert there.low == pytest.approx(-back.high)


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1 = 0.02, 0.03, 0.06, 0.04 → 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def as_estimates(found: list[Comparison]) -> list[Estimate]:
    return [Estimate(0, 0, one.low, one.high, one.n, one.clusters, "") for one in found]


@pytest.mark.parametrize(("won", "lost"), [(0.15, 0.05), (0.1, 0.1), (0.3, 0.2)])
@pytest.mark.parametrize("count", [80, 1000])
def test_intervals_of_differences_cover(won: float, lost: float, count: int) -> None:
    generator = np.random.default_rng(count)
    like = measured("mean", outcomes([1.0] * count))
    found = []
    for wins, losses, _ in generator.multinomial(count, [won, lost, 1 - won - lost], size=1000):
        places = np.arange(count)
        first = with_values(like, (places >= wins).astype(float))
        second = with_values(like, (places < count - losses).astype(float))
        found.append(compare(first, second))
    assert 0.93 <= coverage(as_estimates(found), won - lost) <= 0.97


def clustered_pair(
    generator: np.random.Generator, sizes: np.ndarray, gain: float
) -> tuple[np.ndarray, np.ndarray]:
    """Right answers of two sides; a cluster's documents share how hard it is and who likes it."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    hard = generator.standard_normal(len(sizes))[owner]
    taste = 0.8 * generator.standard_normal(len(sizes))[owner]
    noise = generator.logistic(size=(2, len(owner)))
    first = hard + taste / 2 + noise[0] > 0
    second = hard - taste / 2 + gain + noise[1] > 0
    return first.astype(float), second.astype(float)


def test_corrected_tests_of_families_reject_a_true_null_rarely_and_find_true_gains() -> None:
    """Families of six clustered comparisons, none of which is a difference; then one that is."""
    generator = np.random.default_rng(7)
    sizes = generator.integers(1, 8, 40)
    groups = [f"{at}" for at in np.repeat(np.arange(40), sizes)]
    like = measured("mean", outcomes([1.0] * len(groups), groups))
    alone = replace(like, clusters=like.documents)
    false, naive = 0, 0
    families = 250
    for _ in range(families):
        pairs = [clustered_pair(generator, sizes, 0.0) for _ in range(6)]
        ours = [compare(with_values(like, a), with_values(like, b)).p_value for a, b in pairs]
        false += min(holm(ours)) < 0.05
        blind = [compare(with_values(alone, a), with_values(alone, b)).p_value for a, b in pairs]
        naive += min(holm(blind)) < 0.05
    assert false / families <= 0.05
    assert naive / families > 0.05, "documents taken as independent would claim too much"
    found = []
    for gain in (0.4, 0.9, 1.6):
        pairs = [clustered_pair(generator, sizes, gain) for _ in range(150)]
        rejected = [
            compare(with_values(like, a), with_values(like, b)).p_value < 0.05 for a, b in pairs
        ]
        found.append(np.mean(rejected))
    assert found[0] < found[1] < found[2] and found[2] > 0.9


def test_an_uncorrected_family_rejects_too_often() -> None:
    generator = np.random.default_rng(8)
    raw, corrected = 0, 0
    for _ in range(400):
        steps = generator.normal(size=(8, 12))
        p_values = [sign_flip(one, 0)[0] for one in steps]
        raw += min(p_values) < 0.05
        corrected += min(holm(p_values)) < 0.05
    assert raw / 400 > 0.2 and corrected / 400 <= 0.05


def test_clusters_that_change_as_a_whole_are_not_taken_for_single_documents() -> None:
    """Few of 40 paragraphs are won, nearly each as a whole: as if one document had been added, the
    interval covers 74 %."""
    generator = np.random.default_rng(12)
    names = [f"p{at // 4:02}" for at in range(160)]
    like, found = measured("mean", outcomes([1.0] * 160, names)), []
    for _ in range(250):
        alike, own = np.repeat(generator.random(40), 4), generator.random(160)
        won = np.where(generator.random(160) < 0.9, alike, own) < 0.03
        found.append(compare(with_values(like, np.zeros(160)), with_values(like, 1.0 * won)))
    assert np.mean([one.low <= 0.03 <= one.high for one in found]) > 0.88


def test_nothing_changed_in_clusters_says_no_more_than_their_number() -> None:
    names = [f"p{at // 10}" for at in range(120)]
    alone = compare(*sides([1.0] * 12, [1.0] * 12))
    found = compare(*sides([1.0] * 120, [1.0] * 120, names))
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


def test_swap_test_and_interval_of_confusion_scores_keep_their_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = partial(swap_sides, draws=199)
    monkeypatch.setattr("tenbin.statistics.paired.swap_sides", few)
    generator = np.random.default_rng(9)
    clusters, size = 60, 3
    owner = np.repeat(np.arange(clusters), size)
    eye = np.eye(4)
    like = measured("mcc", outcomes([1.0], None, [1], [1]))
    names = tuple(f"{at:04d}" for at in range(len(owner)))
    groups = tuple(str(at) for at in owner)
    rejected, found = 0, []
    for at in range(300):
        gold = (generator.random(len(owner)) < 0.4).astype(int)
        hard = generator.standard_normal(clusters)[owner]
        rows = []
        for _ in range(2):
            right = hard + generator.logistic(size=len(owner)) + 0.6 > 0
            rows.append(eye[2 * gold + np.where(right, gold, 1 - gold)])
        one, two = (
            Measured(names, groups, features, like.score, False, like.own) for features in rows
        )
        found.append(compare(one, two, at))
        rejected += found[-1].p_value <= 0.05
    assert rejected / 300 <= 0.08  # 5 % within two and a half errors of 300 trials
    assert 0.93 <= coverage(as_estimates(found), 0.0) <= 0.97
