"""The mean over prompts: hand-worked cases, and coverage in worlds of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.mean import mean_score
from tests.statistics.prompts.worlds import WORLDS, observe, sweep

NAN = float("nan")


def matrix(values: list[list[float]], clusters: list[int] | None = None) -> PromptMatrix:
    rows = np.array(values)
    return PromptMatrix(
        rows, ~np.isnan(rows), np.array(clusters or range(len(rows)), dtype=np.intp)
    )


def test_documents_count_alike_and_prompts_are_drawn_within_them() -> None:
    # Three of four prompts each: (1, 0, 1), (0, 0, 1), (1, 1, 1).
    found = mean_score(matrix([[1, 0, 1, NAN], [NAN, 0, 0, 1], [1, NAN, 1, 1]]))
    assert found.value == pytest.approx((2 / 3 + 1 / 3 + 1) / 3)
    # Too few cells to take prompts' effects out: Σ (1 − 3/4) · s² / 3 / 3², s² = 1/3, 1/3, 0.
    assert found.stderr == pytest.approx((0.25 * (1 / 3 + 1 / 3) / 3 / 9) ** 0.5)
    assert found.cells == 9


def test_a_full_sweep_has_no_error_on_its_own_documents_and_one_on_others() -> None:
    found = mean_score(matrix([[1, 0], [1, 1], [0, 0], [1, 1]]))
    assert found.stderr == 0.0
    assert (found.low, found.high) == (found.value, found.value)
    assert found.elsewhere.stderr is not None and found.elsewhere.stderr > 0.1


def test_a_failed_cell_is_left_out_of_its_document() -> None:
    rows = matrix([[1, 0, NAN], [NAN, 1, 1]])
    failed = PromptMatrix(rows.values, np.ones((2, 3), dtype=bool), rows.clusters)
    assert mean_score(failed).value == 0.75
    assert mean_score(failed).cells == 4


def test_cells_that_are_all_right_do_not_make_all_others_right() -> None:
    found = mean_score(matrix([[1, 1, NAN], [NAN, 1, 1], [1, NAN, 1], [1, 1, NAN]] * 5))
    assert (found.value, found.stderr, found.high) == (1.0, 0.0, 1.0)
    assert found.low is not None and 0.7 < found.low < 0.9


def test_one_cluster_has_no_error() -> None:
    found = mean_score(matrix([[1, 0], [1, 1]], [3, 3]))
    assert (found.stderr, found.low, found.elsewhere.stderr) == (None, None, None)


def covered(swept_many: list[tuple[float, PromptMatrix]]) -> float:
    found = [(truth, mean_score(given)) for truth, given in swept_many]
    return sum(one.low <= truth <= one.high for truth, one in found) / len(found)


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_hold_the_mean_of_the_full_grid(name: str) -> None:
    generator = np.random.default_rng(3)
    swept = [sweep(name, generator, 4, seed, n=120, count=40) for seed in range(150)]
    # 150 repetitions: 95 % within three standard errors.
    assert covered([(float(one.grid.mean()), one.matrix) for one in swept]) >= 0.89


@pytest.mark.parametrize("budget", [1, 2])
def test_small_budgets_hold_too(budget: int) -> None:
    generator = np.random.default_rng(4)
    swept = [
        sweep("gap: a fifth broken", generator, budget, seed, n=100, count=20)
        for seed in range(150)
    ]
    assert covered([(float(one.grid.mean()), one.matrix) for one in swept]) >= 0.9


def clustered(generator: np.random.Generator, sizes: np.ndarray, prompts: int) -> np.ndarray:
    """Documents of a cluster are alike, and so is what prompts do to them."""
    own = generator.normal(0, 1.2, len(sizes))
    taste = generator.normal(0, 1.5, (len(sizes), prompts))
    quality = generator.normal(0, 0.5, prompts)
    chances = 1 / (1 + np.exp(-(own[:, None] + taste + quality)))
    return (generator.random((sizes.sum(), prompts)) < chances.repeat(sizes, axis=0)).astype(float)


def test_clusters_are_drawn_whole() -> None:
    generator = np.random.default_rng(5)
    as_clusters, as_documents = [], []
    for seed in range(120):
        sizes = generator.integers(1, 8, 40)
        grid = clustered(generator, sizes, 20)
        numbers = np.arange(40).repeat(sizes)
        given = observe(grid, 4, seed, numbers).matrix
        apart = PromptMatrix(given.values, given.asked, np.arange(len(numbers)))
        as_clusters.append((float(grid.mean()), given))
        as_documents.append((float(grid.mean()), apart))
    assert covered(as_clusters) >= 0.88
    assert covered(as_documents) < 0.9


def test_the_error_on_other_documents_holds_for_other_documents() -> None:
    generator = np.random.default_rng(6)
    inside = 0
    for seed in range(80):
        chances = WORLDS["prompts differ"](generator, 30)
        now = chances(100)
        grid = (generator.random(now.shape) < now).astype(float)
        found = mean_score(observe(grid, 3, seed).matrix).elsewhere
        assert found.low is not None and found.high is not None
        inside += found.low <= float(chances(2000).mean()) <= found.high
    assert inside / 80 >= 0.88
