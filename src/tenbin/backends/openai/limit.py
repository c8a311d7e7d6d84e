"""How many calls go out at a time: more while all is well, half when the server is overburdened.

Counts calls and looks at a clock; knows no HTTP. Runs inside one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

_START = 4.0


@dataclass(frozen=True, slots=True)
class Pass:
    """Leave for one call, with the moment it was given."""

    since: float


class AdaptiveLimit:
    """Adds while calls succeed, halves once for each burst of trouble."""

    def __init__(self, maximum: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a few.

        Args:
            maximum: The most calls at a time.
            clock: Seconds; tests bring their own.
        """
        self.maximum = maximum
        self.current = min(_START, float(maximum))
        self.cuts = 0
        self._clock = clock
        self._running = 0
        self._last_cut = -1.0
        self._paused_until = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def leave(self) -> AsyncIterator[Pass]:
        """Wait for a free place, hold it inside."""
        async with self._changed:
            while True:
                pause = self._paused_until - self._clock()
                if pause <= 0 and self._running < int(self.current):
                    break
                await self._wait(pause if pause > 0 else None)
            self._running += 1
        try:
            yield Pass(self._clock())
        finally:
            async with self._changed:
                self._running -= 1
                # As many as there are places: waking all of them for one is dear where many wait.
                self._changed.notify(max(1, int(self.current) - self._running))

    async def _wait(self, seconds: float | None) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except asyncio.TimeoutError:
            return

    def went_well(self) -> None:
        """A call was answered: twice as many a round until the first trouble, then one more."""
        step = 1.0 if self.cuts == 0 else 1.0 / self.current
        self.current = min(float(self.maximum), self.current + step)

    def overburdened(self, given: Pass, pause: float = 0.0) -> None:
        """A call was turned away, or took too long.

        Args:
            given: The call's leave. One that began before the last cut says nothing new.
            pause: Seconds in which nothing at all is asked, because the server said so.
        """
        now = self._clock()
        self._paused_until = max(self._paused_until, now + pause)
        if given.since <= self._last_cut:
            return
        self._last_cut = now
        self.cuts += 1
        self.current = max(1.0, self.current / 2)
