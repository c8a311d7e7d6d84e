"""Agreement against hand-worked tables, plain loops and simulations with known truth."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from tenbin.statistics.agreement import (
    MISSING,
    cohen_kappa,
    flips,
    krippendorff_alpha,
    same_answer,
    same_by_chance,
    same_in_all,
    share,
)
from tenbin.statistics.intervals import estimate
from tenbin.statistics.paired import compare

Answers = NDArray[np.intp]


def names(count: int) -> list[str]:
    return [f"i{at}" for at in range(count)]


def answers(*columns: str) -> Answers:
    """Columns written as letters; `.` is missing."""
    return np.array([["ABCDE".find(c) for c in row] for row in zip(*columns, strict=True)])


def slow_kappa(first: list[int], second: list[int]) -> float:
    """Cohen's kappa from its definition, by loops."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if MISSING not in (a, b)]
    observed = sum(a == b for a, b in pairs) / len(pairs)
    expected = 0.0
    for value in {v for pair in pairs for v in pair}:
        shares = [sum(pair[side] == value for pair in pairs) / len(pairs) for side in (0, 1)]
        expected += shares[0] * shares[1]
    return (observed - expected) / (1 - expected)


def slow_alpha(table: Answers) -> float:
    """Krippendorff's alpha from the coincidence matrix, by loops over all pairs of values."""
    coincidences: dict[tuple[int, int], float] = {}
    for row in table.tolist():
        given = [value for value in row if value != MISSING]
        for a, b in permutations(range(len(given)), 2):
            key = (given[a], given[b])
            coincidences[key] = coincidences.get(key, 0.0) + 1 / (len(given) - 1)
    values = {value for pair in coincidences for value in pair}
    margin = {v: sum(n for (a, _), n in coincidences.items() if a == v) for v in values}
    total = sum(margin.values())
    observed = sum(n for (a, b), n in coincidences.items() if a != b) / total
    expected = sum(margin[a] * margin[b] for a, b in product(values, repeat=2) if a != b)
    return 1 - observed / (expected / (total * (total - 1)))


def test_krippendorffs_published_example() -> None:
    # Krippendorff (2011), Computing Krippendorff's alpha-reliability, part C: four observers,
    # twelve units, nominal data with missing values; alpha is given as 0.743.
    published = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    rows = [[-1 if v == "." else int(v) for v in line.split()] for line in published]
    table = np.array(rows).T
    found = krippendorff_alpha(names(12), table)
    assert found is not None
    assert round(found.value, 3) == 0.743
    assert len(found.documents) == 11, "one unit has a single value and cannot be paired"


def test_cohens_kappa_by_hand() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 0.7, expected 0.5, kappa 0.4.
    first = np.array([0] * 25 + [1] * 25)
    second = np.array([0] * 20 + [1] * 5 + [0] * 10 + [1] * 15)
    found = cohen_kappa(names(50), first, second)
    assert found is not None and found.value == pytest.approx(0.4)


