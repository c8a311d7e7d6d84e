"""Means over groups: units joined across members, errors that know it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tenbin.records import Outcome
from tenbin.statistics.errors import summarise_group
from tenbin.statistics.groups import Member, group_estimates, scaled, weighted_estimate
from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import measured
from tests.statistics.worlds import CELL, coverage, outcomes, summarise, with_values


def member(values: list[float], family: str = "f") -> Member:
    return Member(family, measured("mean", outcomes(values)))


def test_members_that_share_nothing_have_the_pooled_error() -> None:
    first, second = member([1, 0, 1, 1], "f"), member([0, 0, 1, 0, 1, 0, 0, 0], "g")
    weighted, plain = group_estimates([first, second])
    one, other = estimate(first.measured), estimate(second.measured)
    assert weighted.value == pytest.approx((4 * 0.75 + 8 * 0.25) / 12)
    assert plain.value == pytest.approx(0.5)
    assert one.stderr is not None and other.stderr is not None
    assert weighted.stderr == pytest.approx(np.hypot(4 * one.stderr, 8 * other.stderr) / 12)
    assert plain.stderr == pytest.approx(np.hypot(one.stderr, other.stderr) / 2)
    assert (weighted.n, weighted.clusters) == (12, 12)


def test_copies_of_one_member_are_one_member() -> None:
    one = member([1, 0, 1, 1, 0, 0, 1])
    weighted, plain = group_estimates([one, one, one])
    alone = estimate(one.measured)
    for found in (weighted, plain):
        assert found.stderr == pytest.approx(alone.stderr)
        assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
        assert (found.n, found.clusters) == (21, 7)


def test_languages_that_err_on_other_items_are_surer_together() -> None:
    first, second = member([1, 0, 1, 0]), member([0, 1, 0, 1])
    weighted, _ = group_estimates([first, second])
    assert weighted.stderr == 0, "every item has one right and one wrong answer"


def test_same_id_in_one_family_joins_paragraphs_of_two_languages() -> None:
    english = measured("mean", outcomes([1, 1, 0, 0], ["p", "p", "q", "q"]))
    thai = measured("mean", outcomes([1, 0, 0, 0], ["r", "r", "s", "s"]))
    joined, _ = group_estimates([Member("x", english), Member("x", thai)])
    apart, _ = group_estimates([Member("x", english), Member("y", thai)])
    assert (joined.clusters, apart.clusters) == (2, 4)
    # Deviations from each language's mean by joined paragraph: (1 + 0.5)/8 and -(1 + 0.5)/8.
    assert joined.stderr == pytest.approx(np.sqrt(2 * 2 * (1.5 / 8) ** 2))


def test_a_verified_key_joins_documents_of_other_names() -> None:
    def keyed(names: list[str], values: list[float]) -> list[Outcome]:
        pairs = zip(names, values, strict=True)
        return [Outcome(CELL, f"{n}-{v}", "m", v, group=n) for n, v in pairs]

    first = Member("f", measured("mean", keyed(["a", "b", "c"], [1, 0, 1])))
    second = Member("f", measured("mean", keyed(["c", "a", "b"], [0, 0, 1])))
    assert group_estimates([first, second])[0].clusters == 3


def test_empty_members_weigh_nothing() -> None:
    empty = Member("f", measured("mean", outcomes([None, None])))
    one = member([1, 0, 1])
    weighted, plain = group_estimates([one, empty])
    assert weighted.value == plain.value == pytest.approx(2 / 3)
    assert group_estimates([empty, empty])[0].value is None
    confused = Member("f", measured("mcc", []))
    assert group_estimates([confused])[0].method == "bca"
    members = [Member("f", measured("mean", one)) for one in (outcomes([1, None]), [])]
    row, _ = summarise_group("m", "mean", members, 0, "g")
    assert (row.id, row.n, row.failed, row.stderr) == ("g", 1, 1, None)


def test_confusion_scores_are_drawn_for_all_members_at_once() -> None:
    generator = np.random.default_rng(1)
    gold = generator.integers(0, 2, 120)
    picked = np.where(generator.random(120) < 0.8, gold, 1 - gold)
    one = Member("f", measured("mcc", outcomes(gold == picked, None, gold, picked)))
    alone = estimate(one.measured, 3)
    together, _ = group_estimates([one, one], 3)
    apart, _ = group_estimates([one, replace(one, family="g")], 3)
    assert alone.stderr and together.stderr and apart.stderr
    assert together.stderr == pytest.approx(alone.stderr, rel=0.02)
    assert apart.stderr == pytest.approx(alone.stderr / 2**0.5, rel=0.06)
    assert together.value == pytest.approx(alone.value)


def test_order_of_members_and_documents_does_not_matter() -> None:
    given = [outcomes([1, 0, 1, 1]), outcomes([0, 0])]
    there = summarise_group("m", "mean", [Member("f", measured("mean", o)) for o in given], 0, "g")
    back = [Member("f", measured("mean", reversed(one))) for one in reversed(given)]
    for one, other in zip(there, summarise_group("m", "mean", back, 0, "g"), strict=True):
        assert one.value == pytest.approx(other.value)
        assert one.stderr == pytest.approx(other.stderr)


def test_a_group_of_one_cell_is_that_cell() -> None:
    rows = outcomes([1, 0, 1, 1, 0])
    weighted, plain = summarise_group("m", "mean", [Member("f", measured("mean", rows))], 0, "g")
    assert weighted == plain == summarise("m", "mean", rows, 0, "g")


@pytest.mark.parametrize(("items", "difficulty"), [(80, 0.5), (80, 2.0), (400, 1.0)])
def test_intervals_of_group_means_with_shared_items_cover(items: int, difficulty: float) -> None:
    """Five languages of different ease on the same items; the third lacks a quarter of them."""
    generator = np.random.default_rng(items)
    ease = np.array([1.2, 0.4, -0.3, 0.0, 0.8])
    asked = [items, items, 3 * items // 4, items, items]
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    chance = 1 / (1 + np.exp(-(ease[:, None] + difficulty * nodes)))
    means = chance @ weights / weights.sum()
    truths = (float(np.average(means, weights=asked)), float(means.mean()))
    likes = [measured("mean", outcomes([1.0] * count)) for count in asked]
    found, naive = [], []
    for _ in range(1000):
        hard = difficulty * generator.standard_normal(items)
        right = generator.random((5, items)) < 1 / (1 + np.exp(-(ease[:, None] + hard)))
        members = [
            with_values(like, one[:count])
            for like, one, count in zip(likes, right, asked, strict=True)
        ]
        found.append(group_estimates([Member("f", one) for one in members]))
        if difficulty == 2.0 and len(naive) < 400:
            strangers = [Member(f"{at}", one) for at, one in enumerate(members)]
            naive.append(group_estimates(strangers)[0])
    for at, truth in enumerate(truths):
        assert 0.93 <= coverage((one[at] for one in found), truth) <= 0.97
    if difficulty == 2.0:
        assert coverage(naive, truths[0]) < 0.85, "as independent languages they would not"


def test_intervals_of_group_scores_by_bootstrap_cover() -> None:
    """Balanced accuracy of two languages on shared items of a known world."""
    generator = np.random.default_rng(3)
    items, times = 200, 400
    recalls = np.array([[0.8, 0.5], [0.7, 0.6]])  # language × gold class
    truth = float(recalls.mean())
    found = []
    for at in range(times):
        gold = (generator.random(items) < 0.4).astype(int)
        luck = generator.random(items)
        members = []
        for language in range(2):
            own = np.where(generator.random(items) < 0.5, luck, generator.random(items))
            right = own < recalls[language][gold]
            picked = np.where(right, gold, 1 - gold)
            features = np.eye(4)[2 * gold + picked]
            like = measured("balanced_acc", outcomes([1], None, [1], [1]))
            names = tuple(str(one) for one in range(items))
            members.append(
                Member("f", replace(like, documents=names, clusters=names, features=features))
            )
        found.append(group_estimates(members, at)[0])
    assert 0.93 <= coverage(found, truth) <= 0.97


@pytest.mark.parametrize(
    ("sizes", "scores", "alike"),
    [
        ((20,) * 20, (0.98,) * 20, None),
        ((3,) * 40, (0.03,) * 40, None),
        ((8, 8, 8, 400), (0.97, 0.97, 0.97, 0.6), None),
        ((300, 10), (0.5, 0.95), 0.0),
        ((200, 10), (0.5, 0.9), 0.5),
    ],
)
def test_intervals_of_many_or_unequal_members_cover(
    sizes: tuple[int, ...], scores: tuple[float, ...], alike: float | None
) -> None:
    """Intervals of single members put together cover 83 to 90 % in the first three worlds; one
    interval of all clusters covers 46 to 72 % of plain means in the last two."""
    draw = np.random.default_rng(len(sizes))
    likes = [measured("mean", outcomes([1.0] * size)) for size in sizes]
    found = []
    for _ in range(300):
        common = draw.random(max(sizes))
        members = []
        for at, (like, score) in enumerate(zip(likes, scores, strict=True)):
            same = draw.random(sizes[at]) < (alike or 0.0)
            luck = np.where(same, common[: sizes[at]], draw.random(sizes[at]))
            family = str(at) if alike is None else "f"
            members.append(Member(family, with_values(like, (luck < score).astype(float))))
        found.append(group_estimates(members)[1])
    assert coverage(found, float(np.mean(scores))) >= 0.93


def test_a_mean_of_members_without_bounds_counts_the_members_it_rests_on() -> None:
    """Half of the weight lies on three documents: two degrees of freedom are left, not 200."""
    draw = np.random.default_rng(1)
    small, large = draw.normal(5, 1, 3), draw.normal(5, 1, 200)
    members = [
        Member(name, measured("mean", outcomes(values)))
        for name, values in (("a", small), ("b", large))
    ]
    found = weighted_estimate(members, [0.5, 0.5], top=None)
    assert found.stderr is not None and found.low is not None and found.value is not None
    assert found.stderr == pytest.approx(
        np.hypot(small.std(ddof=1) / 3**0.5, large.std(ddof=1) / 200**0.5) / 2
    )
    assert 2.5 * found.stderr < found.value - found.low < 4.4 * found.stderr


def test_weights_of_a_definition_and_members_in_percent() -> None:
    """0.5 and 25 % and 40 % with weights 1/2, 1/4, 1/4, in percent: 25 + 6.25 + 10."""
    accuracy = member([1, 0, 1, 0], "a")
    percent = member([100, 0, 0, 0], "b")
    other = member([100, 0, 100, 0, 0], "c")
    scales = (100, 1, 1)
    members = [
        Member(one.family, scaled(one.measured, scale))
        for one, scale in zip((accuracy, percent, other), scales, strict=True)
    ]
    found = weighted_estimate(members, [0.5, 0.25, 0.25], top=100.0)
    errors = [estimate(one.measured, top=100.0).stderr for one in members]
    assert found.value == pytest.approx(41.25)
    expected = sum((w * e) ** 2 for w, e in zip((0.5, 0.25, 0.25), errors, strict=True) if e)
    assert found.stderr == pytest.approx(np.sqrt(expected)), "strangers are independent strata"
    assert found.low is not None and found.high is not None
    assert 0 < found.low < 41.25 < found.high < 100


def test_a_weighted_mean_knows_shared_items() -> None:
    one = member([1, 0, 1, 1, 0, 0, 1])
    found = weighted_estimate([one, one], [0.5, 0.5])
    assert found.stderr == pytest.approx(estimate(one.measured).stderr)
    assert (found.n, found.clusters) == (14, 7)


def test_a_mean_with_a_score_of_the_confusion_matrix_is_resampled() -> None:
    gold = [replace(one, gold=at % 2, predicted=at % 2) for at, one in enumerate(outcomes([1] * 8))]
    wrong = [replace(one, gold=0, predicted=1, value=0.0) for one in gold[:2]]
    mcc = Member("m", measured("mcc", [*wrong, *gold[2:]]))
    found = weighted_estimate([mcc, member([1, 0, 1, 0], "f")], [0.5, 0.5])
    assert found.value == pytest.approx((mcc.measured.value + 0.5) / 2)
    assert found.method == "bca" and found.stderr


@pytest.mark.parametrize(
    ("sizes", "means"),
    [
        ((10, 1000), (0.9, 0.5)),
        ((20, 500), (0.95, 0.6)),
        ((40, 40), (0.5, 0.5)),
        ((15, 200, 1000), (0.1, 0.8, 0.5)),
        ((80,) * 4, (0.25, 0.5, 0.75, 0.9)),
        ((30, 30), (0.95, 0.95)),
    ],
)
def test_a_plain_mean_of_members_of_unequal_size_covers(
    sizes: tuple[int, ...], means: tuple[float, ...]
) -> None:
    """Members that share nothing; the plain mean gives the small one as much weight."""
    generator = np.random.default_rng(4)
    truth = float(np.mean(means))
    likes = [measured("mean", outcomes([0.0] * size)) for size in sizes]
    held = 0
    for _ in range(400):
        members = [
            Member(str(at), with_values(like, (generator.random(size) < mean).astype(float)))
            for at, (like, size, mean) in enumerate(zip(likes, sizes, means, strict=True))
        ]
        found = group_estimates(members)[1]
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert held / 400 >= 0.91
