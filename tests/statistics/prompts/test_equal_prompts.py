"""Prompts that all score the same."""

from __future__ import annotations

import numpy as np
import pytest

from tenbin.statistics.prompts.design import PromptMatrix, assign
from tenbin.statistics.prompts.distribution import score_distribution


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_prompts_without_a_single_difference_have_no_gap(value: float) -> None:
    asked = assign([str(at) for at in range(60)], 12, 3, 1)
    matrix = PromptMatrix(np.where(asked, value, np.nan), asked, np.arange(60))
    found = score_distribution(matrix, 1)
    assert found.gap is None
    assert not found.simultaneous
    assert found.quantiles[0].value == pytest.approx(value, abs=0.01)
    assert found.quantiles[-1].value == pytest.approx(value, abs=0.01)
    assert found.spread < 0.01
