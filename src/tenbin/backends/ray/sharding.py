"""Cuts requests into shards along their prefix tree, so that shared prefixes stay together.

Requests come in the order of kind and text, which is a walk through the prefix tree; a shard is a
part of that walk. Shards decide which requests are batched together, so the cut must not depend on
the workers: a shard is closed by its own requests alone, never by what follows it, by the number of
workers or by the number of requests. So the others stay the same when finished shards are removed.
A shard may also be closed early, after a request whose key says so: where single requests are
missing, the cuts coincide again soon after them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from tenbin.records import Generate, Request, Score

MOST_CHARACTERS = 200_000
"""Most new characters of a shard; the prefix shared with the request before is not counted."""
_CHARACTERS_PER_TOKEN = 4
"""Prompt characters that cost roughly as much as one generated token; used to size shards."""


def cut(requests: Iterable[Request], size: int) -> Iterator[tuple[Request, ...]]:
    """Shards of at most `size` requests, each request in one of them.

    Args:
        requests: In the order of their places.
        size: Most requests of a shard; it may be closed from a quarter of that on.

    Raises:
        ValueError: They are in another order, in which few prefixes would be shared.
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
    # One request in size / 4 closes a shard: most shards end so, and where two cuts differ, one in
    # two such requests ends a shard of both, after which they coincide.
    return zlib.crc32(request.key.encode()) % max(2, size // 4) == 0


def _new_work(request: Request, before: Request | None) -> int:
    text = request.place[1]
    new = len(text) - (shared_prefix(text, before.place[1]) if before is not None else 0)
    if isinstance(request, Score):
        return new + sum(len(continuation) for continuation in request.continuations)
    return new + _CHARACTERS_PER_TOKEN * request.room if isinstance(request, Generate) else new


def shared_prefix(first: str, second: str) -> int:
    """Length of the common prefix of two texts; by bisection, since slices compare quickly."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
