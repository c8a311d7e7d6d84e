"""Groups compared over the union of their documents: by hand, and in worlds of known truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tenbin.errors import ResultError
from tenbin.statistics.groups import Member, group_estimates
from tenbin.statistics.measured import Measured, measured
from tenbin.statistics.paired import compare, compare_members
from tenbin.statistics.paired_sides import PairedMember
from tenbin.statistics.power import mcnemar_power
from tests.statistics.test_paired import clustered_pair
from tests.statistics.worlds import outcomes, with_values


def side(values: Sequence[float], like: Measured | None = None) -> Measured:
    if like is None:
        like = measured("mean", outcomes([1.0] * len(values)))
    return with_values(like, np.asarray(values, dtype=float))


def pairs(
    draw: np.random.Generator, members: Sequence[tuple[Measured, float, float]]
) -> list[tuple[Measured, Measured]]:
    """Right or wrong on both sides, with the given shares won and lost."""
    found = []
    for like, won, lost in members:
        chance = draw.random(len(like.documents))
        first = np.where(chance < won, 0.0, 1.0)
        second = np.where((chance >= won) & (chance < won + lost), 0.0, 1.0)
        found.append((with_values(like, first), with_values(like, second)))
    return found


def test_a_task_by_itself_is_a_group_of_one() -> None:
    first, second = side([0, 0, 1, 1, 0, 1]), side([1, 1, 1, 1, 1, 0])
    alone, grouped = compare(first, second), compare_members([PairedMember("x", first, second)])
    for name in ("difference", "low", "high", "p_value", "stderr", "clusters", "test"):
        assert getattr(alone, name) == getattr(grouped, name)
    assert (grouped.wide_low, grouped.wide_high) == (grouped.low, grouped.high)
    # 3/6 and 5/6: Σ of products of deviations -0.5/6… by the definition of the correlation.
    expected = np.corrcoef([0, 0, 1, 1, 0, 1], [1, 1, 1, 1, 1, 0])[0, 1]
    assert grouped.correlation == pytest.approx(expected)


def test_two_families_weighted_by_documents_are_one_sample() -> None:
    one, two = (side([0, 0, 1, 1]), side([1, 1, 1, 1])), (side([1, 0]), side([0, 0]))
    found = compare_members([PairedMember("x", *one, None), PairedMember("y", *two, None)])
    together = compare(side([0, 0, 1, 1, 1, 0]), side([1, 1, 1, 1, 0, 0]))
    assert found.difference == pytest.approx(1 / 6) == pytest.approx(together.difference)
    assert (found.n, found.clusters, found.wins, found.losses) == (6, 6, 2, 1)
    assert found.p_value == pytest.approx(together.p_value)
    assert found.test == "mcnemar, exact"
    plain = compare_members([PairedMember("x", *one, 0.5), PairedMember("y", *two, 0.5)])
    assert plain.difference == pytest.approx((2 / 4 - 1 / 2) / 2)
    assert (plain.baseline, plain.other) == pytest.approx(((0.5 + 0.5) / 2, (1 + 0) / 2))


def test_one_item_in_two_languages_is_one_unit() -> None:
    first, second = side([0, 0, 1, 1]), side([1, 1, 1, 1])
    same = [PairedMember("x", first, second, None), PairedMember("x", first, second, None)]
    found = compare_members(same)
    assert (found.n, found.clusters) == (8, 4)
    # Two clusters, each won twice over: as convincing as two documents.
    assert found.p_value == pytest.approx(0.5) and found.test == "sign-flip, exact"
    apart = [PairedMember("x", first, second, None), PairedMember("y", first, second, None)]
    assert compare_members(apart).p_value == pytest.approx(2 / 16)


def test_errors_are_those_of_the_group_s_own_score() -> None:
    """Against a baseline that is always wrong, the difference is the other's score."""
    draw = np.random.default_rng(1)
    likes = [measured("mean", outcomes([1.0] * count)) for count in (60, 200)]
    others = [side(draw.integers(0, 2, len(like.documents)), like) for like in likes]
    members = [
        PairedMember(name, side(np.zeros(len(one.documents)), one), one, 0.5)
        for name, one in zip("xy", others, strict=True)
    ]
    own = group_estimates([Member(m.family, m.other) for m in members])[1]
    found = compare_members(members)
    assert (found.difference, found.stderr) == pytest.approx((own.value, own.stderr))


def test_scores_of_confusion_matrices_are_resampled_and_swapped_together() -> None:
    draw = np.random.default_rng(6)
    gold = draw.integers(0, 2, 60)
    members = []
    for family, noise in (("x", 0.3), ("y", 0.1)):
        sides = []
        for _ in range(2):
            picked = np.where(draw.random(60) < noise, 1 - gold, gold)
            sides.append(measured("mcc", outcomes(gold == picked, None, gold, picked)))
        members.append(PairedMember(family, *sides, 0.5))
    found = compare_members(members, seed=3)
    steps = [one.other.value - one.baseline.value for one in members]
    assert found.difference == pytest.approx(np.mean(steps))
    assert (found.n, found.clusters, found.interval_method) == (120, 120, "bca")
    assert found.test == "swap" and 0 < found.p_value <= 1
    assert found.low is not None and found.high is not None
    assert found.low <= found.difference <= found.high
    back = [PairedMember(one.family, one.other, one.baseline, one.weight) for one in members]
    assert compare_members(back, seed=3).p_value == pytest.approx(found.p_value, abs=0.02)
    mixed = [members[0], PairedMember("z", side([0, 1] * 30), side([1, 1] * 30), 0.5)]
    both = compare_members(mixed)
    assert both.difference == pytest.approx((steps[0] + 0.5) / 2)
    assert both.interval_method == "bca"


