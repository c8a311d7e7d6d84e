"""Variance components against hand-worked tables and designs with known truth."""

from __future__ import annotations

import numpy as np
import pytest

from tenbin.statistics.variance import variance_components, variance_shares


def test_two_by_two_by_hand() -> None:
    # Prompts × items [[1, 3], [5, 11]]: row means 2 and 8, column means 3 and 7, grand mean 5.
    # MS(prompt) = 2·((−3)² + 3²)/1 = 36, MS(items) = 2·(4 + 4)/1 = 16, residual ±1: MS = 4/1 = 4.
    components = variance_components(np.array([[[1.0, 3.0]], [[5.0, 11.0]]]))
    assert components == {
        "prompt": pytest.approx((36 - 4) / 2),
        "items": pytest.approx((16 - 4) / 2),
        "prompt × items": pytest.approx(4),
    }


def test_a_single_score_has_items_alone() -> None:
    shares = variance_shares(np.array([[[0.0, 1.0, 1.0, 0.0]]]))
    assert (shares.prompt, shares.examples, shares.items) == (0.0, 0.0, 1.0)
    assert shares.variance == pytest.approx(np.var([0, 1, 1, 0], ddof=1) / 4)


def test_equal_values_have_no_variance_to_share() -> None:
    shares = variance_shares(np.ones((3, 2, 5)))
    assert shares.variance == 0
    assert shares.prompt == shares.examples == shares.items == 0


def test_components_of_a_known_design_are_found() -> None:
    generator = np.random.default_rng(7)
    truth = {"prompt": 0.5, "examples": 0.3, "items": 2.0, "prompt × items": 0.7}
    rounds = []
    for _ in range(400):
        prompt = generator.normal(0, np.sqrt(0.5), (6, 1, 1))
        examples = generator.normal(0, np.sqrt(0.3), (1, 5, 1))
        items = generator.normal(0, np.sqrt(2.0), (1, 1, 40))
        taste = generator.normal(0, np.sqrt(0.7), (6, 1, 40))
        chance = generator.normal(0, 1, (6, 5, 40))
        rounds.append(variance_components(prompt + examples + items + taste + chance))
    means = {name: np.mean([found[name] for found in rounds]) for name in rounds[0]}
    for name, expected in truth.items():
        assert means[name] == pytest.approx(expected, rel=0.12), name
    assert means["prompt × examples × items"] == pytest.approx(1, rel=0.02)
    # Truly absent effects come out near zero; cutting below zero leaves a little above.
    assert means["prompt × examples"] < 0.02
    assert means["examples × items"] < 0.05


def test_the_parts_add_up_to_the_variance_of_a_score() -> None:
    """Scores of fresh designs vary as much as the shares of one design say."""
    generator = np.random.default_rng(11)
    scores, said = [], []
    for _ in range(600):
        values = (
            generator.normal(0, 0.2, (4, 1, 1))
            + generator.normal(0, 0.1, (1, 3, 1))
            + generator.normal(0, 1, (1, 1, 30))
            + generator.normal(0, 0.5, (4, 3, 30))
        )
        scores.append(values[0, 0].mean())
        said.append(variance_shares(values).variance)
    assert np.mean(said) == pytest.approx(np.var(scores), rel=0.12)
