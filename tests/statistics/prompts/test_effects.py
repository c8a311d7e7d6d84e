"""Effects of levels: found where they are, not where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from tenbin.errors import ResultError
from tenbin.statistics.prompts.effects import LevelEffect, level_effects
from tests.statistics.prompts.worlds import logistic, observe

DIMENSIONS = {"cue": 2, "separator": 3, "style": 5}


def swept(
    generator: np.random.Generator, seed: int, effect: float, taste: float = 0.0
) -> tuple[LevelEffect, ...]:
    """100 prompts at random levels; the cue has an effect, on all documents or on each its own."""
    levels = {
        name: generator.permutation(np.arange(100) % count) for name, count in DIMENSIONS.items()
    }
    side = 2.0 * levels["cue"] - 1
    logits = generator.normal(0.3, 1.5, 200)[:, None] + generator.normal(0, 0.15, 100)
    logits = logits + effect * side + taste * generator.normal(0, 1, 200)[:, None] * side
    grid = (generator.random(logits.shape) < logistic(logits)).astype(float)
    named = {name: [str(level) for level in given] for name, given in levels.items()}
    return level_effects(observe(grid, 4, seed).matrix, named, seed)


def test_no_effect_is_claimed_where_there_is_none() -> None:
    generator = np.random.default_rng(1)
    found = [swept(generator, seed, 0.0) for seed in range(16)]
    claims = [any(one.p_value < 0.05 for one in given) for given in found]
    # More than three of 16 have a chance below 1 % where each has one of 5 %.
    assert sum(claims) <= 3
    holds = [all(one.low <= 0 <= one.high for one in given) for given in found]
    assert sum(holds) >= 13


def test_a_large_effect_is_found_and_its_size_too() -> None:
    found = swept(np.random.default_rng(2), 1, 0.8)
    cue = {one.level: one for one in found if one.dimension == "cue"}
    assert cue["1"].effect == pytest.approx(-cue["0"].effect)
    assert cue["1"].p_value < 0.01
    assert cue["1"].low < 0.14 < cue["1"].high
    assert all(one.p_value > 0.05 for one in found if one.dimension != "cue")
    assert {(one.dimension, one.prompts) for one in found} == {
        ("cue", 50),
        ("separator", 33),
        ("separator", 34),
        ("style", 20),
    }


def test_documents_with_tastes_of_their_own_make_an_effect_less_certain() -> None:
    generator = np.random.default_rng(3)
    alike = [one for one in swept(generator, 1, 0.0) if one.dimension == "cue"]
    apart = [one for one in swept(generator, 1, 0.0, 2.0) if one.dimension == "cue"]
    assert apart[0].stderr > 1.1 * alike[0].stderr


def test_levels_that_go_together_are_not_told_apart() -> None:
    generator = np.random.default_rng(4)
    grid = (generator.random((60, 12)) < 0.5).astype(float)
    one = ["a", "b"] * 6
    found = level_effects(observe(grid, 6, 1).matrix, {"x": one, "y": one, "z": ["c"] * 12}, 1)
    assert found == ()
    apart = level_effects(observe(grid, 6, 1).matrix, {"x": one, "z": ["c"] * 12}, 1)
    assert [given.level for given in apart] == ["a", "b"]


def test_more_levels_than_prompts_say_nothing() -> None:
    grid = np.ones((10, 4))
    names = {"x": ["a", "b", "c", "d"]}
    assert level_effects(observe(grid, 2, 1).matrix, names, 1) == ()
    with pytest.raises(ResultError, match="'x' has levels of 3 prompts"):
        level_effects(observe(grid, 2, 1).matrix, {"x": ["a", "b", "c"]}, 1)