def test_what_is_not_shared_is_refused() -> None:
    with pytest.raises(ResultError, match="share no scored document"):
        compare_members([PairedMember("x", measured("mean", outcomes([None])), side([1]))])


@pytest.mark.parametrize(
    ("sizes", "shares", "weights"),
    [
        ((10, 400), ((0.1, 0.1), (0.1, 0.1)), (0.5, 0.5)),
        ((10, 400), ((0.3, 0.0), (0.0, 0.3)), (0.5, 0.5)),
        ((30, 100, 400), ((0.15, 0.05), (0.05, 0.1), (0.05, 0.1)), (1 / 3, 1 / 3, 1 / 3)),
        ((30, 100, 400), ((0.1, 0.1), (0.05, 0.1), (0.1, 0.05)), (None, None, None)),
    ],
)
def test_means_of_unequal_members_cover(
    sizes: tuple[int, ...],
    shares: tuple[tuple[float, float], ...],
    weights: tuple[float | None, ...],
) -> None:
    """A mean of 0 is claimed to be a difference in at most 5 %, also where members differ."""
    draw = np.random.default_rng(sum(sizes))
    likes = [measured("mean", outcomes([1.0] * size)) for size in sizes]
    of = np.array([size if w is None else w for size, w in zip(sizes, weights, strict=True)])
    truth = float(of @ [won - lost for won, lost in shares] / of.sum())
    covered = claimed = 0
    for _ in range(150):
        made = pairs(draw, [(like, *one) for like, one in zip(likes, shares, strict=True)])
        members = [
            PairedMember(str(at), *one, weight)
            for at, (one, weight) in enumerate(zip(made, weights, strict=True))
        ]
        found = compare_members(members, tests=None)
        assert found.low is not None and found.high is not None
        covered += found.low <= truth <= found.high
        claimed += found.p_value < 0.05
    assert covered / 150 >= 0.93
    if abs(truth) < 1e-9:
        assert claimed / 150 <= 0.07


def test_languages_that_share_items_cover() -> None:
    """Eight languages of sixty items: taken as independent, they would claim too much."""
    draw = np.random.default_rng(3)
    like = measured("mean", outcomes([1.0] * 60))
    sizes = np.full(60, 8)
    ours = naive = 0
    for _ in range(150):
        first, second = (one.reshape(60, 8) for one in clustered_pair(draw, sizes, 0.0))
        members = [
            PairedMember("x", with_values(like, first[:, at]), with_values(like, second[:, at]), 1)
            for at in range(8)
        ]
        ours += compare_members(members, tests=None).p_value < 0.05
        alone = [
            PairedMember(str(at), one.baseline, one.other, 1) for at, one in enumerate(members)
        ]
        naive += compare_members(alone, tests=None).p_value < 0.05
    assert ours / 150 <= 0.07 < naive / 150


@pytest.mark.parametrize(("count", "apart"), [(80, 0.1), (80, 0.3), (400, 0.1), (400, 0.3)])
def test_what_a_comparison_promises_is_found_four_times_out_of_five(
    count: int, apart: float
) -> None:
    """From the observed discordance; the interval's width promised what 62 to 73 % found."""
    draw = np.random.default_rng(count)
    like = measured("mean", outcomes([1.0] * count))
    powers = []
    for _ in range(40):
        ((first, second),) = pairs(draw, [(like, apart / 2, apart / 2)])
        found = compare(first, second)
        assert found.detectable is not None
        powers.append(mcnemar_power(count, max(apart, found.detectable), found.detectable))
    assert 0.77 <= np.mean(powers) <= 0.87


def test_a_family_needs_larger_differences() -> None:
    draw = np.random.default_rng(2)
    like = measured("mean", outcomes([1.0] * 300))
    ((first, second),) = pairs(draw, [(like, 0.1, 0.1)])
    one, ten = (
        compare_members([PairedMember("x", first, second)], tests=tests) for tests in (1, 10)
    )
    assert one.detectable is not None and ten.detectable is not None
    assert one.detectable < ten.detectable
    assert ten.wide_low is not None and one.low == ten.low and ten.wide_low < one.low
    power = mcnemar_power(300, 0.2, ten.detectable, 0.05 / 10)
    assert 0.75 <= power <= 0.87


def test_clustered_power_is_what_the_test_finds() -> None:
    draw = np.random.default_rng(4)
    sizes = draw.integers(1, 8, 60)
    groups = [str(at) for at in np.repeat(np.arange(60), sizes)]
    like = measured("mean", outcomes([1.0] * len(groups), groups))
    sample = [clustered_pair(draw, sizes, 0.0) for _ in range(20)]
    promised = [
        compare(with_values(like, first), with_values(like, second)).detectable
        for first, second in sample
    ]
    wanted = float(np.mean([one for one in promised if one is not None]))
    gains = np.linspace(0.3, 1.6, 14)
    found, true = [], []
    for gain in gains:
        made = [clustered_pair(draw, sizes, gain) for _ in range(60)]
        true.append(np.mean([second.mean() - first.mean() for first, second in made]))
        found.append(
            np.mean(
                [
                    compare(with_values(like, a), with_values(like, b), tests=None).p_value < 0.05
                    for a, b in made
                ]
            )
        )
    # Power by the difference that there truly is, smoothed over neighbouring gains.
    smooth = np.polyval(np.polyfit(true, found, 3), wanted)
    assert 0.72 <= smooth <= 0.92
