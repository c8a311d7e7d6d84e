"""Which checkpoint is next, and which are put off."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tenbin.pipeline.watch.order import choose_next, evenly


def test_the_order_that_was_asked_for() -> None:
    waiting = [100, 200, 300]
    assert choose_next(waiting, [], "newest", 9) == (300, [])
    assert choose_next(waiting, [], "oldest", 9) == (100, [])
    assert choose_next(waiting, [], "even", 9) == (300, [])
    assert choose_next(waiting, [300], "even", 9) == (100, [])
    assert choose_next([200, 400], [100, 300, 500], "even", 9) == (400, []), "the newer of two"


def test_more_than_may_wait_are_put_off_evenly() -> None:
    waiting = list(range(100, 1100, 100))
    chosen, late = choose_next(waiting, [], "newest", 3)
    assert chosen == 1000
    assert sorted(set(waiting) - set(late)) == [100, 600, 1000], "the ends and the middle"
    assert choose_next(waiting, [], "oldest", 3)[0] == 100
    # What is done already needs no neighbour.
    assert evenly(waiting, [1100, 600], 1) == [100]


@pytest.mark.parametrize("order", ["newest", "even", "oldest"])
def test_every_checkpoint_is_chosen_in_the_end(order: str) -> None:
    waiting = random.Random(4).sample(range(1, 10_000), 30)
    left, done = set(waiting), list[int]()
    while left:
        chosen, late = choose_next(sorted(left), done, order, 4)  # type: ignore[arg-type]
        assert chosen in left and chosen not in late and len(left) - len(late) <= 4
        left.remove(chosen)
        done.append(chosen)
    assert sorted(done) == sorted(waiting)


def test_an_evaluation_that_is_too_slow_covers_the_training_evenly() -> None:
    """Ten checkpoints appear while one is evaluated: what is done has no large gap."""
    done: list[int] = []
    for now in range(100, 10_100, 100):
        if now % 1000 == 0:
            waiting = [step for step in range(100, now + 1, 100) if step not in done]
            done.append(choose_next(waiting, done, "even", 4)[0])
    ends = [0, *sorted(done), 10_000]
    assert max(b - a for a, b in pairwise(ends)) <= 2_500