@pytest.mark.parametrize("seed", range(20))
def test_both_agree_with_plain_loops(seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = generator.integers(0, 4, size=(30, 5))
    table[generator.random(table.shape) < 0.15] = MISSING
    alpha = krippendorff_alpha(names(30), table)
    assert alpha is not None and alpha.value == pytest.approx(slow_alpha(table))
    for a, b in combinations(range(5), 2):
        kappa = cohen_kappa(names(30), table[:, a], table[:, b])
        expected = slow_kappa(table[:, a].tolist(), table[:, b].tolist())
        assert kappa is not None and kappa.value == pytest.approx(expected)


def test_a_resample_scores_as_its_items_would() -> None:
    table = answers("AABBCD", "ABBBCA", "AABCC.")
    counts = np.array([2.0, 0, 1, 1, 0, 2])
    again = np.repeat(table, counts.astype(int), axis=0)
    for measured, alone in (
        (krippendorff_alpha(names(6), table), krippendorff_alpha(names(6), again)),
        (
            cohen_kappa(names(6), table[:, 0], table[:, 1]),
            cohen_kappa(names(6), again[:, 0], again[:, 1]),
        ),
    ):
        assert measured is not None and alone is not None
        assert float(measured.score(counts @ measured.features)) == pytest.approx(alone.value)


def test_agreement_beyond_chance_is_undefined_where_there_is_no_chance() -> None:
    same = answers("AAAA", "AAAA", "AAAA")
    assert cohen_kappa(names(4), same[:, 0], same[:, 1]) is None
    assert krippendorff_alpha(names(4), same) is None
    silent = answers("....", "ABCD")
    assert cohen_kappa(names(4), silent[:, 0], silent[:, 1]) is None
    assert krippendorff_alpha(names(4), silent) is None
    opposite = answers("AAAA", "BBBB")
    kappa = cohen_kappa(names(4), opposite[:, 0], opposite[:, 1])
    assert kappa is not None and kappa.value == 0, "nothing but habit"


def test_same_everywhere_counts_complete_items_alone() -> None:
    table = answers("AAB.", "ABBA", "AABA")
    assert np.array_equal(same_in_all(table), [1, 0, 1, np.nan], equal_nan=True)
    found = share(names(4), same_in_all(table))
    assert found.value == pytest.approx(2 / 3) and found.documents == ("i0", "i1", "i2")
    assert np.array_equal(same_answer(table[:, 0], table[:, 1]), [1, 0, 1, np.nan], equal_nan=True)


def test_same_by_chance_multiplies_habits() -> None:
    table = answers("AAAB", "ABAB", "AABB")
    # A: 3/4 * 2/4 * 2/4, B: 1/4 * 2/4 * 2/4
    assert same_by_chance(table) == pytest.approx(3 / 16 + 1 / 16)
    assert same_by_chance(answers("..", "AB")) is None


def test_flips_put_the_most_scattered_first() -> None:
    table = answers("AAAA.", "ABBA.", "ABCA.", "ABDA.")
    found = flips(table)
    assert [flip.at for flip in found] == [2, 1, 0, 3, 4]
    assert [flip.distinct for flip in found] == [4, 2, 1, 1, 0]
    assert found[0].entropy == pytest.approx(2.0)
    assert found[1].entropy == pytest.approx(0.25 * 2 + 0.75 * np.log2(4 / 3))
    assert found[2].entropy == 0 and found[4].answers == 0


def simulate(
    generator: np.random.Generator, items: int, copy: float, languages: int = 3
) -> Answers:
    """Each language repeats the item's own answer with probability `copy`, else picks from four.

    Marginals are even, so Cohen's kappa and Krippendorff's alpha are both copy².
    """
    own = generator.integers(0, 4, size=(items, 1))
    free = generator.integers(0, 4, size=(items, languages))
    return np.where(generator.random((items, languages)) < copy, own, free)


@pytest.mark.parametrize(("items", "copy"), [(80, 0.5), (80, 0.8)])
def test_intervals_of_kappa_and_alpha_cover(items: int, copy: float) -> None:
    generator = np.random.default_rng(items)
    trials, hits = 400, np.zeros(2)
    for trial in range(trials):
        table = simulate(generator, items, copy)
        for at, found in enumerate(
            (
                cohen_kappa(names(items), table[:, 0], table[:, 1]),
                krippendorff_alpha(names(items), table),
            )
        ):
            assert found is not None
            one = estimate(found, seed=trial)
            assert one.low is not None and one.high is not None
            hits[at] += one.low <= copy**2 <= one.high
    assert (hits / trials >= 0.93).all() and (hits / trials <= 0.97).all(), hits / trials


@pytest.mark.parametrize(("items", "gap"), [(80, 0.0), (80, 0.2), (200, 0.1)])
def test_intervals_of_the_gap_cover(items: int, gap: float) -> None:
    generator = np.random.default_rng(7 + items)
    trials, hits = 2000, 0
    for _ in range(trials):
        # Difficult items are difficult in both languages: the pairs are correlated.
        ease = generator.beta(1.5, 1.5, size=items) * (1 - gap)
        first = generator.random(items) < ease + gap
        second = generator.random(items) < ease
        one = compare(
            share(names(items), second.astype(float)), share(names(items), first.astype(float))
        )
        assert one.low is not None and one.high is not None
        hits += one.low <= gap <= one.high
    assert 0.93 <= hits / trials <= 0.97, hits / trials
