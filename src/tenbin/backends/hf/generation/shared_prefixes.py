"""Groups prompts by shared prefixes for padded prefill, and cuts rows into padded batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tenbin.backends.hf.model.prefix_tree import Ids, common_prefix

_WORTH = 16
"""A shared prefix is computed separately if that saves at least one token in so many."""


@dataclass(slots=True, eq=False)
class PrefixGroup:
    """Prompts with a common prefix."""

    prefix: Ids
    parent: PrefixGroup | None
    """The larger group whose shorter prefix this one continues."""
    members: list[int] = field(default_factory=list)
    """Numbers of the prompts that share no more than this prefix, longest first."""

    def ancestry(self) -> list[PrefixGroup]:
        """Return this group and those above it that have a prefix, shortest prefix first."""
        found: list[PrefixGroup] = []
        at: PrefixGroup | None = self
        while at and at.prefix:
            found.append(at)
            at = at.parent
        return found[::-1]


def prefix_groups(prompts: Sequence[Ids], spare: int) -> list[PrefixGroup]:
    """Group prompts by their common prefixes, so that many tokens are computed only once.

    The last token of a prompt is never shared: its logits give the first token of the answer.

    Args:
        prompts: Token ids of every prompt, none of them empty.
        spare: Tokens that cost as much as another forward pass; a smaller gain is none.

    Returns:
        Groups in depth-first order, so that those with a common ancestor stand together.
    """
    order = sorted(range(len(prompts)), key=lambda at: prompts[at])
    shared = [0, *(common_prefix(prompts[a][:-1], prompts[b][:-1]) for a, b in pairwise(order))]
    found = [PrefixGroup((), None)]
    waiting = [(0, len(order), found[0])]
    while waiting:
        low, high, group = waiting.pop()
        if high - low < 2:
            group.members += order[low:high]
            continue
        least = min(shared[low + 1 : high])
        known = len(group.prefix)
        # Computed once instead of once per prompt; a forward pass of its own is the price.
        gain = (least - known) * (high - low - 1)
        if gain > spare and gain * _WORTH > sum(len(prompts[at]) - known for at in order[low:high]):
            group = PrefixGroup(prompts[order[low]][:least], group)
            found.append(group)
        borders = [low, *(at for at in range(low + 1, high) if shared[at] == least), high]
        waiting += [(a, b, group) for a, b in reversed(list(pairwise(borders)))]
    for group in found:
        group.members.sort(key=lambda at: -len(prompts[at]))
    return found


def padded_batches(lengths: Sequence[int], budget: int, spare: int) -> Iterator[int]:
    """Cut rows that are sorted by length into batches with little padding.

    Args:
        lengths: Tokens of each row, longest first.
        budget: Padded tokens per batch.
        spare: Padding that costs as much as another forward pass.

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
