"""Option order: hand-made answers, and coverage in worlds of known preference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tenbin.statistics.columns import column_means, column_spread, noncentral_f, share_estimate
from tenbin.statistics.option_order import (
    NOT_READ,
    OptionOrder,
    RotatedAnswers,
    option_order,
)


def answers(
    chosen: list[list[int]], gold: list[int], logprobs: Any = None, **keys: Any
) -> RotatedAnswers:
    found = None if logprobs is None else np.array(logprobs, dtype=float)
    clusters = keys.pop("clusters", [None] * len(gold))
    return RotatedAnswers(np.array(chosen), np.array(gold), clusters, found, **keys)


def test_always_the_first_position() -> None:
    """Whatever stands at A is chosen: right once in three orders, wherever the gold answer is."""
    found = option_order(answers([[0, 0, 0]] * 30, [at % 3 for at in range(30)]))
    assert found.as_asked.value == pytest.approx(1 / 3)
    assert found.mean.value == pytest.approx(1 / 3)
    assert [one.value for one in found.rotations] == [pytest.approx(1 / 3)] * 3
    assert (found.same_option.value, found.same_position.value) == (0, 1)
    assert [one.recall.value for one in found.before.positions] == [1, 0, 0]
    assert [one.chosen.value for one in found.before.positions] == [1, 0, 0]
    assert found.before.recall_spread.deviation == pytest.approx(np.std([1, 0, 0]))
    assert found.before.recall_spread.p_value == 0
    assert found.combined is None and found.removed is None


def test_always_the_same_option() -> None:
    """The option is followed through all orders: no position is preferred."""
    gold = [0, 1, 2, 0, 1, 2]
    picked = np.array([0, 1, 2, 1, 2, 0])
    chosen = (picked[:, None] - np.arange(3)) % 3
    found = option_order(answers(chosen.tolist(), gold))
    assert (found.as_asked.value, found.mean.value, found.from_order.value) == (0.5, 0.5, 0)
    assert (found.same_option.value, found.same_position.value) == (1, 0)
    assert [one.recall.value for one in found.before.positions] == [0.5] * 3
    assert found.before.recall_spread.deviation == 0
    assert found.before.recall_spread.p_value == 1


def test_the_rows_own_order_may_flatter() -> None:
    """The right answer stands first in every row, and the first position is preferred."""
    found = option_order(answers([[0, 0]] * 10, [0] * 10))
    assert (found.as_asked.value, found.mean.value, found.from_order.value) == (1, 0.5, 0.5)


def test_answers_that_cannot_be_read_agree_with_nothing() -> None:
    found = option_order(answers([[NOT_READ, NOT_READ], [0, 1]], [0, 0]))
    assert found.as_asked.value == 0.5
    assert (found.same_option.value, found.same_position.value) == (0.5, 0)
    assert sum(one.chosen.value or 0 for one in found.before.positions) == 0.5


def test_a_prior_is_the_same_whatever_stands_there() -> None:
    """Log-likelihoods are option + position: the prior is found, and removing it leaves options."""
    generator = np.random.default_rng(1)
    preference = np.log([0.7, 0.2, 0.1])
    options = generator.normal(0, 0.4, (60, 3))
    gold = options.argmax(axis=1)
    order = np.arange(3)
    shown = options[:, (order[:, None] + order) % 3] + preference
    chosen = shown.argmax(axis=2)
    found = option_order(answers(chosen.tolist(), gold.tolist(), shown))
    assert found.removed is not None and found.combined is not None
    # Each document's own prior is exact here, and so is their mean.
    assert found.removed.prior == pytest.approx(tuple(np.exp(preference)))
    assert (found.removed.score.value, found.combined.value) == (1, 1)
    assert found.as_asked.value is not None and found.as_asked.value < 0.7
    assert found.removed.gain.value == pytest.approx(1 - found.as_asked.value)
    assert [one.recall.value for one in found.removed.after.positions] == [1, 1, 1]
    assert (found.removed.prior_documents, found.removed.priors) == (10, 6)


def test_a_prior_from_a_few_documents_is_removed_from_the_others() -> None:
    generator = np.random.default_rng(2)
    world = made_world(generator, 400, 4, 1.0, (1.5, 0, 0, -0.5), 0.3)
    complete = np.arange(400) < 20
    partly = RotatedAnswers(
        np.where(complete[:, None] | (np.arange(4) == 0), world.chosen, NOT_READ),
        world.gold, world.clusters, world.logprobs, complete,
    )  # fmt: skip
    found, whole = option_order(partly), option_order(world)
    assert (found.documents, found.complete, found.mean.n) == (400, 20, 20)
    assert found.as_asked.value == whole.as_asked.value
    assert found.removed is not None and whole.removed is not None
    assert (found.removed.priors, found.removed.prior_documents) == (1, 20)
    assert found.removed.score.n == 380
    assert found.removed.prior == pytest.approx(whole.removed.prior, abs=0.06)
    assert found.removed.score.value == pytest.approx(whole.removed.score.value, abs=0.03)
    assert not found.before.every_order and whole.before.every_order
    spread = found.before.recall_spread.deviation, found.removed.after.recall_spread.deviation
    assert spread[0] > 0.1 > spread[1]


def test_documents_of_a_cluster_stay_together() -> None:
    chosen, gold = [[0, 0], [0, 0], [0, 1], [0, 1]], [0, 0, 0, 0]
    alone = option_order(answers(chosen, gold))
    together = option_order(answers(chosen, gold, clusters=["a", "a", "b", "b"]))
    assert (alone.mean.clusters, together.mean.clusters) == (4, 2)
    assert (together.mean.stderr or 0) > (alone.mean.stderr or 0)


def test_spread_without_chance_and_without_clusters() -> None:
    constant = column_spread(*column_means(np.tile([0.0, 1.0], (5, 1)), None, [None] * 5))
    assert (constant.deviation, constant.low, constant.high, constant.p_value) == (0.5, 0.5, 0.5, 0)
    single = column_spread(*column_means(np.array([[0.0, 1.0]]), None, [None]))
    assert (single.deviation, single.low, single.p_value) == (0.5, None, None)


@pytest.mark.parametrize("noncentrality", [0.0, 0.5, 8.0, 60.0, 99.0, 101.0, 5000.0])
@pytest.mark.parametrize(("freedom", "below"), [(1.0, 30.0), (2.6, 300.0), (4.0, 4000.0)])
def test_noncentral_f(noncentrality: float, freedom: float, below: float) -> None:
    generator = np.random.default_rng(4)
    numerator = generator.noncentral_chisquare(freedom, max(noncentrality, 1e-12), 40_000) / freedom
    drawn = numerator / (generator.chisquare(below, 40_000) / below)
    for share in (0.025, 0.3, 0.975):
        at = float(np.quantile(drawn, share))
        assert noncentral_f(at, freedom, below, noncentrality) == pytest.approx(share, abs=0.01)


def test_values_of_right_and_wrong_have_the_usual_interval() -> None:
    from tenbin.statistics.intervals import mean_estimate

    values = np.array([1.0] * 70 + [0.0] * 30)
    usual = mean_estimate(0.7, [(values - 0.7) / 100], 100, 1.0)
    assert share_estimate(values, [None] * 100) == usual


def made_world(
    generator: np.random.Generator,
    documents: int,
    options: int,
    skill: float,
    preference: tuple[float, ...],
    noise: float,
    gold_shares: tuple[float, ...] | None = None,
    size: int = 1,
) -> RotatedAnswers:
    """Documents whose options have log-likelihoods, to which positions and orders add.

    Args:
        generator: Of chance.
        documents: How many.
        options: Of each.
        skill: What the right option has more, on average; documents and clusters vary around it.
        preference: What each position adds.
        noise: Standard deviation of what an order adds to an option of a document.
        gold_shares: How often the right answer stands at each position in the rows.
        size: Documents of a cluster.
    """
    own = generator.normal(0, 1, (documents, options))
    gold = generator.choice(options, documents, p=gold_shares)
    numbers = np.arange(documents) // size
    shared = generator.normal(0, 1, numbers[-1] + 1)[numbers] * (size > 1)
    own[np.arange(documents), gold] += skill + shared + generator.normal(0, 1, documents)
    order = np.arange(options)
    scores = own[:, (order[:, None] + order) % options] + np.array(preference)
    scores += noise * generator.normal(0, 1, scores.shape)
    clusters = [None] * documents if size == 1 else [str(one) for one in numbers]
    return RotatedAnswers(scores.argmax(axis=2), gold, clusters, scores)


WORLDS: dict[str, tuple[Any, ...]] = {
    "no preference": (4, 1.0, (0, 0, 0, 0), 0.5),
    "the first position": (5, 0.5, (2, 0.5, 0, 0, 0), 0.5),
    "the right answer stands first": (4, 1.0, (1, 0, 0, -0.5), 0.5, (0.55, 0.15, 0.15, 0.15)),
    "paragraphs of four": (4, 1.0, (1, 0.3, 0, 0), 0.5, None, 4),
    "nearly all right": (4, 4.0, (0.5, 0, 0, 0), 0.5),
}


def measures(found: OptionOrder) -> dict[str, Any]:
    assert found.removed is not None and found.combined is not None
    return {
        "as asked": found.as_asked,
        "mean over orders": found.mean,
        "from the order": found.from_order,
        "recall at A": found.before.positions[0].recall,
        "chosen A": found.before.positions[0].chosen,
        "spread of recalls": found.before.recall_spread,
        "spread of choices": found.before.chosen_spread,
        "prior removed": found.removed.score,
        "gain": found.removed.gain,
        "all orders combined": found.combined,
        "spread of recalls after": found.removed.after.recall_spread,
    }


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_hold_the_truth(name: str) -> None:
    truth = {
        name: getattr(one, "value", getattr(one, "deviation", None))
        for name, one in measures(
            option_order(made_world(np.random.default_rng(0), 20_000, *WORLDS[name]))
        ).items()
    }
    hits: dict[str, list[bool]] = {measure: [] for measure in truth}
    claims = 0
    for repetition in range(REPETITIONS):
        world = made_world(np.random.default_rng([1, repetition]), DOCUMENTS, *WORLDS[name])
        found = option_order(world, repetition)
        claims += found.before.recall_spread.p_value < 0.05  # type: ignore[operator]
        for measure, one in measures(found).items():
            hits[measure].append(one.low - 0.002 <= truth[measure] <= one.high + 0.002)
    for measure, held in hits.items():
        assert np.mean(held) >= 0.85, measure
    if name == "no preference":
        assert claims / REPETITIONS <= 0.12
    elif name != "nearly all right":
        assert claims / REPETITIONS >= 0.9


REPETITIONS, DOCUMENTS = 60, 120
