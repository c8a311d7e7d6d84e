"""Cuts requests into shards along the tree of their beginnings, so that sharing survives the cut.

Requests come in the order of kind and text, which is a walk through the prefix tree; a shard is a
stretch of that walk, cut off when it is asked for. Shards decide which requests are batched
together, so the cut must not depend on who answers it: a shard is closed by its own requests alone,
never by what follows it, by the number of workers or by how many requests there are. Hence, where
finished shards are taken away, the others are cut as they were. A shard may also be closed early,
after a request whose key says so: where single requests are missing (failures are not kept and are
asked again), cuts fall together again soon after them. Knows requests; knows no worker and no Ray.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from tenbin.records import Generate, Request, Score

MOST_CHARACTERS = 200_000
"""New characters a shard at most: what was read for the request before it is not counted."""
_WRITTEN = 4
"""Characters read that cost as much as a token written, roughly: it closes shards, no more."""


def cut(requests: Iterable[Request], size: int) -> Iterator[tuple[Request, ...]]:
    """Shards of at most `size` requests, each request in one of them.

    Args:
        requests: In the order of their places.
        size: Where a shard is closed at the latest; a quarter closes one at the earliest.

    Raises:
        ValueError: They are in another order, in which hardly anything would be shared.
    """
    shard: list[Request] = []
    work, before = 0, None
    for request in requests:
        if before is not None and request.place < before.place:
            raise ValueError("requests must come in the order of their places")
        before = request
        if shard and type(shard[0]) is not type(request):
            yield tuple(shard)
            shard, work = [], 0
        work += _new_work(request, shard[-1] if shard else None)
        shard.append(request)
        if _closes(request, len(shard), work, size):
            yield tuple(shard)
            shard, work = [], 0
    if shard:
        yield tuple(shard)


def _closes(request: Request, count: int, work: int, size: int) -> bool:
    if count >= size or work >= MOST_CHARACTERS:
        return True
    if 4 * count < size and 4 * work < MOST_CHARACTERS:
        return False
    # One request in size / 4: most shards end so, and where two ways of cutting differ, one in two
    # such requests ends a shard of both, from which on they are the same.
    return zlib.crc32(request.key.encode()) % max(2, size // 4) == 0


def _new_work(request: Request, before: Request | None) -> int:
    text = request.place[1]
    new = len(text) - (shared_beginning(text, before.place[1]) if before is not None else 0)
    if isinstance(request, Score):
        return new + sum(len(continuation) for continuation in request.continuations)
    return new + _WRITTEN * request.room if isinstance(request, Generate) else new


def shared_beginning(first: str, second: str) -> int:
    """Characters that two texts begin with alike; by halving, since slices compare quickly."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
