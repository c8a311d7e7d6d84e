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


EQUAL = np.full(6, 0.6)
WORLDS = {
    "six equal": EQUAL,
    "slightly different": np.linspace(0.55, 0.65, 6),
    "one better": np.array([0.5] * 5 + [0.65]),
    "one outstanding": np.array([0.5] * 5 + [0.8]),
    "all high": np.full(6, 0.9),
}


def answers(generator: np.random.Generator, chances: np.ndarray, documents: int) -> np.ndarray:
    """Right answers; a document's difficulty is shared by all templates, as in real sweeps."""
    from scipy import stats

    difficulty = generator.normal(0, 1, (1, documents))
    own = generator.normal(0, 0.7, (len(chances), documents))
    latent = (difficulty + own) / np.hypot(1, 0.7)
    return (latent < stats.norm.ppf(chances)[:, None]).astype(float)


@pytest.mark.parametrize("world", WORLDS)
def test_the_honest_score_is_unbiased_and_its_interval_holds_the_truth(world: str) -> None:
    """100 documents, the program's own folds: the truth is that of the template the data choose."""
    generator = np.random.default_rng(2024)
    chances, rounds = WORLDS[world], 250
    naive, honest, truth, covered = [], [], [], 0
    for _ in range(rounds):
        choice = cross_fitted(options(answers(generator, chances, 100)), seed=1)
        found = honest_estimate(choice, 1, 1.0)
        assert found.low is not None
        assert found.high is not None
        true = float(chances[choice.best])
        covered += found.low <= true <= found.high
        naive.append(choice.naive)
        honest.append(choice.honest.value)
        truth.append(true)
    error = float(np.std(np.array(honest) - np.array(truth)) / np.sqrt(rounds))
    # Where templates differ, a fold chooses with a third fewer documents than the final choice
    # has, and now and then a worse template.
    assert abs(np.mean(honest) - np.mean(truth)) < 3 * error + 0.006
    assert 0.89 <= covered / rounds <= 0.985
    if world == "six equal":
        assert np.mean(naive) - np.mean(truth) > 0.02


def test_where_templates_are_equal_the_honest_score_is_as_good_as_any() -> None:
    """Ten folds give an unbiased score that is often below every template's own."""
    generator = np.random.default_rng(8)
    few, many, below = [], [], 0
    for _ in range(200):
        right = answers(generator, EQUAL, 60)
        few.append(cross_fitted(options(right), seed=1).honest.value - 0.6)
        ten = cross_fitted(options(right), seed=1, folds=10)
        many.append(ten.honest.value - 0.6)
        below += few[-1] + 0.6 < right.mean(axis=1).min()
    assert np.sqrt(np.mean(np.square(few))) < 0.9 * np.sqrt(np.mean(np.square(many)))
    assert below / 200 < 0.15
