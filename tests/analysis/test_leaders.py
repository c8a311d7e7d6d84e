"""The leading prompts of a sweep on a budget, and their honest score, in worlds of known truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tenbin.analysis.sweep.distribution import AskedPrompts
from tenbin.analysis.sweep.leaders import folds_of, folds_of_option, leading_prompts
from tenbin.errors import ConfigError, ResultError
from tenbin.records import Cell, Outcome
from tenbin.results.schema import MetricDetail
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.prompts.design import PromptMatrix, assign
from tenbin.statistics.selection import chosen_among
from tests.results.made_result import cell_config

if TYPE_CHECKING:
    from numpy.typing import NDArray

DETAIL = MetricDetail(n=1, failed=0, aggregation="mean", higher_is_better=True, unit="")


def asked(values: NDArray[np.float64], per_document: int, seed: int) -> AskedPrompts:
    """What a sweep on a budget observes of a full table of documents × prompts."""
    documents = tuple(f"d{at:03}" for at in range(len(values)))
    design = assign(documents, values.shape[1], per_document, seed)
    matrix = PromptMatrix(np.where(design, values, np.nan), design, np.arange(len(values)))
    ids = tuple(f"made-1-{at}@part" for at in range(values.shape[1]))
    clusters = (None,) * len(documents)
    configs = (cell_config(role="part"),) * len(ids)
    return AskedPrompts(ids, configs, "acc", DETAIL, documents, clusters, matrix)


def options(values: NDArray[np.float64], columns: Sequence[int]) -> list[Measured]:
    """Full runs of some prompts."""
    cell = Cell("made", "1", "0", 0, 1)
    return [
        measured(
            "mean",
            [Outcome(cell, f"d{at:03}", "acc", float(v)) for at, v in enumerate(values[:, column])],
        )
        for column in columns
    ]


def test_leaders_of_a_fold_do_not_depend_on_its_documents() -> None:
    generator = np.random.default_rng(1)
    values = (generator.random((80, 12)) < 0.5).astype(float)
    prompts = asked(values, 4, 1)
    leaders = leading_prompts(prompts, 3, 1, held_out=False)
    assert [len(own) for own in leaders] == [3, 3]
    folds = np.array(folds_of(prompts.documents, prompts.clusters, 1))
    for fold in (0, 1):
        changed = values.copy()
        changed[folds == fold] = 1 - changed[folds == fold]
        again = leading_prompts(asked(changed, 4, 1), 3, 1, held_out=False)
        assert again[fold] == leaders[fold]
        assert again[1 - fold] != leaders[1 - fold]


def test_an_outstanding_prompt_leads_everywhere() -> None:
    generator = np.random.default_rng(2)
    values = (generator.random((100, 10)) < 0.3).astype(float)
    values[:, 7] = 1.0
    prompts = asked(values, 3, 5)
    assert all(own[0] == "made-1-7" for own in leading_prompts(prompts, 2, 5, held_out=False))
    assert leading_prompts(prompts, 2, 5, held_out=True)[0][0] == "made-1-7"


def test_documents_of_one_cluster_are_in_one_fold() -> None:
    names, clusters = [f"d{at}" for at in range(40)], [f"c{at // 4}" for at in range(40)]
    folds = folds_of(names, clusters, 1)
    assert {0, 1} == set(folds)
    assert all(len(set(folds[at : at + 4])) == 1 for at in range(0, 40, 4))
    assert folds == folds_of(names[::-1], clusters[::-1], 1)[::-1]


def test_too_few_documents_are_refused() -> None:
    with pytest.raises(ConfigError, match="one half of the documents"):
        leading_prompts(asked(np.ones((2, 3)), 2, 1), 1, 1, held_out=False)
    with pytest.raises(ResultError, match="too few documents"):
        chosen_among(options(np.ones((3, 2)), [0, 1]), [[0], [1]], [0, 0, 0])


def test_each_fold_is_scored_by_the_best_of_its_candidates_elsewhere() -> None:
    values = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]], dtype=float)
    # Fold 0 may use options 0 and 1: on fold 1, option 1 is better. Fold 1 may use option 0 alone.
    found = chosen_among(options(values, [0, 1, 2]), [[0, 1], [0]], [0, 0, 1, 1])
    assert found.honest.values.tolist() == [0.0, 0.0, 0.0, 0.0]
    assert found.shares == (0.5, 0.5, 0.0)
    assert (found.best, found.naive) == (2, 1.0)


def test_the_honest_score_of_equal_prompts_is_their_score() -> None:
    """Thirty prompts of accuracy 0.5: the best of the leaders looks better, the honest score is
    not."""
    generator = np.random.default_rng(3)
    honest, naive = [], []
    for seed in range(25):
        values = (generator.random((80, 30)) < 0.5).astype(float)
        leaders = leading_prompts(asked(values, 4, seed), 3, seed, held_out=False)
        columns = sorted({int(id.rpartition("-")[2]) for own in leaders for id in own})
        full = options(values, columns)
        candidates = [[columns.index(int(id.rpartition("-")[2])) for id in own] for own in leaders]
        found = chosen_among(full, candidates, folds_of_option(full[0], seed))
        honest.append(found.honest.value)
        naive.append(found.naive)
    error = float(np.std(honest)) / len(honest) ** 0.5
    assert abs(np.mean(honest) - 0.5) < 3 * error
    assert np.mean(naive) > 0.5 + 4 * error
