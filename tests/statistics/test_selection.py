"""Choosing among options: hand-worked folds, and simulations with known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tenbin.errors import ResultError
from tenbin.records import Cell, Outcome
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.selection import (
    best_of,
    cross_fitted,
    honest_estimate,
    on_shared_documents,
)

CELL = Cell("jnli", "1.1", "0.2", 0, 1234)


def option(values: list[float], groups: list[str] | None = None) -> Measured:
    return measured(
        "mean",
        [
            Outcome(CELL, f"d{at:04}", "acc", value, group=groups[at] if groups else None)
            for at, value in enumerate(values)
        ],
    )


def options(rows: np.ndarray) -> list[Measured]:
    """As `option` of each row, but much faster: simulations make thousands."""
    like = option([0.0] * rows.shape[1])
    return [replace(like, features=np.stack([row, np.ones_like(row)], axis=1)) for row in rows]


def test_many_options_are_as_those_made_one_by_one() -> None:
    rows = np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 1.0]])
    for row, fast in zip(rows, options(rows), strict=True):
        slow = option(list(row))
        assert np.array_equal(fast.features, slow.features)
        assert fast == replace(slow, features=fast.features)


def test_two_documents_choose_for_each_other() -> None:
    # On d0 the first is right, on d1 the second: each document is scored by the other's winner.
    choice = cross_fitted([option([1, 0]), option([0, 1])], seed=1)
    assert choice.naive == 0.5
    assert choice.honest.value == 0.0
    assert choice.optimism == 0.5
    assert choice.shares == (0.5, 0.5)


def test_a_clear_winner_is_chosen_always_and_costs_nothing() -> None:
    good, bad = option([1] * 18 + [0] * 2), option([0] * 20)
    choice = cross_fitted([bad, good], seed=1)
    assert choice.best == 1
    assert choice.shares == (0.0, 1.0)
    assert choice.honest.value == pytest.approx(choice.naive)


def test_low_can_be_good() -> None:
    choice = cross_fitted([option([3.0] * 10), option([2.0] * 10)], 1, higher_is_better=False)
    assert choice.best == 1
    assert best_of([2.0, 1.0, 1.0], higher_is_better=False) == 1


def test_whole_clusters_are_held_out() -> None:
    # The first option is right on one paragraph alone; its own questions must not choose it there.
    groups = ["p"] * 4 + ["q"] * 4
    first, second = option([1] * 4 + [0] * 4, groups), option([0] * 4 + [1] * 4, groups)
    choice = cross_fitted([first, second], seed=3)
    assert choice.honest.value == 0.0


def test_the_same_seed_gives_the_same_and_order_of_options_only_renames() -> None:
    generator = np.random.default_rng(5)
    options = [option(list(generator.integers(0, 2, 50).astype(float))) for _ in range(4)]
    one, two = cross_fitted(options, seed=9), cross_fitted(options, seed=9)
    assert one.honest.value == two.honest.value
    assert one.shares == two.shares


def test_options_are_cut_to_what_all_scored() -> None:
    short = measured("mean", [Outcome(CELL, "d0001", "acc", 1.0)])
    cut = on_shared_documents([option([0.0, 1.0, 0.0]), short])
    assert [one.documents for one in cut] == [("d0001",), ("d0001",)]
    assert cut[0].value == 1.0


def test_unequal_matrices_are_chosen_among() -> None:
    def matrix(pairs: list[tuple[int, int]]) -> Measured:
        rows = [
            Outcome(CELL, f"d{at}", "mcc", float(g == p), None, p, g)
            for at, (g, p) in enumerate(pairs)
        ]
        return measured("balanced_acc", rows)

    narrow = matrix([(0, 0), (1, 0), (0, 0), (1, 0)] * 3)
    wide = matrix([(0, 0), (1, 1), (0, 2), (1, 1)] * 3)
    choice = cross_fitted([narrow, wide], seed=1)
    assert choice.best == 1
    assert choice.naive == pytest.approx(0.75)
    assert choice.honest.value == pytest.approx(0.75)


def test_faults_are_named() -> None:
    with pytest.raises(ResultError, match="same documents"):
        cross_fitted([option([1, 0]), option([1, 0, 1])], seed=1)
    with pytest.raises(ResultError, match="two independent documents"):
        cross_fitted([option([1, 0], ["p", "p"]), option([1, 1], ["p", "p"])], seed=1)
    with pytest.raises(ResultError, match="nothing to choose"):
        cross_fitted([], seed=1)


@pytest.mark.parametrize("spread", [0.0, 0.04], ids=["all equal", "slightly different"])
def test_the_honest_score_is_unbiased_and_the_naive_one_is_not(spread: float) -> None:
    """Six templates, 100 documents: the truth is that of whichever template the data choose."""
    from scipy import stats

    generator = np.random.default_rng(2024)
    naive, honest, truth = [], [], []
    chances = 0.5 + np.linspace(-spread, spread, 6)
    for _ in range(450):
        # Templates answer alike: a document's difficulty is shared, as in real sweeps.
        difficulty = generator.normal(0, 1, (1, 100))
        own = generator.normal(0, 0.7, (6, 100))
        latent = (difficulty + own) / np.hypot(1, 0.7)
        right = (latent < stats.norm.ppf(chances)[:, None]).astype(float)
        choice = cross_fitted(options(right), seed=1, repeats=4)
        naive.append(choice.naive)
        honest.append(choice.honest.value)
        truth.append(float(chances[choice.best]))
    error = np.std(np.array(honest) - np.array(truth)) / np.sqrt(len(truth))
    bias_honest = np.mean(honest) - np.mean(truth)
    bias_naive = np.mean(naive) - np.mean(truth)
    # Where templates differ, a fold chooses with a tenth fewer documents than the final choice
    # has; what that costs lies within the noise of this many rounds.
    assert abs(bias_honest) < 3 * error + 0.002
    assert bias_naive > 0.02


@pytest.mark.parametrize("equal", [True, False], ids=["all equal", "slightly different"])
def test_the_honest_interval_covers_the_chosen_templates_truth(equal: bool) -> None:
    from scipy import stats

    generator = np.random.default_rng(77)
    chances = np.full(6, 0.6) if equal else np.linspace(0.5, 0.65, 6)
    covered = 0
    rounds = 400
    for _ in range(rounds):
        latent = (generator.normal(0, 1, (1, 120)) + generator.normal(0, 0.7, (6, 120))) / 1.2207
        right = (latent < stats.norm.ppf(chances)[:, None]).astype(float)
        choice = cross_fitted(options(right), seed=1, repeats=4)
        found = honest_estimate(choice, 1, 1.0)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= chances[choice.best] <= found.high
    assert 0.92 <= covered / rounds <= 0.98
