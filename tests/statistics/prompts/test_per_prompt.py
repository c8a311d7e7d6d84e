"""Scores of single prompts: unbiased, and with the error they state."""

from __future__ import annotations

import numpy as np
import pytest

from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.per_prompt import prompt_scores
from tenbin.statistics.prompts.rasch import predict
from tests.statistics.prompts.worlds import observe, sweep


@pytest.mark.parametrize(
    "name",
    [
        "prompts hardly differ",
        "nearly all right",
        "two kinds of documents",
        "documents always right or wrong",
        "gap: a fifth broken",
    ],
)
def test_the_noise_is_as_large_as_stated(name: str) -> None:
    generator = np.random.default_rng(8)
    stated, real, bias, covered = [], [], [], []
    for seed in range(5):
        swept = sweep(name, generator, 4, seed)
        found = prompt_scores(swept.matrix, seed)
        stated.append(found.variances.mean())
        real.append(((found.values - swept.scores) ** 2).mean())
        bias.append((found.values - swept.scores).mean())
        covered.append(((found.low <= swept.scores) & (swept.scores <= found.high)).mean())
    # 500 scores: the ratio of variances has a standard error of about 0.07.
    assert 0.82 <= np.mean(stated) / np.mean(real) <= 1.25
    assert abs(np.mean(bias)) < 0.015
    assert np.mean(covered) > 0.94


def test_a_full_grid_gives_the_scores_themselves() -> None:
    generator = np.random.default_rng(1)
    grid = (generator.random((30, 5)) < 0.6).astype(float)
    found = prompt_scores(observe(grid, 5, 1).matrix, 1)
    assert found.values == pytest.approx(grid.mean(axis=0))
    assert found.variances == pytest.approx(np.zeros(5))


def test_the_model_makes_errors_smaller_than_plain_means_of_few_documents() -> None:
    generator = np.random.default_rng(2)
    ours, plain = [], []
    for seed in range(3):
        swept = sweep("documents always right or wrong", generator, 4, seed)
        found = prompt_scores(swept.matrix, seed).values
        means = np.nanmean(swept.matrix.values, axis=0)
        ours.append(((found - swept.scores) ** 2).mean())
        plain.append(((means - swept.scores) ** 2).mean())
    assert np.mean(ours) < 0.7 * np.mean(plain)


def test_a_prompt_without_any_value_has_no_score() -> None:
    generator = np.random.default_rng(3)
    given = observe((generator.random((40, 6)) < 0.5).astype(float), 3, 1).matrix
    values = given.values.copy()
    values[:, 2] = np.nan
    found = prompt_scores(PromptMatrix(values, given.asked, given.clusters), 1)
    assert found.prompts.tolist() == [0, 1, 3, 4, 5]
    assert len(found.values) == len(found.low) == 5


def test_values_of_other_scales_are_scaled_back() -> None:
    generator = np.random.default_rng(4)
    given = observe(generator.random((60, 10)), 4, 1).matrix
    plain = prompt_scores(given, 1)
    percent = prompt_scores(
        PromptMatrix(100 * given.values, given.asked, given.clusters, top=100.0), 1
    )
    assert percent.values == pytest.approx(100 * plain.values)
    assert percent.variances == pytest.approx(1e4 * plain.variances)
    free = prompt_scores(PromptMatrix(given.values - 7, given.asked, given.clusters, None), 1)
    assert free.values == pytest.approx(plain.values - 7, abs=0.05)


def test_predictions_follow_documents_and_prompts() -> None:
    # Documents 0 and 1 are right wherever seen, 2 and 3 wrong; prompt 3 is wrong on all.
    values = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=float)
    used = np.array([[1, 1, 0, 1], [1, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 0]], dtype=bool)
    found = predict(values, used)
    assert ((found > 0) & (found < 1)).all()
    assert found[0, 2] > found[2, 1]
    assert (found[:, 3] < found[:, 0]).all()


def test_the_same_seed_gives_the_same_scores() -> None:
    generator = np.random.default_rng(5)
    given = sweep("prompts differ", generator, 3, 1, n=60, count=20).matrix
    first, second = prompt_scores(given, 4), prompt_scores(given, 4)
    assert (first.values == second.values).all()
    assert (first.values != prompt_scores(given, 5).values).any()
