"""Which prompts each document is asked."""

from __future__ import annotations

import numpy as np
import pytest

from tenbin.errors import ConfigError, ResultError
from tenbin.statistics.prompts.design import PromptMatrix, assign, check_load


def test_every_document_is_asked_as_many_and_loads_are_balanced() -> None:
    asked = assign([f"d{at}" for at in range(301)], 40, 4, seed=1)
    assert (asked.sum(axis=1) == 4).all()
    loads = asked.sum(axis=0)
    assert loads.max() - loads.min() <= 1


def test_documents_of_a_cluster_are_asked_the_same() -> None:
    clusters = [f"p{at % 50}" for at in range(230)]
    asked = assign(clusters, 20, 3, seed=1)
    for name in set(clusters):
        rows = asked[[at for at, given in enumerate(clusters) if given == name]]
        assert (rows == rows[0]).all()
    assert asked.sum(axis=0).max() - asked.sum(axis=0).min() <= 5


def test_the_order_of_documents_does_not_matter_and_the_seed_does() -> None:
    names = [f"d{at}" for at in range(60)]
    asked = assign(names, 12, 2, seed=5)
    assert (assign(names[::-1], 12, 2, seed=5)[::-1] == asked).all()
    assert (assign(names, 12, 2, seed=6) != asked).any()


def test_every_pair_of_prompts_is_equally_likely() -> None:
    together = np.zeros((6, 6))
    for seed in range(600):
        asked = assign([f"d{at}" for at in range(9)], 6, 2, seed).astype(float)
        together += asked.T @ asked
    pairs = together[np.triu_indices(6, 1)] / 600 / 9
    # 15 pairs; each document is asked one of them.
    assert np.abs(pairs - 1 / 15).max() < 0.012


def test_a_budget_beyond_all_prompts_asks_all() -> None:
    assert assign(["a", "b"], 3, 5, seed=1).all()


def test_what_asks_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="asks nothing"):
        assign(["a"], 3, 0, seed=1)
    with pytest.raises(ConfigError, match="needs documents"):
        assign([], 3, 1, seed=1)


def test_prompts_on_too_few_documents_are_refused_with_the_budget_they_need() -> None:
    check_load(300, 100, 4)
    check_load(2, 5, 5)
    with pytest.raises(ConfigError, match=r"on 1\.0 documents") as caught:
        check_load(50, 100, 2)
    assert "--budget 8x" in caught.value.hint


def test_a_matrix_that_contradicts_its_design_is_refused() -> None:
    asked = np.array([[True, False]])
    values = np.array([[1.0, np.nan]])
    assert PromptMatrix(values, asked, np.arange(1)).per_document == 1.0
    with pytest.raises(ResultError, match="not asked"):
        PromptMatrix(np.array([[1.0, 1.0]]), asked, np.arange(1))
    with pytest.raises(ResultError, match="one cluster"):
        PromptMatrix(values, asked, np.arange(2))
    with pytest.raises(ResultError, match="one shape"):
        PromptMatrix(values, asked[:, :1], np.arange(1))
    with pytest.raises(ResultError, match="without any value"):
        PromptMatrix(np.full((1, 2), np.nan), asked, np.arange(1))
