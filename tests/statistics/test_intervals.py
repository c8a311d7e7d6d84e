"""Standard errors and intervals: by hand, and against worlds whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tenbin.statistics import confusion
from tenbin.statistics.bootstrap import Resampling, bootstrap
from tenbin.statistics.intervals import estimate, t_interval, wilson_interval
from tenbin.statistics.measured import measured
from tests.statistics.worlds import (
    classified,
    coverage,
    outcomes,
    shared_luck,
    with_matrix,
    with_values,
)

NEAR = (0.93, 0.97)


def holds(share: float) -> bool:
    return NEAR[0] <= share <= NEAR[1]


def test_unclustered_error_is_that_of_the_sample_deviation() -> None:
    found = estimate(measured("mean", outcomes([1, 0, 1, 1, None])))
    # Mean 3/4; variance (3·(1/4)² + (3/4)²)/3 = 1/4; error sqrt(1/4/4) = 1/4.
    assert (found.value, found.stderr, found.n, found.clusters) == (0.75, 0.25, 4, 4)


def test_clustered_error_by_hand() -> None:
    # Clusters (1, 1), (0), (1, 0, 0): mean 1/2, deviations 1, -1/2, -1/2 of 6 documents.
    found = estimate(measured("mean", outcomes([1, 1, 0, 1, 0, 0], ["a", "a", "b", "c", "c", "c"])))
    assert found.clusters == 3
    assert found.stderr == pytest.approx(np.sqrt(3 / 2 * (1 + 1 / 4 + 1 / 4)) / 6)


def test_a_cluster_of_copies_says_no_more_than_one_document() -> None:
    values = [1, 0, 1, 1, 0]
    single = estimate(measured("mean", outcomes(values)))
    copied = estimate(
        measured("mean", outcomes(np.repeat(values, 4), np.repeat(list("abcde"), 4).tolist()))
    )
    assert copied.stderr == pytest.approx(single.stderr)
    assert copied.low == pytest.approx(single.low) and copied.high == pytest.approx(single.high)
    assert (copied.n, copied.clusters) == (20, 5)


def test_wilson_agrees_with_scipy_for_many_documents() -> None:
    low, high = wilson_interval(0.3, np.sqrt(0.3 * 0.7 / 10**6), 10**6, 10**6 - 1)
    expected = stats.binomtest(300_000, 10**6).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-8)


def test_all_right_is_not_certain() -> None:
    found = estimate(measured("mean", outcomes([100.0] * 80)), top=100.0)
    assert (found.value, found.stderr, found.high) == (100.0, 0.0, 100.0)
    # Of 80 documents a model that is right on 96 % would have all right once in 26 times.
    assert found.low == pytest.approx(95.3, abs=0.1)
    paragraphs = [f"{at // 8}" for at in range(80)]
    clustered = estimate(measured("mean", outcomes([100.0] * 80, paragraphs)), top=100.0)
    assert clustered.low is not None and clustered.low < 70, "ten paragraphs, not 80 documents"


def test_all_wrong_in_percent_keeps_its_scale() -> None:
    found = estimate(measured("mean", outcomes([0.0] * 80)), top=100.0)
    assert found.low == 0 and found.high == pytest.approx(4.7, abs=0.1)


def test_values_without_bounds_get_a_t_interval() -> None:
    values = [-3.0, 1.5, 2.0, -0.5]
    found = estimate(measured("mean", outcomes(values)))
    expected = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert found.method == "t"
    assert (found.low, found.high) == pytest.approx(expected)
    assert t_interval(1.0, 0.0, 5) == (1.0, 1.0)


@pytest.mark.parametrize("aggregation", ["mean", "mcc"])
def test_too_little_is_said_to_be_too_little(aggregation: str) -> None:
    none = estimate(measured(aggregation, []))
    assert (none.value, none.stderr, none.low, none.n) == (None, None, None, 0)
    one = estimate(measured(aggregation, outcomes([1, 0], ["a", "a"], [0, 1], [0, 0])))
    assert one.value is not None and one.clusters == 1
    assert (one.stderr, one.low, one.high) == (None, None, None)


def test_resamples_that_all_agree_give_no_interval() -> None:
    found = estimate(measured("macro_f1", outcomes([1] * 9, None, [0] * 9, [0] * 9)))
    assert (found.value, found.stderr, found.low, found.high) == (1.0, 0.0, None, None)


def test_a_balanced_accuracy_of_one_class_is_an_accuracy() -> None:
    right = [1.0] * 7 + [0.0] * 3
    picks = [0] * 7 + [1] * 3
    balanced = estimate(measured("balanced_acc", outcomes(right, None, [0] * 10, picks)))
    plain = estimate(measured("mean", outcomes(right)))
    assert (balanced.value, balanced.low, balanced.high) == pytest.approx(
        (plain.value, plain.low, plain.high)
    )
    assert balanced.stderr == pytest.approx(plain.stderr)


@pytest.mark.parametrize(
    ("shares", "recalls"),
    [
        ((0.85, 0.15), (0.9, 0.95)),
        ((0.85, 0.15), (0.9, 0.9)),
        ((0.46, 0.46, 0.08), (0.7, 0.7, 0.95)),
        ((0.9, 0.1), (0.99, 0.5)),
    ],
)
def test_balanced_accuracy_covers_with_a_small_class_nearly_all_right(
    shares: tuple[float, ...], recalls: tuple[float, ...]
) -> None:
    generator = np.random.default_rng(6)
    size, count = len(shares), 100
    like = classified(size, count, "balanced_acc")
    found = []
    while len(found) < 600:
        gold = generator.multinomial(count, shares)
        if not gold.all():
            continue
        hits = generator.binomial(gold, recalls)
        matrix = np.diag(hits)
        # Where a wrong answer goes does not matter.
        matrix[np.arange(size), (np.arange(size) + 1) % size] += gold - hits
        found.append(estimate(with_matrix(like, matrix.ravel())))
    assert coverage(found, float(np.mean(recalls))) >= 0.925


def test_bootstrap_error_of_a_mean_is_the_analytic_one() -> None:
    generator = np.random.default_rng(0)
    groups = [f"{at}" for at in generator.integers(0, 60, 300)]
    found = measured("mean", outcomes(generator.random(300), groups))
    drawn = bootstrap(Resampling(found.cluster_sums(), found.score), 1)
    analytic = estimate(found)
    assert drawn is not None and analytic.stderr is not None
    assert drawn.stderr == pytest.approx(analytic.stderr, rel=0.06)
    assert drawn.low == pytest.approx(analytic.low, abs=0.004)
    assert drawn.high == pytest.approx(analytic.high, abs=0.004)


def test_the_interval_agrees_with_scipys_bca() -> None:
    generator = np.random.default_rng(5)
    gold = generator.integers(0, 3, 240)
    picked = np.where(generator.random(240) < 0.6, gold, generator.integers(0, 3, 240))
    found = measured("macro_f1", outcomes(gold == picked, None, gold, picked))
    ours = estimate(found, 3)

    def score(pairs: np.ndarray, axis: int) -> np.ndarray:
        counts = np.eye(9)[pairs].sum(axis=axis - 1)
        return confusion.macro_f1(counts.reshape(*counts.shape[:-1], 3, 3))

    theirs = stats.bootstrap(
        (gold * 3 + picked,), score, n_resamples=4000, batch=500, random_state=1
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.008)


@pytest.mark.parametrize("count", [80, 1000])
@pytest.mark.parametrize("mean", [0.5, 0.25, 0.9])
def test_intervals_of_right_and_wrong_cover(count: int, mean: float) -> None:
    right = np.random.default_rng(count).binomial(count, mean, 3000)
    like = measured("mean", outcomes([1.0] * count))
    # What was right does not matter, only how many.
    known = {
        int(one): estimate(with_values(like, np.arange(count) < one)) for one in np.unique(right)
    }
    assert holds(coverage((known[int(one)] for one in right), mean))


@pytest.mark.parametrize("correlation", [0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize(("clusters", "mean"), [(40, 0.7), (200, 0.9)])
def test_intervals_of_clustered_documents_cover(
    correlation: float, clusters: int, mean: float
) -> None:
    generator = np.random.default_rng(17)
    sizes = generator.integers(1, 9, clusters)
    right = shared_luck(generator, sizes, mean, correlation, 1500)
    names = [f"p{at:04d}" for at, size in enumerate(sizes) for _ in range(size)]
    like = measured("mean", outcomes([1.0] * len(names), names))
    place = np.concatenate([np.arange(size) for size in sizes])
    owner = np.repeat(np.arange(clusters), sizes)
    found = [estimate(with_values(like, place < one[owner])) for one in right]
    assert holds(coverage(found, mean))
    if correlation >= 0.3:
        alone = measured("mean", outcomes([1.0] * len(names)))
        naive = [estimate(with_values(alone, place < one[owner])) for one in right[:500]]
        assert coverage(naive, mean) < 0.9, "taken as independent, they would cover too little"


@pytest.mark.parametrize(("full", "none"), [(0.5, 0.2), (0.88, 0.05), (0.05, 0.85)])
@pytest.mark.parametrize("count", [80, 600])
def test_intervals_of_f1_means_cover(full: float, none: float, count: int) -> None:
    generator = np.random.default_rng(int(100 * full) + count)
    lot = generator.random((1500, count))
    partial = 100 * generator.beta(3, 2, lot.shape)
    values = np.where(lot < full, 100.0, np.where(lot < full + none, 0.0, partial))
    like = measured("mean", outcomes([1.0] * count))
    found = [estimate(with_values(like, one), top=100.0) for one in values]
    assert holds(coverage(found, 100 * (full + 0.6 * (1 - full - none))))


MODEST = np.array([[0.30, 0.05, 0.05], [0.06, 0.12, 0.06], [0.05, 0.06, 0.25]])
LOPSIDED = np.array([[0.80, 0.05], [0.05, 0.10]])


@pytest.mark.parametrize("aggregation", ["mcc", "balanced_acc", "macro_f1"])
@pytest.mark.parametrize("shares", [MODEST, LOPSIDED], ids=["modest", "lopsided"])
def test_intervals_of_confusion_scores_cover(aggregation: str, shares: np.ndarray) -> None:
    generator = np.random.default_rng(11)
    like = classified(len(shares), 300, aggregation)
    truth = float(getattr(confusion, aggregation)(shares))
    drawn = generator.multinomial(300, shares.ravel(), size=700)
    found = [estimate(with_matrix(like, one), at) for at, one in enumerate(drawn)]
    assert holds(coverage(found, truth))


def test_intervals_of_clustered_confusion_scores_cover() -> None:
    # A cluster's documents share how hard they are: each pair is redrawn, or copied.
    generator = np.random.default_rng(23)
    clusters, size, copied = 80, 4, 0.4
    truth = float(confusion.mcc(MODEST))
    names = [f"c{at // size:03d}" for at in range(clusters * size)]
    same = [0] * len(names)
    like = measured("mcc", outcomes([1.0] * len(names), names, [2] * len(names), same))
    found, eye = [], np.eye(9)
    for at in range(500):
        own = generator.choice(9, p=MODEST.ravel(), size=(clusters, size))
        common = generator.choice(9, p=MODEST.ravel(), size=(clusters, 1))
        pairs = np.where(generator.random(own.shape) < copied, common, own).ravel()
        found.append(estimate(replace(like, features=eye[pairs]), at))
    assert holds(coverage(found, truth))


def test_a_score_of_which_nearly_all_resamples_agree_has_no_interval() -> None:
    """All right: the few resamples without the small class score 0 and say nothing of the rest."""
    gold = [0] * 26 + [1] * 4
    found = estimate(measured("mcc", outcomes([1.0] * 30, None, gold, gold)))
    assert found.value == pytest.approx(1.0)
    assert (found.low, found.high) == (None, None)
