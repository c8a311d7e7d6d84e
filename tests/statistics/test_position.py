"""Position bias against every possible outcome of small cases, and simulations."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from tenbin.errors import ResultError
from tenbin.statistics.position import position_bias


def all_outcomes(
    gold: list[int], offered: list[int], right: int
) -> list[tuple[tuple[int, ...], float]]:
    """What an unbiased model may choose with that many right answers, with probabilities."""
    found = []
    sets = list(combinations(range(len(gold)), right))
    for hit in sets:
        options = [
            [g] if at in hit else [p for p in range(k) if p != g]
            for at, (g, k) in enumerate(zip(gold, offered, strict=True))
        ]
        outcomes = list(product(*options))
        found += [(one, 1 / len(sets) / len(outcomes)) for one in outcomes]
    return found


@pytest.mark.parametrize(
    ("chosen", "gold", "offered"),
    [
        ([0, 0, 0, 0, 1], [0, 1, 2, 0, 1], [3, 3, 3, 3, 3]),
        ([0, 1, 2, 2, 1], [0, 1, 2, 0, 1], [3, 3, 3, 3, 3]),
        ([0, 0, 1, 0, 3], [0, 1, 0, 0, 3], [2, 2, 4, 3, 4]),
    ],
)
def test_p_value_against_every_possible_outcome(
    chosen: list[int], gold: list[int], offered: list[int]
) -> None:
    right = sum(c == g for c, g in zip(chosen, gold, strict=True))
    outcomes = all_outcomes(gold, offered, right)
    size = max(offered)
    counts = [np.bincount(one, minlength=size) for one, _ in outcomes]
    weights = np.array([weight for _, weight in outcomes])
    expected = weights @ np.array(counts)
    misfit = [((c - expected) ** 2 / expected).sum() for c in counts]
    observed = ((np.bincount(chosen, minlength=size) - expected) ** 2 / expected).sum()
    exact = sum(w for w, m in zip(weights, misfit, strict=True) if m >= observed - 1e-9)
    distances = [np.abs(c - expected).sum() / 2 / len(chosen) for c in counts]
    found = position_bias(chosen, gold, offered, seed=1)
    assert found.expected == pytest.approx(expected)
    assert found.p_value == pytest.approx(exact, abs=0.02)
    assert found.chance_distance == pytest.approx(weights @ np.array(distances), abs=0.01)
    assert found.right == right and found.n == len(chosen)


def test_at_chance_accuracy_it_is_measured_against_the_even_distribution() -> None:
    gold = [0, 1, 2, 3] * 20
    chosen = [0] * 80
    found = position_bias(chosen, gold, [4] * 80, seed=1)
    assert found.right == 20
    assert found.expected == pytest.approx([20] * 4)
    assert found.distance == pytest.approx(0.75)
    assert found.p_value == pytest.approx(1e-4)


def test_a_model_that_is_always_right_has_no_bias_whatever_the_gold_answers() -> None:
    gold = [0] * 30 + [1] * 5
    found = position_bias(gold, gold, [2] * 35, seed=1)
    assert found.distance == 0 and found.p_value == 1
    assert found.chosen == found.gold == (30, 5)


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(ResultError, match="among the positions offered"):
        position_bias([], [], [], seed=1)
    with pytest.raises(ResultError, match="among the positions offered"):
        position_bias([3], [0], [3], seed=1)


@pytest.mark.parametrize("even", [True, False])
def test_families_of_ten_languages_without_bias_are_rejected_in_five_percent(even: bool) -> None:
    """Items of unequal difficulty, each with a favourite distractor that all languages share."""
    from tenbin.statistics.paired import holm

    generator = np.random.default_rng(5)
    items, families, rejected = 80, 400, 0
    for family in range(families):
        weights = [0.25] * 4 if even else [0.4, 0.3, 0.2, 0.1]
        gold = generator.choice(4, size=items, p=weights)
        ease = generator.beta(1, 1, size=items)
        lure = (gold + generator.integers(1, 4, size=items)) % 4
        p_values = []
        for language in range(10):
            wrong = (gold + generator.integers(1, 4, size=items)) % 4
            wrong = np.where(generator.random(items) < 0.5, lure, wrong)
            chosen = np.where(generator.random(items) < ease, gold, wrong)
            seed = family * 10 + language
            found = position_bias(chosen.tolist(), gold.tolist(), [4] * items, seed, draws=499)
            p_values.append(found.p_value)
        rejected += min(holm(p_values)) < 0.05
    assert rejected / families <= 0.05, rejected / families


def test_a_bias_of_one_in_four_answers_is_found() -> None:
    generator = np.random.default_rng(9)
    found = 0
    for trial in range(100):
        gold = generator.integers(0, 4, size=80)
        chosen = np.where(generator.random(80) < 0.4, gold, generator.integers(0, 4, size=80))
        chosen = np.where(generator.random(80) < 0.25, 0, chosen)
        found += position_bias(chosen.tolist(), gold.tolist(), [4] * 80, trial, 999).p_value < 0.05
    assert found >= 80, Counter(found=found)
