"""Which budget is worth it."""

from __future__ import annotations

import numpy as np

from tenbin.statistics.prompts.advice import Advice, advise
from tenbin.statistics.prompts.distribution import score_distribution
from tests.statistics.prompts.worlds import sweep


def advised(name: str, n: int = 300, target: float | None = None) -> Advice:
    generator = np.random.default_rng(1)
    found = score_distribution(sweep(name, generator, 4, 1, n=n).matrix, 1, draws=100)
    return advise(found, 1, target=target)


def test_a_budget_is_advised_where_prompts_differ() -> None:
    found = advised("prompts differ much")
    assert [plan.per_document for plan in found.plans] == [2, 4, 8, 16]
    errors = [plan.budget_error for plan in found.plans]
    assert all(one is not None for one in errors)
    assert errors == sorted(errors, reverse=True)
    assert not found.plans[1].whole
    # The prototype's mean error at this size is 0.019 to 0.032.
    assert 0.015 <= errors[1] <= 0.04
    assert not found.whole


def test_whole_templates_are_advised_where_prompts_hardly_differ() -> None:
    found = advised("prompts hardly differ", n=100)
    assert found.plans[1].whole
    assert found.whole


def test_the_smallest_price_that_reaches_the_target_is_named() -> None:
    found = advised("prompts differ much", target=0.03)
    assert found.target == 0.03
    reached = [plan.per_document for plan in found.plans if (plan.budget_error or 1.0) <= 0.03]
    assert found.per_document == reached[0]
    assert advised("prompts differ much", target=1e-6).per_document is None


def test_too_few_documents_leave_whole_templates() -> None:
    found = advised("prompts differ much", n=150)
    assert found.plans[0].budget_error is None
    assert found.plans[0].whole
