"""Which ids came more than once, in eight bytes an id.

It keeps a hash of each and so can only suspect: whoever asks looks again at the few suspects.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator

_PARTS = 256
"""Ids are looked through a part at a time, since a set takes ten times the room of its hashes."""


class SeenIds:
    """The ids of a split as they come."""

    def __init__(self) -> None:
        """None so far."""
        self._parts = [array("q") for _ in range(_PARTS)]

    def add(self, identifier: str) -> None:
        """One more."""
        key = hash(identifier)
        self._parts[key % _PARTS].append(key)

    def suspects(self) -> Iterator[int]:
        """Yield the hashes that came more than once: of ids that repeat, or by a rare chance."""
        for part in self._parts:
            if len(set(part)) < len(part):
                yield from (key for key, times in Counter(part).items() if times > 1)
