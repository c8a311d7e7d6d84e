"""Which of the checkpoints that wait is next, and which are put off.

Where a training is faster than its evaluation, a queue would fall behind more and more. So at most
so many wait, chosen to cover the training evenly; the others are put off until none of them waits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

Order = Literal["newest", "even", "oldest"]


def choose_next(
    waiting: Sequence[int], done: Collection[int], order: Order, most: int
) -> tuple[int, list[int]]:
    """The step to evaluate now, and the steps that are put off.

    Args:
        waiting: Steps that could be evaluated; at least one.
        done: Steps that were evaluated, or are being.
        order: `newest` and `oldest` first, or `even`: always the one farthest from all that is
            done.
        most: Steps that wait at a time.
    """
    front = evenly(waiting, done, most)
    if order == "newest":
        chosen = max(front)
    elif order == "oldest":
        chosen = min(front)
    else:
        chosen = front[0]
    return chosen, sorted(set(waiting) - set(front))


def evenly(waiting: Sequence[int], done: Collection[int], most: int) -> list[int]:
    """At most so many steps that cover the training evenly with what is done, the first ones first.

    Without anything done the newest is first and the oldest second; then always the one that is
    farthest from all others, of two the newer one.
    """
    left, covered, front = sorted(set(waiting)), set(done), list[int]()
    while left and len(front) < most:
        step = _farthest(left, covered)
        front.append(step)
        covered.add(step)
        left.remove(step)
    return front


def _farthest(steps: Sequence[int], covered: Collection[int]) -> int:
    if not covered:
        return max(steps)
    return max(steps, key=lambda step: (min(abs(step - one) for one in covered), step))
