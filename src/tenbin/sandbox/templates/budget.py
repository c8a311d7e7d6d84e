"""What one rendering may use: steps, sizes, and processor time as a last resort.

Steps and sizes are counted, so that whether a template is refused does not depend on the machine.
The limit on time catches what they leave: many slow operations on values just below the limits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from contextvars import ContextVar
from typing import Any

from jinja2.utils import Namespace

STEPS = 500_000
"""A round of a loop is one step, a call of a macro, a function or a filter several."""
CALL = 5
"""Steps of a call."""
SIZE = 4_000_000
"""Of one value, in characters; more where the fields themselves hold more."""
ELEMENT = 16
"""Characters that an element of a list counts as: about what it takes of memory and time."""
GROWTH = 4
"""So many times the size of all fields may a value have, if that is above `SIZE`."""
VALUES = 25
"""Values of the largest size that may be made in one rendering."""
DEPTH = 100
"""Of lists in lists."""
SECONDS = 10.0
"""Of this thread's processor time."""
TIME_CHECK = 64
"""Steps between two looks at the time."""


_SMALL = frozenset({bool, float, type(None)})
_SMALL_INT = 1 << 64


class TooMuchWork(Exception):
    """A template went over a limit; the message says which, as the end of a sentence."""


class Budget:
    """What one rendering has used so far."""

    __slots__ = ("_checked", "_largest", "_started", "fields", "made", "steps")

    def __init__(self, fields: Mapping[str, Any] | None = None) -> None:
        """Begin with nothing used.

        Args:
            fields: The values a rendering begins with: large ones may give large texts.
        """
        self.fields = fields
        self.steps = 0
        self.made = 0
        """Characters of all values made."""
        self._largest: int | None = None
        self._checked = 0
        """The steps when the time was looked at last."""
        self._started: float | None = None

    @property
    def largest(self) -> int:
        """The size that one value may have."""
        if self._largest is None:
            self._largest = max(SIZE, GROWTH * measure(self.fields, None))
        return self._largest

    def step(self, steps: int = 1) -> None:
        """Count a round of a loop, or a call."""
        self.steps += steps
        if self.steps > STEPS:
            raise TooMuchWork(f"it takes more than {STEPS:,} steps")
        if self.steps - self._checked >= TIME_CHECK:
            self._checked = self.steps
            now = time.thread_time()
            if self._started is None:
                self._started = now
            if now - self._started > SECONDS:
                raise TooMuchWork(f"it takes more than {SECONDS:.0f} s")

    def check(self, size: int) -> None:
        """Refuse a value of this size before it is made."""
        if size > SIZE and size > self.largest:
            raise TooMuchWork(f"it makes a value of more than {self.largest:,} characters")

    def make(self, value: Any) -> Any:
        """Count a value that was made, and return it."""
        kind = type(value)
        if kind is str:
            size = len(value)
        elif kind in _SMALL or (kind is int and -_SMALL_INT < value < _SMALL_INT):
            return value
        else:
            size = measure(value, self)
        self.count(size)
        return value

    def count(self, size: int) -> None:
        """Count characters or elements that were made."""
        if size > SIZE:
            self.check(size)
        self.made += size
        if self.made > VALUES * SIZE and self.made > VALUES * self.largest:
            raise TooMuchWork(f"it makes more than {VALUES * self.largest:,} characters in all")


ACTIVE: ContextVar[Budget] = ContextVar("ACTIVE")
"""The budget of the rendering under way in this thread."""


def current() -> Budget:
    """Return the budget of the rendering under way; a fresh one outside any."""
    budget = ACTIVE.get(None)
    return Budget() if budget is None else budget


def measure(value: Any, budget: Budget | None) -> int:
    """Return the size of a value with all that it holds, as often as it holds it.

    Args:
        value: Any value; what is made as it is asked for, such as a range, counts as one.
        budget: Whose limits to keep; None for values that were given, not made.

    Raises:
        TooMuchWork: It is too large, or nested too deeply.
    """
    total = 0
    pending = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if isinstance(one, str | bytes):
            total += len(one)
        elif isinstance(one, int):
            total += 1 + one.bit_length() // 3
        else:
            inside = _inside(one)
            total += ELEMENT * (len(inside) + 1)
            if inside and depth >= DEPTH and budget is not None:
                raise TooMuchWork(f"it nests lists more than {DEPTH} deep")
            pending += [(part, depth + 1) for part in inside]
        if budget is not None:
            budget.check(total)
    return total


def _inside(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple | Set):
        return tuple(value) if not isinstance(value, list) else value
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, Namespace):
        # Its text shows all that was put into it.
        held: dict[str, Any] = object.__getattribute__(value, "_Namespace__attrs")
        return list(held.values())
    return ()
