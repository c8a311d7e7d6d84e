"""Token sequences as a tree of shared prefixes, cut into packs under a budget.

A pack is one row in which every distinct prefix stands once. Its segments are laid out depth first,
and a segment attends to its ancestors and itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Ids = tuple[int, ...]

_SIBLINGS = 0.5
"""Neighbours that share more than this part of a sequence stay in one pack if they fit."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of tokens that all sequences below it share."""

    start: int
    """Where it begins in the pack."""
    depth: int
    """Position of its first token in the sequences."""
    length: int
    parent: int
    """Index of the segment it continues; -1 at a root."""


@dataclass(slots=True)
class Pack:
    """Sequences that are computed together, each distinct position once."""

    sequences: list[Ids]
    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    """The segment in which each sequence ends."""

    def __len__(self) -> int:
        return len(self.ids)

    def place(self, sequence: int, position: int) -> int:
        """Return where a position of a sequence stands in the pack."""
        segment = self.segments[self.leaves[sequence]]
        while position < segment.depth:
            segment = self.segments[segment.parent]
        return segment.start + position - segment.depth

    def places(self, sequence: int) -> list[int]:
        """Return where all positions of a sequence stand in the pack."""
        number = self.leaves[sequence]
        path: list[range] = []
        while number >= 0:
            segment = self.segments[number]
            path.append(range(segment.start, segment.start + segment.length))
            number = segment.parent
        return [place for stretch in reversed(path) for place in stretch]


def common_prefix(first: Ids, second: Ids) -> int:
    """Return how many leading tokens two sequences share."""
    limit = min(len(first), len(second))
    if limit and first[0] != second[0]:
        return 0
    if first[:limit] == second[:limit]:
        return limit
    low, high = 0, limit
    # Slices compare at C speed, so halving beats walking.
    while high - low > 1:
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


def in_order(sequences: Sequence[Ids]) -> list[Ids]:
    """Sort sequences so that neighbours share most; their common prefix is compared only once."""
    if not sequences:
        return []
    known = common_prefix(min(sequences), max(sequences))
    return sorted(sequences, key=lambda ids: ids[known:])


def distinct_tokens(sequences: Sequence[Ids]) -> int:
    """Return how many distinct prefixes sequences have: the positions that must be computed."""
    ordered = in_order(sequences)
    return sum(map(len, ordered)) - sum(common_prefix(*pair) for pair in pairwise(ordered))


def make_packs(sequences: Sequence[Ids], budget: int) -> Iterator[Pack]:
    """Cut distinct sequences into packs of at most `budget` tokens where they fit at all.

    Args:
        sequences: Distinct token sequences in any order.
        budget: Tokens per pack; a longer sequence gets a pack of its own.

    Yields:
        Packs in the order of the sorted sequences.
    """
    ordered = in_order(sequences)
    # Filled range by range, so that the first pack need not wait for the whole list.
    shared = [0]
    start, cost = 0, 0
    for first, last in sibling_ranges(ordered, shared):
        for at, price, alone in _prices(ordered, shared, first, last, budget):
            # A pack is cut between documents where possible: cut inside one, its context would be
            # computed in both packs.
            if at > start and cost + price > budget:
                yield build_pack(ordered[start:at], [0, *shared[start + 1 : at]])
                start, cost = at, alone
            else:
                cost += price
    if start < len(ordered):
        yield build_pack(ordered[start:], [0, *shared[start + 1 :]])


def sibling_ranges(ordered: Sequence[Ids], shared: list[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges of neighbours that share most of their tokens, as one document's choices do.

    Args:
        ordered: Sequences as `in_order` gives them.
        shared: Tokens that each shares with the one before; filled along the way.
    """
    start = 0
    for at in range(1, len(ordered) + 1):
        if at < len(ordered):
            shared.append(common_prefix(ordered[at - 1], ordered[at]))
        if at == len(ordered) or shared[at] <= _SIBLINGS * len(ordered[at]):
            yield start, at
            start = at


def _prices(
    ordered: Sequence[Ids], shared: Sequence[int], first: int, last: int, budget: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (position, tokens added to the current pack, tokens in a new pack) of each unit.

    A unit is a whole range of siblings, or a single sequence if the range exceeds the budget.
    """
    below = sum(len(ordered[at]) - shared[at] for at in range(first + 1, last))
    whole = len(ordered[first]) + below
    if whole <= budget:
        yield first, len(ordered[first]) - shared[first] + below, whole
        return
    for at in range(first, last):
        yield at, len(ordered[at]) - shared[at], len(ordered[at])


def build_pack(sequences: Sequence[Ids], shared: Sequence[int]) -> Pack:
    """Lay out sorted sequences depth first.

    Args:
        sequences: Sorted, distinct.
        shared: Tokens each shares with the one before it; 0 for the first.
    """
    pack = Pack(list(sequences), leaves=[0] * len(sequences))
    waiting = [(0, len(sequences), 0, -1)]
    while waiting:
        low, high, depth, parent = waiting.pop()
        end = min([len(sequences[low]), *shared[low + 1 : high]])
        node = parent
        if end > depth:
            node = len(pack.segments)
            pack.segments.append(Segment(len(pack.ids), depth, end - depth, parent))
            pack.ids += sequences[low][depth:end]
            pack.positions += range(depth, end)
        if len(sequences[low]) == end:
            # A sequence that others continue ends in the middle of the tree.
            pack.leaves[low] = node
            low += 1
        borders = [low, *(at for at in range(low + 1, high) if shared[at] == end), high]
        if low < high:
            # Popped from the end: children are laid out in order.
            waiting += [(a, b, end, node) for a, b in reversed(list(pairwise(borders)))]
    return pack
