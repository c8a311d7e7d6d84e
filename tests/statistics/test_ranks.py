"""Rank intervals and ties, against worlds whose true order is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tenbin.errors import ResultError
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.ranks import Ranking, rank_models
from tenbin.statistics.shared_documents import RankedMember
from tests.statistics.worlds import outcomes


def answers(
    generator: np.random.Generator, rates: Sequence[float], count: int, shared: float = 0.5
) -> np.ndarray:
    """Right and wrong answers, documents × models; models find the same documents hard."""
    from scipy.special import ndtri

    common = generator.standard_normal((count, 1))
    own = generator.standard_normal((count, len(rates)))
    return (np.sqrt(shared) * common + np.sqrt(1 - shared) * own < ndtri(np.array(rates))) * 1.0


def models(values: np.ndarray, groups: Sequence[str] | None = None) -> tuple[Measured, ...]:
    return tuple(measured("mean", outcomes(column, groups)) for column in values.T)


def task(values: np.ndarray, groups: Sequence[str] | None = None) -> list[RankedMember]:
    return [RankedMember("", models(values, groups))]


def true_ranks(rates: Sequence[float]) -> list[tuple[int, int]]:
    """Of equal models each may have any of the ranks that they share."""
    return [
        (1 + sum(other > own for other in rates), len(rates) - sum(other < own for other in rates))
        for own in rates
    ]


def holds(found: Ranking, rates: Sequence[float]) -> bool:
    return all(
        own.low is not None and own.high is not None and own.low <= low and high <= own.high
        for own, (low, high) in zip(found.models, true_ranks(rates), strict=True)
    )


@pytest.mark.parametrize(
    ("rates", "count", "widest"),
    [
        ([0.6] * 6, 150, 6.0),
        ([0.97] * 6, 150, 6.0),
        ([0.75] * 3 + [0.5] * 3, 300, 3.2),
        ([0.4, 0.6, 0.8, 0.95], 200, 1.7),
    ],
)
def test_all_ranks_hold_at_once(rates: Sequence[float], count: int, widest: float) -> None:
    generator, times = np.random.default_rng(18), 40
    found = [
        rank_models(task(answers(generator, rates, count)), at, resamples=200)
        for at in range(times)
    ]
    # A coverage of 95 % gives fewer than 34 of 40 in three of a thousand.
    assert sum(holds(one, rates) for one in found) >= 34
    width = np.mean([own.high - own.low + 1 for one in found for own in one.models])
    assert width <= widest
    left_out = sum(
        any(
            rate == max(rates) and not (own.best or own.tied)
            for own, rate in zip(one.models, rates, strict=True)
        )
        for one in found
    )
    assert left_out <= 5, "a truly best model is said to differ from the best one"


def test_paragraphs_are_resampled_as_a_whole() -> None:
    rates, generator = [0.6] * 5, np.random.default_rng(3)
    groups = [f"{at // 5}" for at in range(150)]
    wrong = {"joined": 0, "apart": 0}
    for at in range(50):
        # Whoever answers one question of a paragraph answers all of them.
        values = np.repeat(answers(generator, rates, 30, 0.2), 5, axis=0)
        wrong["joined"] += not holds(rank_models(task(values, groups), at, resamples=200), rates)
        wrong["apart"] += not holds(rank_models(task(values), at, resamples=200), rates)
    assert wrong["joined"] <= 6 < 20 < wrong["apart"]


def test_models_that_lie_far_apart_have_one_rank_each() -> None:
    values = np.zeros((200, 3))
    values[:150, 0] = values[:90, 1] = values[:20, 2] = 1.0
    found = rank_models(task(values), seed=1)
    assert [(own.low, own.high) for own in found.models] == [(1, 1), (2, 2), (3, 3)]
    assert [own.value for own in found.models] == [0.75, 0.45, 0.1]
    assert [own.best for own in found.models] == [True, False, False]
    assert not any(own.tied for own in found.models)
    assert found.models[0].p_value is None and found.models[1].p_value < 1e-6
    assert (found.n, found.clusters, found.reason) == (200, 200, None)


def test_lower_is_better() -> None:
    values = np.zeros((200, 2))
    values[:150, 0] = values[:20, 1] = 1.0
    found = rank_models(task(values), higher_is_better=False)
    assert [(own.low, own.best) for own in found.models] == [(2, False), (1, True)]


def test_equal_answers_are_equally_good() -> None:
    values = np.repeat(np.arange(40)[:, None] % 2 * 1.0, 3, axis=1)
    found = rank_models(task(values))
    assert [(own.low, own.high, own.best) for own in found.models] == [(1, 3, True)] * 3


def test_only_shared_documents_count() -> None:
    long, short = np.arange(60) % 3 == 0, np.arange(30) % 2 == 0
    both = (measured("mean", outcomes(long)), measured("mean", outcomes(short)))
    found = rank_models([RankedMember("", both)])
    assert found.n == 30 and found.models[0].value == pytest.approx(long[:30].mean())


def test_a_group_weighs_its_tasks() -> None:
    first = np.zeros((40, 2))
    first[:30, 0] = first[:10, 1] = 1.0
    second = np.zeros((200, 2))
    second[:100, 0] = second[:110, 1] = 1.0
    members = [
        RankedMember("a", models(first), 0.5),
        RankedMember("b", models(second), 0.5),
    ]
    found = rank_models(members)
    assert [own.value for own in found.models] == pytest.approx([0.625, 0.4])
    assert [(own.low, own.high) for own in found.models] == [(1, 1), (2, 2)]
    assert found.n == found.clusters == 240
    by_size = rank_models([RankedMember(m.family, m.models, None) for m in members])
    assert by_size.models[0].value == pytest.approx(130 / 240)


def test_a_score_that_is_no_mean() -> None:
    generator = np.random.default_rng(5)
    gold = generator.integers(0, 3, 200)
    good = np.where(generator.random(200) < 0.9, gold, (gold + 1) % 3)
    poor = np.where(generator.random(200) < 0.4, gold, 0)
    both = tuple(
        measured("mcc", outcomes(predicted == gold, gold=gold, predicted=predicted))
        for predicted in (good, poor)
    )
    found = rank_models([RankedMember("", both)], top=1.0)
    assert [(own.low, own.high, own.tied) for own in found.models] == [
        (1, 1, False),
        (2, 2, False),
    ]


def test_too_few_documents_have_no_ranks() -> None:
    found = rank_models(task(np.array([[1.0, 0.0]] * 4)))
    assert found.reason == "too few documents"
    assert [(own.low, own.best, own.tied) for own in found.models] == [
        (None, True, False),
        (None, False, True),
    ]


def test_nothing_to_rank() -> None:
    values = np.ones((10, 2))
    with pytest.raises(ResultError, match="at least two"):
        rank_models(task(values[:, :1]))
    first, second = models(values)
    other = measured("mean", [])
    with pytest.raises(ResultError, match="share no"):
        rank_models([RankedMember("", (first, other))])
    assert rank_models([RankedMember("", (first, second))], seed=3) == rank_models(
        [RankedMember("", (first, second))], seed=3
    )
