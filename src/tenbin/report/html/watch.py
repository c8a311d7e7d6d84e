"""Who is told how far the building of a page is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Watch: TypeAlias = Callable[[str, int, int, str], None]
"""Called with a step, the parts that are done, all parts, and what the parts are."""


def unwatched(what: str, done: int, total: int, unit: str) -> None:
    """Tell nobody."""


def watched(parts: Sequence[T], what: str, unit: str, watch: Watch) -> Iterator[T]:
    """Yield the parts of a step, and tell of each that is done."""
    for number, part in enumerate(parts, 1):
        yield part
        watch(what, number, len(parts), unit)
