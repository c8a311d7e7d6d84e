"""Which prompts share their beginning, and which of them are read together.

Knows token ids; no tensor, no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenbin.backends.hf.tree import common_prefix

Ids = tuple[int, ...]


_WORTH = 16
"""A shared beginning is read apart where it spares at least one token in so many."""


@dataclass(frozen=True, slots=True)
class Family:
    """Prompts that begin alike."""

    prefix: Ids
    members: tuple[int, ...]
    """Their positions, longest first."""


def families(prompts: Sequence[Ids], spare: int) -> list[Family]:
    """Group prompts by their common beginnings, such that many tokens are read once only.

    A prompt joins its neighbour's group where this saves more tokens than leaving it out. The
    last token of a prompt is never shared: reading it gives the first token of the answer.

    Args:
        prompts: Token ids of every prompt, none of them empty.
        spare: Tokens that cost as much as another forward; a smaller gain is none.
    """
    found: list[Family] = []
    alone: list[int] = []
    for group, shared in _groups(prompts):
        whole = sum(len(prompts[at]) for at in group)
        gain = shared * (len(group) - 1)
        if gain > spare and gain * _WORTH > whole:
            found.append(Family(prompts[group[0]][:shared], _longest_first(prompts, group)))
        else:
            alone += group
    if alone:
        found.append(Family((), _longest_first(prompts, alone)))
    return found


def _groups(prompts: Sequence[Ids]) -> Iterator[tuple[list[int], int]]:
    """Neighbours in the order of their tokens, and how many tokens they share."""
    group: list[int] = []
    shared = 0
    for at in sorted(range(len(prompts)), key=lambda at: prompts[at]):
        ids = prompts[at][:-1]
        joint = common_prefix(prompts[group[0]][:shared], ids) if group else 0
        if group and joint * len(group) < shared * (len(group) - 1):
            yield group, shared
            group = []
        shared = joint if group else len(ids)
        group.append(at)
    if group:
        yield group, shared


def _longest_first(prompts: Sequence[Ids], group: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(group, key=lambda at: -len(prompts[at])))


def portions(lengths: Sequence[int], budget: int, spare: int) -> Iterator[int]:
    """Cut rows that are sorted by length into batches with little padding.

    Args:
        lengths: Tokens of each row, longest first.
        budget: Padded tokens of a batch.
        spare: Padding that costs as much as another forward.

    Yields:
        How many of the next rows go together.
    """
    count = longest = wasted = 0
    for length in lengths:
        padding = longest - length
        if count and ((count + 1) * longest > budget or wasted + padding > spare):
            yield count
            count = wasted = 0
        if not count:
            longest, padding = length, 0
        count += 1
        wasted += padding
    if count:
        yield count
