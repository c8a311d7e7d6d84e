"""Work on many documents that a person waits for: how far it is, told now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_AT_ONCE = 500


class Counted:
    """Counts what goes through it, and tells."""

    def __init__(self, told: Callable[[str, int, int], None], what: str, total: int) -> None:
        """Nothing yet.

        Args:
            told: Told what goes on, how much is done, and of how many.
            what: What goes on.
            total: Documents in all.
        """
        self._told, self._what, self._total = told, what, total
        self._done = 0

    def through(self, items: Iterable[T]) -> Iterator[T]:
        """The items as they are, counted once they were worked on."""
        for item in items:
            yield item
            self._done += 1
            if self._done % _AT_ONCE == 0 or self._done == self._total:
                self._told(self._what, self._done, self._total)
