"""Progress of a run: the listener that receives it, and a counter for loops over documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tenbin.records import Cell

if TYPE_CHECKING:
    from tenbin.config import RunConfig
    from tenbin.pipeline.finish import CompletedRun

T = TypeVar("T")

_REPORTED_EVERY = 500
"""Documents between two reports: a listener must not cost more than the work that it watches."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is known of a run before anything is asked."""

    run_id: str
    """As result.json will have it."""
    model: str
    """What the user calls it."""
    fingerprint: str
    """Of the model."""
    config: RunConfig
    cells: tuple[Cell, ...]


class Listener:
    """Receives the progress of a run. Every method does nothing: override those that you need.

    All methods are called in the thread of the run, some of them once a request.
    """

    watches_scores: ClassVar[bool] = False
    """Whether `begin` and `partial` are called: to compute their arguments costs time."""

    def begin(self, start: RunStart) -> None:
        """Tasks, data and model are known, and requests are about to be planned."""

    def partial(self, document: Mapping[str, Any]) -> None:
        """How far the run is, with partial scores, as progress.json has it; every few seconds."""

    def complete(self, run: CompletedRun) -> None:
        """The run is over, and its files are written."""

    def abort(self, error: BaseException) -> None:
        """The run ends without a result, after `begin`; what was answered is saved."""

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


class Relay(Listener):
    """Passes everything on to another listener."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def begin(self, start: RunStart) -> None:
        """Tasks, data and model are known."""
        if self._listener.watches_scores:
            self._listener.begin(start)

    def partial(self, document: Mapping[str, Any]) -> None:
        """How far the run is."""
        if self._listener.watches_scores:
            self._listener.partial(document)

    def complete(self, run: CompletedRun) -> None:
        """The run is over."""
        self._listener.complete(run)

    def abort(self, error: BaseException) -> None:
        """The run ends without a result."""
        self._listener.abort(error)

    def message(self, text: str) -> None:
        """A notice for the user."""
        self._listener.message(text)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """A file is being downloaded."""
        self._listener.transfer(name, done, total)

    def prepare(self, what: str, done: int, total: int, unit: str = "documents") -> None:
        """Work without the model."""
        self._listener.prepare(what, done, total, unit)

    def start(self, total: int, work: float) -> None:
        """The model is about to be asked."""
        self._listener.start(total, work)

    def advance(self, work: float) -> None:
        """One more request was answered."""
        self._listener.advance(work)

    def finish(self) -> None:
        """The model has answered everything."""
        self._listener.finish()


class FirstPart(Relay):
    """Passes on the work of a part that comes before the run proper, which has scores of its own.

    Its beginning and its end are not those of the run.
    """

    def begin(self, start: RunStart) -> None:
        """Not passed on."""

    def partial(self, document: Mapping[str, Any]) -> None:
        """Not passed on."""

    def complete(self, run: CompletedRun) -> None:
        """Not passed on."""

    def abort(self, error: BaseException) -> None:
        """Not passed on."""


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
