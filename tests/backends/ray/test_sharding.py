"""The cut: every request once, along the prefix tree, and the same when finished parts are gone."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenbin.backends.ray import sharding as cutting
from tenbin.backends.ray.sharding import MOST_CHARACTERS, shared_prefix
from tenbin.pipeline.requests import generate_request, roll_request, score_request
from tenbin.records import Request

_WORDS = st.text("ab 駅海\n", max_size=12)
_REQUESTS = st.one_of(
    st.builds(score_request, _WORDS, st.tuples(_WORDS, _WORDS)),
    st.builds(generate_request, _WORDS, st.just(("\n",)), st.integers(1, 64)),
    st.builds(roll_request, _WORDS),
)
_PLANS = st.lists(_REQUESTS, max_size=120, unique_by=lambda request: request.key)


def cut(requests: list[Request], size: int) -> list[tuple[Request, ...]]:
    return list(cutting.cut(sorted(requests, key=lambda request: request.place), size))


def text_of(request: Request) -> str:
    return request.place[1]


def _keys(shards: list[tuple[Request, ...]]) -> list[list[str]]:
    return [[request.key for request in shard] for shard in shards]


def _plan(documents: int, shots: int = 3, seed: int = 1) -> list[Request]:
    """A few-shot task: some beginnings that many documents share, each document in six templates"""
    generator = random.Random(seed)
    words = [f"単語{number}" for number in range(300)]

    def text(count: int) -> str:
        return "".join(generator.choices(words, k=count))

    heads = [f"指示{t}:" + "".join(f"例{text(30)}\n" for _ in range(shots)) for t in range(6)]
    return [
        score_request(f"{head}問い{text(12)}\n答え:", ("はい", "いいえ"))
        for _ in range(documents)
        for head in heads
    ]


@given(_PLANS, st.integers(1, 20))
def test_every_request_is_in_one_shard(plan: list[Request], size: int) -> None:
    shards = cut(plan, size)
    assert sorted(request.key for shard in shards for request in shard) == sorted(
        request.key for request in plan
    )
    assert all(0 < len(shard) <= size for shard in shards)
    assert all(len({type(request) for request in shard}) == 1 for shard in shards)


def test_another_order_is_refused() -> None:
    """It would be answered, with hardly anything shared and nobody the wiser."""
    first, second = roll_request("a"), roll_request("b")
    assert list(cutting.cut([first, second], 1)) == [(first,), (second,)]
    with pytest.raises(ValueError, match="order of their places"):
        list(cutting.cut([second, first], 4))


@given(_PLANS, st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_rest_is_cut_as_before_when_whole_shards_are_gone(
    plan: list[Request], size: int, generator: random.Random
) -> None:
    shards = cut(plan, size)
    left = [shard for shard in shards if generator.random() < 0.5]
    again = cut([request for shard in left for request in shard], size)
    assert _keys(again) == _keys(left)


@pytest.mark.parametrize("seed", range(5))
def test_cuts_fall_together_again_after_a_missing_request(seed: int) -> None:
    """Failures are asked again: their shards differ, most of the others must not."""
    plan = _plan(400, seed=seed)
    whole = {tuple(keys) for keys in _keys(cut(plan, 64))}
    generator = random.Random(seed)
    missing = set(generator.sample(range(len(plan)), 3))
    rest = [request for at, request in enumerate(plan) if at not in missing]
    without = {tuple(keys) for keys in _keys(cut(rest, 64))}
    # A shard that differs is one with a missing request, or one of the few until the next
    # cut in common.
    assert len(whole) > 40
    assert len(whole - without) <= 15


def test_long_texts_close_a_shard_early() -> None:
    plan = [roll_request(f"{number:05d}" + "字" * 30_000) for number in range(30)]
    shards = cut(plan, 256)
    assert all(sum(len(text_of(r)) for r in shard[:-1]) < MOST_CHARACTERS for shard in shards)
    assert len(shards) >= 5


def test_a_shared_prefix_is_counted_once() -> None:
    """Sixty questions about one long text are one shard: their work is little."""
    text = "本文" * 5_000
    plan = [score_request(f"{text}問い{number}", ("はい", "いいえ")) for number in range(60)]
    assert len(cut(plan, 256)) == 1


def test_little_sharing_is_lost() -> None:
    plan = _plan(500)
    ordered = sorted(plan, key=text_of)
    whole = _distinct(ordered)
    shards = cut(plan, 256)
    parts = sum(_distinct(shard) for shard in shards)
    longest = max(len(text_of(request)) for request in plan)
    assert parts - whole <= (len(shards) - 1) * longest
    assert parts < 1.06 * whole
    # In the order of the plan, as documents come, next to nothing would be shared.
    assert _distinct(plan) > 3 * whole


def _distinct(requests: list[Request] | tuple[Request, ...]) -> int:
    """Characters of a prefix tree that is built in this order."""
    total, before = 0, ""
    for request in requests:
        text = text_of(request)
        total += len(text) - shared_prefix(text, before)
        before = text
    return total


@given(_WORDS, _WORDS, _WORDS)
@settings(max_examples=300)
def test_shared_prefixs(head: str, first: str, second: str) -> None:
    pair = [head + first, head + second]
    longest = max(at for at in range(len(pair[0]) + 1) if pair[1].startswith(pair[0][:at]))
    assert shared_prefix(*pair) == longest
