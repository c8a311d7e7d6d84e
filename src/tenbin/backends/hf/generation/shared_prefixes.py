"""Which prompts share their beginning, and which of them are read together.

Knows token ids; no tensor, no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tenbin.backends.hf.model.prefix_tree import common_prefix

Ids = tuple[int, ...]


_WORTH = 16
"""A shared beginning is read apart where it spares at least one token in so many."""


@dataclass(slots=True, eq=False)
class Family:
    """Prompts that begin alike."""

    prefix: Ids
    parent: Family | None
    """The larger family whose shorter beginning this one continues."""
    members: list[int] = field(default_factory=list)
    """The positions of those that share no more with each other, longest first."""

    def line(self) -> list[Family]:
        """The families above and this one, as far as they have a beginning; shortest first."""
        found: list[Family] = []
        at: Family | None = self
        while at and at.prefix:
            found.append(at)
            at = at.parent
        return found[::-1]


def families(prompts: Sequence[Ids], spare: int) -> list[Family]:
    """Group prompts by their common beginnings, such that many tokens are read once only.

    The last token of a prompt is never shared: reading it gives the first token of the answer.

    Args:
        prompts: Token ids of every prompt, none of them empty.
        spare: Tokens that cost as much as another forward; a smaller gain is none.

    Returns:
        Families that have members or descend to some, relatives together.
    """
    order = sorted(range(len(prompts)), key=lambda at: prompts[at])
    shared = [0, *(common_prefix(prompts[a][:-1], prompts[b][:-1]) for a, b in pairwise(order))]
    found = [Family((), None)]
    waiting = [(0, len(order), found[0])]
    while waiting:
        low, high, family = waiting.pop()
        if high - low < 2:
            family.members += order[low:high]
            continue
        least = min(shared[low + 1 : high])
        known = len(family.prefix)
        gain = (least - known) * (high - low - 1)
        if gain > spare and gain * _WORTH > sum(len(prompts[at]) - known for at in order[low:high]):
            family = Family(prompts[order[low]][:least], family)
            found.append(family)
        borders = [low, *(at for at in range(low + 1, high) if shared[at] == least), high]
        waiting += [(a, b, family) for a, b in reversed(list(pairwise(borders)))]
    for family in found:
        family.members.sort(key=lambda at: -len(prompts[at]))
    return found


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
