"""Variance of a score by source, against hand-worked tables and designs with known truth."""

from __future__ import annotations

import numpy as np
import pytest

from tenbin.statistics.variance import templates_differ, variance_components, variance_shares


def alone(count: int) -> list[None]:
    """Documents that are clusters of their own."""
    return [None] * count


def test_two_by_two_by_hand() -> None:
    # Templates × documents [[1, 3], [5, 11]]: row means 2 and 8, column means 3 and 7, mean 5.
    # MS(template) = 2·((−3)² + 3²)/1 = 36, MS(document) = 2·(4 + 4)/1 = 16, residual ±1: 4.
    values = np.array([[[1.0, 3.0]], [[5.0, 11.0]]])
    components = variance_components(values, alone(2))
    assert components == {
        "prompt": pytest.approx((36 - 4) / 2),
        "examples": 0.0,
        # Variances of one document over two documents.
        "items": pytest.approx((16 - 4) / 2 / 2),
        "chance": pytest.approx(4 / 2),
    }
    differ = templates_differ(values[:, 0], alone(2))
    assert differ is not None
    assert differ.f == pytest.approx(36 / 4)
    # F(1, 1) above 9: 1 - 2/π · arctan(3).
    assert differ.p_value == pytest.approx(1 - 2 / np.pi * np.arctan(3))


def test_a_single_score_has_documents_alone() -> None:
    shares = variance_shares(np.array([[[0.0, 1.0, 1.0, 0.0]]]), alone(4))
    assert (shares.prompt, shares.examples, shares.items, shares.chance) == (0, 0, 1, 0)
    assert shares.variance == pytest.approx(np.var([0, 1, 1, 0], ddof=1) / 4)
    assert shares.templates_differ is None


def test_equal_values_have_no_variance_to_share() -> None:
    shares = variance_shares(np.ones((3, 2, 5)), alone(5))
    assert shares.variance == 0
    assert shares.prompt == shares.examples == shares.items == shares.chance == 0
    assert shares.templates_differ is not None
    assert shares.templates_differ.p_value == 1


def test_constant_differences_are_shown_without_any_chance() -> None:
    values = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    differ = templates_differ(values, alone(3))
    assert differ is not None
    # As McNemar's exact test has it for three documents won, none lost.
    assert differ.p_value == pytest.approx(0.25)


def test_components_of_a_known_design_are_found() -> None:
    generator = np.random.default_rng(7)
    documents = 40
    truth = {"prompt": 0.5, "examples": 0.3, "items": 2.0 / 40, "chance": (0.7 + 1) / 40}
    rounds = []
    for _ in range(400):
        prompt = generator.normal(0, np.sqrt(0.5), (6, 1, 1))
        examples = generator.normal(0, np.sqrt(0.3), (1, 5, 1))
        items = generator.normal(0, np.sqrt(2.0), (1, 1, documents))
        taste = generator.normal(0, np.sqrt(0.7), (6, 1, documents))
        chance = generator.normal(0, 1, (6, 5, documents))
        values = prompt + examples + items + taste + chance
        rounds.append(variance_components(values, alone(documents)))
    for name, expected in truth.items():
        assert np.mean([found[name] for found in rounds]) == pytest.approx(expected, rel=0.12), name


def test_pure_noise_is_not_called_an_effect_of_the_wording() -> None:
    """Six equally good templates whose answers are independent: nothing comes from the wording."""
    generator = np.random.default_rng(3)
    found, claims = [], 0
    for _ in range(600):
        values = (generator.random((6, 1, 100)) < 0.6).astype(float)
        components = variance_components(values, alone(100))
        found.append(components["prompt"])
        differ = templates_differ(values[:, 0], alone(100))
        assert differ is not None
        claims += differ.p_value < 0.05
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found)) < 3 * error
    assert 0.03 <= claims / 600 <= 0.075


def test_documents_of_a_cluster_do_not_count_as_independent() -> None:
    """Templates × paragraphs: what a wording does to a paragraph, it does to all its questions."""
    generator = np.random.default_rng(5)
    clusters = [f"p{at // 5}" for at in range(200)]
    with_clusters = without = 0
    for _ in range(400):
        shared = np.repeat(generator.normal(0, 1, (4, 40)), 5, axis=1)
        values = shared + generator.normal(0, 1, (4, 200))
        differ, naive = templates_differ(values, clusters), templates_differ(values, alone(200))
        assert differ is not None
        assert naive is not None
        with_clusters += differ.p_value < 0.05
        without += naive.p_value < 0.05
    assert 0.025 <= with_clusters / 400 <= 0.08
    assert without / 400 > 0.2


def test_the_parts_add_up_to_the_variance_of_a_score() -> None:
    """Scores of fresh designs vary as much as the components of one design say."""
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
        said.append(sum(variance_components(values, alone(30)).values()))
    assert np.mean(said) == pytest.approx(np.var(scores), rel=0.12)


def test_two_documents_that_agree_are_no_proof() -> None:
    """One of seven templates right on both: one chance in seven that both choose the same."""
    values = np.zeros((7, 2))
    values[2] = 1.0
    found = templates_differ(values, alone(2))
    assert found is not None
    assert found.p_value == pytest.approx(1 / 7)
    more = templates_differ(np.repeat(values, 5, axis=1), alone(10))
    assert more is not None
    assert more.p_value == pytest.approx(7.0**-9)
