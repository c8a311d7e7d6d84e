"""Bands and changes of learning curves, against worlds whose true curve is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tenbin.records import Outcome
from tenbin.statistics.curves.changes import StepScores
from tenbin.statistics.measured import measured
from tenbin.statistics.shared_documents import RankedMember, SharedDocuments
from tests.statistics.worlds import CELL, outcomes

Draw = np.random.Generator
Values = np.ndarray


def right_or_wrong(draw: Draw, rates: Sequence[float], count: int) -> Values:
    """Documents × steps; all steps find the same documents hard."""
    from scipy.special import ndtri

    common = draw.standard_normal((count, 1))
    own = draw.standard_normal((count, len(rates)))
    return (np.sqrt(0.7) * common + np.sqrt(0.3) * own < ndtri(np.array(rates))) * 1.0


def skewed(draw: Draw, means: Sequence[float], count: int) -> Values:
    """Bits of a document: a difficulty that all steps share, and a skewed part of each step."""
    common = draw.gamma(2.0, 0.5, (count, 1))
    own = draw.gamma(1.0, 0.3, (count, len(means)))
    return common - 1.0 + own - 0.3 + np.array(means)


def paragraphs(draw: Draw, rates: Sequence[float], count: int) -> Values:
    """Three documents of a paragraph, which has a change of its own between steps."""
    own = np.repeat(draw.normal(0, 0.3, (count // 3, len(rates))), 3, axis=0)
    return np.array(rates) + own + draw.normal(0, 0.3, (len(own), len(rates)))


def scores_of(
    values: Values,
    top: float | None,
    groups: Sequence[str] | None = None,
    resamples: int = 400,
    better: bool = True,
) -> StepScores:
    models = tuple(measured("mean", outcomes(column, groups)) for column in values.T)
    shared = SharedDocuments.of([RankedMember("", models)])
    return StepScores.of(shared, 3, better, top, resamples)


FLAT = {
    "right or wrong": (right_or_wrong, [0.6] * 8, 120, 1.0, 0),
    "nearly all wrong": (right_or_wrong, [0.04] * 8, 120, 1.0, 0),
    "bits": (skewed, [1.0] * 8, 80, None, 0),
    "paragraphs": (paragraphs, [0.5] * 8, 120, None, 3),
}
World = tuple[Callable[[Draw, Sequence[float], int], Values], list[float], int, float | None, int]


def observed(world: World, times: int, seed: int) -> list[StepScores]:
    draw, rates, count, top, size = world
    generator = np.random.default_rng(seed)
    groups = [f"{at // size}" for at in range(count)] if size else None
    return [scores_of(draw(generator, rates, count), top, groups) for _ in range(times)]


def neighbours(count: int) -> list[tuple[int, int]]:
    return [(at, at + 1) for at in range(count - 1)]


def to_newest(count: int) -> list[tuple[int, int]]:
    return [(at, count - 1) for at in range(count - 1)]


@pytest.mark.parametrize("name", FLAT)
def test_flat_curves_are_rarely_said_to_change(name: str) -> None:
    # 5 % of 150 curves are 7.5; 13 or more would come up in 4 % of such series.
    times = 150
    found = observed(FLAT[name], times, 21)
    for pairs in (neighbours(8), to_newest(8)):
        claims = sum(any(one.shown for one in scores.changes(pairs)) for scores in found)
        assert claims <= 12, f"{claims} of {times} flat curves"


@pytest.mark.parametrize("name", FLAT)
def test_bands_hold_the_shape_at_all_steps_at_once(name: str) -> None:
    draw, rates, count, top, size = FLAT[name]
    rising = [one + 0.06 * at * (1 - one) for at, one in enumerate(rates)]
    times, held = 150, 0
    centre = np.array(rising) - np.mean(rising)
    for scores in observed((draw, rising, count, top, size), times, 22):
        band = np.array(scores.band())
        shape = np.mean(scores.values) + centre
        held += bool(((band[:, 0] <= shape) & (shape <= band[:, 1])).all())
    assert held >= 0.91 * times, f"{held} of {times} bands hold"


def test_bands_are_narrower_than_unpaired_intervals() -> None:
    values = right_or_wrong(np.random.default_rng(4), [0.5, 0.55, 0.6], 400)
    scores = scores_of(values, 1.0)
    band = np.array(scores.band())
    assert scores.values == pytest.approx(values.mean(axis=0))
    assert ((band[:, 0] < scores.values) & (scores.values < band[:, 1])).all()
    unpaired = 2 * 1.96 * values.std(axis=0) / math.sqrt(400)
    assert (band[:, 1] - band[:, 0] < unpaired).all()


@pytest.mark.parametrize(("draw", "top"), [(right_or_wrong, 1.0), (skewed, None)])
def test_a_jump_is_found_where_it_is(
    draw: Callable[[Draw, Sequence[float], int], Values], top: float | None
) -> None:
    values = draw(np.random.default_rng(5), [0.3, 0.3, 0.6, 0.6], 300)
    scores = scores_of(values, top)
    assert [one.shown for one in scores.changes(neighbours(4))] == [False, True, False]
    assert [one.shown for one in scores.changes(to_newest(4))] == [True, True, False]
    (jump,) = [one for one in scores.changes(neighbours(4)) if one.shown]
    assert jump.low is not None and jump.high is not None
    assert jump.low < jump.difference < jump.high and abs(jump.difference - 0.3) < 0.1


def test_two_steps_by_hand() -> None:
    # Ten documents: eight become right, none wrong. McNemar: 2 · 0.5^8.
    values = np.array([[0.0, 1.0]] * 8 + [[1.0, 1.0]] * 2)
    (change,) = scores_of(values, 1.0).changes([(0, 1)])
    assert change.difference == pytest.approx(0.8)
    assert change.p_value == pytest.approx(2 * 0.5**8) and change.test == "mcnemar"
    # With two more pairs that never differ, Holm multiplies by three.
    values = np.concatenate([values, values[:, 1:], values[:, 1:]], axis=1)
    found = scores_of(values, 1.0).changes(neighbours(4))
    assert [one.p_value for one in found] == pytest.approx([6 * 0.5**8, 1.0, 1.0])


def test_equal_steps_never_differ() -> None:
    values = np.repeat(np.random.default_rng(6).gamma(1.0, 1.0, (40, 1)), 3, axis=1)
    found = scores_of(values, None).changes(neighbours(3))
    assert [one.p_value for one in found] == [1.0, 1.0] and not any(one.difference for one in found)


def test_too_few_documents_have_a_reason() -> None:
    scores = scores_of(np.array([[0.0, 1.0]] * 3), 1.0)
    assert scores.reason == "too few documents"
    assert scores.band() is None and scores.changes([(0, 1)]) == []


def test_perplexities_are_compared_by_their_logarithm() -> None:
    generator = np.random.default_rng(7)
    lengths = generator.integers(20, 60, 50)
    hard = generator.normal(0, 0.1, 50)

    def step(nats: float) -> list[Outcome]:
        return [
            Outcome(
                CELL, f"{at:03d}", "m", -float((nats + hard[at]) * lengths[at]),
                weight=float(lengths[at]),
            )
            for at in range(50)
        ]  # fmt: skip

    models = tuple(measured("weighted_perplexity", step(nats)) for nats in (9.0, 4.0, 3.99))
    scores = StepScores.of(SharedDocuments.of([RankedMember("", models)]), 0, False, None, 400)
    band = scores.band()
    assert band is not None
    ratios = [high / low for low, high in band]
    # The first step, a hundred times as high, does not widen the band of the last.
    assert max(ratios) < 1.001 and min(low for low, _ in band) > 0
    assert [one.shown for one in scores.changes(neighbours(3))] == [True, True]
