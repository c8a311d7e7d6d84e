"""Dimensions that have no effect in some prompts, such as the casing of Japanese labels."""

from __future__ import annotations

import numpy as np

from tenbin.statistics.prompts.design import PromptMatrix, assign
from tenbin.statistics.prompts.effects import NO_EFFECT, level_effects


def test_a_dimension_that_depends_on_another_is_told_from_it() -> None:
    generator = np.random.default_rng(1)
    documents, prompts = 240, 48
    english = [at % 2 == 1 for at in range(prompts)]
    casing = [
        NO_EFFECT if not own else ("upper", "lower")[at // 2 % 2] for at, own in enumerate(english)
    ]
    true = np.array([0.5 + 0.2 * own for own in english])
    true += [{"upper": 0.1, "lower": -0.1}.get(level, 0.0) for level in casing]
    values = (generator.random((documents, prompts)) < true).astype(float)
    asked = assign([str(at) for at in range(documents)], prompts, 8, 1)
    matrix = PromptMatrix(np.where(asked, values, np.nan), asked, np.arange(documents))
    language = ["english" if own else "native" for own in english]
    found = {
        (one.dimension, one.level): one
        for one in level_effects(matrix, {"language": language, "casing": casing}, 1)
    }
    assert set(found) == {
        ("language", "native"), ("language", "english"), ("casing", "upper"), ("casing", "lower"),
    }  # fmt: skip
    for key, effect in {("language", "english"): 0.1, ("casing", "upper"): 0.1}.items():
        assert found[key].low <= effect <= found[key].high, key
        assert found[key].p_value < 0.05, key
    assert found["casing", "upper"].prompts == 12
