"""How much work a pattern can make at worst, estimated from its syntax tree alone.

A backtracking matcher tries one way after the other to match what stands so far. The number of ways
is bounded by `factor * (n + 1) ** degree` for a text of n characters; where a repetition with
several ways of its own is repeated without limit, as in `(a+)+`, there is no such bound.

A simple repetition at the end of a pattern, as in `[0-9]+`, has one way: nothing follows that could
fail and have another one tried. (In a match of the whole text the end follows, but such a match
begins at one place only.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

AFFORDABLE_STEPS = 1e8
"""About a second of `re`."""


@dataclass(frozen=True, slots=True)
class _Ways:
    factor: float = 1.0
    degree: int = 0

    def then(self, other: _Ways) -> _Ways:
        return _Ways(self.factor * other.factor, self.degree + other.degree)

    def alternatively(self, other: _Ways) -> _Ways:
        return _Ways(self.factor + other.factor, max(self.degree, other.degree))


_ONE = _Ways()
_UNBOUNDED = _Ways(float("inf"))


def affordable_length(tree: Any) -> int:
    """Return the length up to which no text can make a pattern slow; -1 where there is none."""
    ways = _ways(tree, at_end=True)
    steps = ways.factor * expanded_size(tree)
    # One more degree for the places at which a match can begin.
    length = (AFFORDABLE_STEPS / max(steps, 1.0)) ** (1 / (ways.degree + 1)) - 1
    return max(int(length), -1)


def expanded_size(tree: Any) -> int:
    """Count the nodes of a pattern once its counted repetitions are written out."""
    total = 0
    for operation, argument in tree:
        name = str(operation)
        total += 1
        if name.endswith("_REPEAT"):
            least, _, inner = argument
            total += max(1, int(least)) * expanded_size(inner)
        else:
            total += sum(expanded_size(part) for part in _parts(name, argument))
    return total


def _ways(tree: Any, at_end: bool = False) -> _Ways:
    total = _ONE
    nodes = list(tree)
    for place, (operation, argument) in enumerate(nodes):
        is_last = at_end and place == len(nodes) - 1
        total = total.then(_node_ways(str(operation), argument, is_last))
    return total


def _node_ways(name: str, argument: Any, at_end: bool) -> _Ways:
    if name.endswith("_REPEAT"):
        is_simple = at_end and _ways(argument[2]) == _ONE
        return _ONE if is_simple else _repeat_ways(*argument)
    if name == "GROUPREF":
        return _Ways(1.0, 1)  # comparing may take as long as the text
    at_end = at_end and name in ("SUBPATTERN", "BRANCH")
    total = _ONE
    for part in _parts(name, argument) if name != "IN" else ():
        inside = _ways(part, at_end)
        total = total.alternatively(inside) if name != "SUBPATTERN" else inside
    return total


def _repeat_ways(least: Any, most: Any, inner: Any) -> _Ways:
    inside = _ways(inner)
    counts = int(most) - int(least) + 1
    if counts > 1000:
        # As many as there are characters, if each round can go one way only.
        return _Ways(1.0, 1) if inside == _ONE else _UNBOUNDED
    if inside == _ONE:
        return _Ways(float(counts))
    rounds = int(most)
    if rounds > 30:
        return _UNBOUNDED
    return _Ways(counts * inside.factor**rounds, inside.degree * rounds)


def _parts(name: str, argument: Any) -> Iterable[Any]:
    if name == "BRANCH":
        return list(argument[1])
    if name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return [argument[-1]]
    if name == "ATOMIC_GROUP":
        return [argument]
    if name == "GROUPREF_EXISTS":
        return [part for part in argument[1:] if part is not None]
    return [[(None, None)] * len(argument)] if name == "IN" else []
