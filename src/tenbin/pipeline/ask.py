"""Ask a backend everything a plan holds, through the journal, and check that all was answered."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Protocol

from tenbin.backends.base import AnswerGroups, Backend
from tenbin.backends.finite import finite_only
from tenbin.errors import BackendError
from tenbin.journal.answers import Answers
from tenbin.journal.rounds import Rounds
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.requests import RequestQueue
from tenbin.pipeline.usage import TokenUsage
from tenbin.records import Response
from tenbin.timing import stage

_LOG = logging.getLogger("tenbin.journal")
_SETTLED_AT_ONCE = 20_000
"""Known requests, in the order of their keys: in that of their numbers they are quicker settled."""


class AnswerObserver(Protocol):
    """Called with the answers, once they are kept."""

    def known(self, count: int) -> None:
        """So many more are there from earlier runs; called before any new one arrives."""
        ...

    def answered(self, key: str, response: Response) -> None:
        """A new answer, which is settled and kept already."""
        ...


def ask(
    queue: RequestQueue,
    backend: Backend,
    answers: Answers,
    listener: Listener,
    observer: AnswerObserver | None = None,
    usage: TokenUsage | None = None,
) -> TokenUsage:
    """Answer every request that is open exactly once.

    A run that asks its documents in blocks calls this once a block: each is a round of its own.

    Args:
        queue: The requests.
        backend: The model.
        answers: Where answers are kept.
        listener: Receives the progress.
        observer: Called with each answer, after it is kept.
        usage: Counts up as answers arrive; a new one where none is given.

    Returns:
        What the answers cost.

    Raises:
        BackendError: When the backend leaves a request out, doubles one or invents one.
    """
    usage = usage if usage is not None else TokenUsage()
    rounds = Rounds() if backend.capabilities.resumable else None
    asked, _ = queue.left()
    known = _settle_known(queue, answers, rounds)
    usage.from_journal += known
    _LOG.debug("journal: %s knows %d of %d answers", answers.place, known, asked)
    if observer is not None:
        observer.known(known)
    if answers.damaged:
        listener.warning(
            f"{answers.damaged:,} answers in {answers.place} are damaged: they are asked again"
        )
    if known and known == usage.from_journal:
        # Of several blocks the first that finds any says so.
        listener.message(
            f"{known:,} of {asked:,} answers are in the journal already; going on from there"
        )
    count, work = queue.left()
    if count:
        listener.start(count, work)
        try:
            with stage("model"):
                for group in _groups(_answers(queue, backend, answers, rounds)):
                    _take(group, queue, answers, usage, listener, observer)
        finally:
            listener.finish()
    left, _ = queue.left()
    if left:
        raise BackendError(f"the backend left {left:,} of {count:,} requests unanswered")
    return usage


@stage("journal")
def _settle_known(queue: RequestQueue, answers: Answers, rounds: Rounds | None) -> int:
    """Look all requests up in the journal; how many of them it knows."""
    count = 0
    settled: list[int] = []
    for numbers in queue.numbered_keys():
        known = answers.known(list(numbers))
        if rounds is not None:
            rounds.note(numbers, known)
        settled += (numbers[key] for key in known)
        if len(settled) >= _SETTLED_AT_ONCE:
            queue.settle_numbers(settled)
            count += len(settled)
            settled = []
    queue.settle_numbers(settled)
    return count + len(settled)


def _answers(
    queue: RequestQueue, backend: Backend, answers: Answers, rounds: Rounds | None
) -> Iterator[tuple[str, Response]]:
    """Run the backend on what is open.

    A backend that resumes is given the whole of a round that was interrupted, with the keys of
    those requests whose answers are known.
    """
    by_prefix = backend.capabilities.request_order == "prefix"
    if rounds is None:
        return backend.run(queue.open(by_prefix=by_prefix))
    name, numbers = answers.broken_off(rounds)
    answers.begin_round(name)
    requests = queue.open(numbers, by_prefix)
    return backend.run(requests, queue.known if numbers else frozenset())


def _groups(
    found: Iterator[tuple[str, Response]],
) -> Iterator[Sequence[tuple[str, Response]]]:
    """Answers that are kept together: one at a time where the backend says nothing else.

    Never more than the backend gave at once: the next answer may take minutes, and one that is not
    in the journal by then is lost if the process is killed.
    """
    return found.groups if isinstance(found, AnswerGroups) else ((one,) for one in found)


@stage("journal")
def _take(
    group: Sequence[tuple[str, Response]],
    queue: RequestQueue,
    answers: Answers,
    usage: TokenUsage,
    listener: Listener,
    observer: AnswerObserver | None,
) -> None:
    keys = [key for key, _ in group]
    work = queue.settle(keys)
    if len(work) < len(keys):
        key = next(key for at, key in enumerate(keys) if key not in work or key in keys[:at])
        fault = "twice" if key in queue else "though nobody asked"
        raise BackendError(f"the backend answered request {key} {fault}")
    # Our own backends check this themselves; those of other packages may not.
    group = [(key, finite_only(response)) for key, response in group]
    answers.write(group)
    with stage("judging"):
        for key, response in group:
            usage.add(response)
            listener.advance(work[key])
            if observer is not None:
                observer.answered(key, response)
