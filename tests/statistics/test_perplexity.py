"""Perplexities of whole texts: worked by hand, and their error against a simulated truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tenbin.errors import ResultError
from tenbin.records import Cell, Outcome, ScoreRow
from tenbin.statistics.measured import measured
from tests.statistics.worlds import summarise

CELL = Cell("texts", "1.0", "default", 0, 1234)


def texts(*pairs: tuple[float | None, float | None]) -> list[Outcome]:
    return [
        Outcome(CELL, f"d{at}", "p", logprob, weight=weight)
        for at, (logprob, weight) in enumerate(pairs)
    ]


def summed(aggregation: str, outcomes: list[Outcome]) -> ScoreRow:
    return summarise("p", aggregation, outcomes, 1234, "texts", False)


def test_long_texts_count_by_their_length() -> None:
    # Two texts of 2 and 6 words with likelihoods 1/16 and 1/64: together 2^-10 over 8 words.
    rows = texts((-math.log(16), 2), (-math.log(64), 6))
    row = summed("weighted_perplexity", rows)
    assert row.value == pytest.approx(2 ** (10 / 8))
    assert (row.n, row.failed, row.weight, row.higher_is_better) == (2, 0, 8, False)
    assert row.stderr_method == "bootstrap"
    assert summed("bits_per_byte", rows).value == pytest.approx(10 / 8)
    assert measured("weighted_perplexity", rows).values == pytest.approx([4, 2])
    assert measured("bits_per_byte", rows).values == pytest.approx([2, 1])


def test_a_perfect_model_hesitates_between_one_thing() -> None:
    row = summed("weighted_perplexity", texts((0.0, 5), (0.0, 3)))
    assert (row.value, row.stderr) == (1.0, 0.0)


def test_failures_are_left_out_and_counted() -> None:
    row = summed("bits_per_byte", texts((-math.log(4), 1), (None, None)))
    assert (row.value, row.stderr, row.n, row.failed) == (pytest.approx(2), None, 1, 1)
    nothing = summed("bits_per_byte", texts((None, None)))
    assert (nothing.value, nothing.stderr, nothing.n, nothing.weight) == (None, None, 0, None)


def test_what_no_float_can_hold_is_no_value() -> None:
    row = summed("weighted_perplexity", texts((-2000.0, 1), (-3000.0, 2)))
    assert (row.value, row.stderr, row.n, row.weight) == (None, None, 2, 3)
    assert summed("bits_per_byte", texts((-2000.0, 1), (-3000.0, 2))).value is not None


def test_a_text_without_length_is_a_fault() -> None:
    with pytest.raises(ResultError, match="no length"):
        summed("bits_per_byte", texts((-1.0, None)))


def test_order_does_not_matter_and_seeds_repeat() -> None:
    draw = np.random.default_rng(3)
    rows = texts(*((-float(draw.gamma(9)), float(draw.integers(1, 90))) for _ in range(40)))
    forward, backward = summed("bits_per_byte", rows), summed("bits_per_byte", rows[::-1])
    assert forward == backward


@pytest.mark.parametrize("aggregation", ["weighted_perplexity", "bits_per_byte"])
def test_the_error_is_that_of_repeated_samples(aggregation: str) -> None:
    """Draw many sets of texts from one population: their values spread as the error says."""
    draw = np.random.default_rng(11)

    def sample() -> ScoreRow:
        lengths = draw.integers(20, 400, size=120)
        rates = draw.normal(2.0, 0.4, size=120)
        pairs = zip(-rates * lengths, lengths, strict=True)
        return summed(aggregation, texts(*((float(a), float(b)) for a, b in pairs)))

    rows = [sample() for _ in range(150)]
    spread = np.std([row.value for row in rows], ddof=1)
    said = np.mean([row.stderr for row in rows])
    # 150 sets tell a deviation within about 6 %.
    assert said == pytest.approx(spread, rel=0.18)


def test_memory_is_bounded_for_many_documents() -> None:
    rows = texts(*((-float(at % 7 + 1), 3.0) for at in range(30_000)))
    few = summed("bits_per_byte", rows[:300])
    many = summed("bits_per_byte", rows)
    assert many.stderr == pytest.approx((few.stderr or 0) / 10, rel=0.15)
