"""Many calls at a time: how many the server can take, and an iterator over their results."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

_START = 4.0


@dataclass(frozen=True, slots=True)
class Slot:
    """Permission for one call, with the time at which it was given."""

    since: float


class AdaptiveLimit:
    """How many calls run at a time: grows while they succeed, halves when the server is overloaded.

    For use inside one event loop.
    """

    def __init__(self, maximum: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a few calls.

        Args:
            maximum: Most calls at a time.
            clock: Gives the time in seconds; tests replace it.
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
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait for a free slot and hold it for the length of the block."""
        async with self._changed:
            while True:
                pause = self._paused_until - self._clock()
                if pause <= 0 and self._running < int(self.current):
                    break
                await self._wait(pause if pause > 0 else None)
            self._running += 1
        try:
            yield Slot(self._clock())
        finally:
            async with self._changed:
                self._running -= 1
                # Wake only as many as there are free slots: waking all is slow where many wait.
                self._changed.notify(max(1, int(self.current) - self._running))

    async def _wait(self, seconds: float | None) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except asyncio.TimeoutError:
            return

    def succeeded(self) -> None:
        """Count a success: the limit doubles per round until the first overload, then adds one."""
        step = 1.0 if self.cuts == 0 else 1.0 / self.current
        self.current = min(float(self.maximum), self.current + step)

    def overloaded(self, given: Slot, pause: float = 0.0) -> None:
        """Count a call that was rejected or timed out.

        Args:
            given: The call's slot. A call that began before the last cut says nothing new.
            pause: Seconds for which no call is made at all, because the server asked for it.
        """
        now = self._clock()
        self._paused_until = max(self._paused_until, now + pause)
        if given.since <= self._last_cut:
            return
        self._last_cut = now
        self.cuts += 1
        self.current = max(1.0, self.current / 2)


Session = TypeVar("Session")
Item = TypeVar("Item")
Result = TypeVar("Result")


class _End:
    """Marks the end of the items or the results; `error` is set where an error ended them."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _ConcurrentRun(Generic[Session, Item, Result]):
    """An event loop in its own thread that takes items and hands back results by a queue."""

    def __init__(
        self,
        items: Iterable[Item],
        session: Callable[[], AbstractAsyncContextManager[Session]],
        answer: Callable[[Session, Item], Awaitable[Result]],
        together: int,
    ) -> None:
        self._source = iter(items)
        self._session = session
        self._answer = answer
        self._workers = together
        self._items: asyncio.Queue[Item | _End] = asyncio.Queue()
        self._results: queue.SimpleQueue[Result | _End] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._work_all())
        self._thread = threading.Thread(target=self._run, name="tenbin-calls", daemon=True)

    def results(self) -> Iterator[Result]:
        self._thread.start()
        try:
            # Items are taken here and not in the loop's thread: they may come from a database.
            for _ in range(2 * self._workers):
                self._feed()
            while True:
                found = self._results.get()
                if isinstance(found, _End):
                    if found.error is not None:
                        raise found.error
                    return
                self._feed()
                yield found
        finally:
            self._call(self._task.cancel)
            self._thread.join()

    def _feed(self) -> None:
        """Give the loop one more item; after the last one, a mark that ends one of its tasks."""
        item = next(self._source, _End(None))
        self._call(lambda: self._items.put_nowait(item))

    def _call(self, what: Callable[[], object]) -> None:
        # The loop is already closed where all work is done.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what)

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._loop.run_until_complete(self._task)
        except BaseException as raised:
            error = raised
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            self._results.put(_End(error))

    async def _work_all(self) -> None:
        async with self._session() as session:
            await gather(*(self._work(session) for _ in range(self._workers)))

    async def _work(self, session: Session) -> None:
        while not isinstance(item := await self._items.get(), _End):
            self._results.put(await self._answer(session, item))


def run_concurrently(
    items: Iterable[Item],
    session: Callable[[], AbstractAsyncContextManager[Session]],
    answer: Callable[[Session, Item], Awaitable[Result]],
    together: int,
) -> Iterator[Result]:
    """Process items concurrently and yield each result as soon as it is known.

    A bounded number of items is in progress or waiting to be fetched, however many there are in
    all. When the caller stops iterating, the event loop and its thread end too.

    Args:
        items: Taken in the thread that iterates, as there is room.
        session: Opens what all items share, for the length of the run.
        answer: Processes one item; an exception ends the run, after the results known already.
        together: Number of items processed at a time.
    """
    rest = iter(items)
    for first in rest:  # without any item, no thread and no connection is opened
        yield from _ConcurrentRun(chain([first], rest), session, answer, together).results()


async def gather(*work: Awaitable[Result]) -> list[Result]:
    """All results in order; where one raises, the others are cancelled first."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
