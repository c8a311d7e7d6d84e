"""Many calls at a time behind one plain iterator.

An event loop runs in a thread of its own and hands answers over a queue. Knows neither HTTP nor
requests. Only so many items are under way or waiting to be fetched, however many there are in all;
when whoever iterates stops, the loop and its thread end too.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from itertools import chain
from typing import Generic, TypeVar

Session = TypeVar("Session")
Item = TypeVar("Item")
Result = TypeVar("Result")


class _End:
    """Nothing more comes; `error` is why, where it was not the end of the work."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Pump(Generic[Session, Item, Result]):
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
            # Items are taken here and not in the loop's thread: they may be read from a database.
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
            self._tell(self._task.cancel)
            self._thread.join()

    def _feed(self) -> None:
        """Give the loop one more item; after the last one, a mark that ends one of its workers."""
        item = next(self._source, _End(None))
        self._tell(lambda: self._items.put_nowait(item))

    def _tell(self, what: Callable[[], object]) -> None:
        # The loop is closed already when the work ended by itself.
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
            await together(*(self._work(session) for _ in range(self._workers)))

    async def _work(self, session: Session) -> None:
        while not isinstance(item := await self._items.get(), _End):
            self._results.put(await self._answer(session, item))


def pumped(
    items: Iterable[Item],
    session: Callable[[], AbstractAsyncContextManager[Session]],
    answer: Callable[[Session, Item], Awaitable[Result]],
    together: int,
) -> Iterator[Result]:
    """Answer items, so many at a time, each given as soon as it is known.

    Args:
        items: What is to be answered; taken in the thread that iterates, as there is room.
        session: What all of them share, open as long as the work goes on.
        answer: One answer; what it raises ends all, after the answers that are known already.
        together: How many are worked on at a time.
    """
    rest = iter(items)
    for first in rest:  # without any, no thread and no connection
        yield from _Pump(chain([first], rest), session, answer, together).results()


async def together(*work: Awaitable[Result]) -> list[Result]:
    """All results in order; where one of them raises, the others are stopped first."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
