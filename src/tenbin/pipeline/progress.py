"""Progress of a run: the listener that is told about it, and a counter for loops over documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_REPORTED_EVERY = 500
"""Documents between two reports: a listener must not cost more than the work that it watches."""


class Listener:
    """Is told how a run goes on. Every method does nothing: override those that you need.

    All methods are called in the thread of the run, some of them once a request.
    """

    def message(self, text: str) -> None:
        """A notice for the user, one line."""

    def warning(self, text: str) -> None:
        """A notice that scores depend on, such as a task that is left out: a message by default."""
        self.message(text)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """A file is being downloaded: bytes so far, and in all where that is known."""

    def prepare(self, what: str, done: int, total: int, unit: str = "documents") -> None:
        """Work without the model, such as `making prompts`: documents or files done, of all."""

    def start(self, total: int, work: float) -> None:
        """The model is about to be asked.

        Args:
            total: Number of requests.
            work: Their estimated cost together; `advance` counts in the same unit.
        """

    def advance(self, work: float) -> None:
        """One more request was answered, of this estimated cost."""

    def finish(self) -> None:
        """The model has answered everything, or the run broke off."""


class ProgressCounter:
    """Counts documents as they pass and reports every few hundred."""

    def __init__(self, report: Callable[[str, int, int], None], what: str, total: int) -> None:
        """Start at zero.

        Args:
            report: Called with `what`, the documents done, and `total`: `Listener.prepare`.
            what: Name of the work, for the user.
            total: Documents in all.
        """
        self._report, self._what, self._total = report, what, total
        self._done = 0

    def through(self, items: Iterable[T]) -> Iterator[T]:
        """The items unchanged; each counts as done when the next one is asked for."""
        for item in items:
            yield item
            self.advance()

    def advance(self) -> None:
        """One more document is done."""
        self._done += 1
        if self._done % _REPORTED_EVERY == 0 or self._done == self._total:
            self._report(self._what, self._done, self._total)
