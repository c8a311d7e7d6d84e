"""Ask a backend everything a plan holds, through the journal, and check that all was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tenbin.backends.base import Backend, portions_of
from tenbin.errors import BackendError
from tenbin.journal.store import Journal
from tenbin.planning.plan import Plan
from tenbin.records import Request, Response, Roll, Score


class Listener(Protocol):
    """Told how a run goes on; the terminal draws it, tests ignore it."""

    def message(self, text: str) -> None:
        """Something worth a line."""
        ...

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """A file is being fetched: bytes so far, and in all where known."""
        ...

    def start(self, total: int, work: float) -> None:
        """This many requests will be asked, of this much work together."""
        ...

    def advance(self, work: float) -> None:
        """One more request was answered."""
        ...

    def finish(self) -> None:
        """All were answered, or the run broke off."""
        ...


@dataclass(frozen=True, slots=True)
class Answers:
    """Every answer by key, and how many of them were known before."""

    responses: Mapping[str, Response]
    from_journal: int
    known: frozenset[str] = frozenset()
    """Keys of those that the journal held."""

    def new(self) -> Iterator[Response]:
        """The answers that were asked for now."""
        return (answer for key, answer in self.responses.items() if key not in self.known)


Noted = Callable[[str, Response], None]
"""Told each answer with its key, known or new."""


def ask(
    plan: Plan,
    backend: Backend,
    journal: Journal | None,
    listener: Listener,
    noted: Noted | None = None,
) -> Answers:
    """Answer every request of the plan exactly once.

    Raises:
        BackendError: When the backend leaves a request out, doubles one or invents one.
    """
    known = journal.read(plan.requests) if journal is not None else {}
    if known:
        listener.message(
            f"{len(known):,} of {len(plan.requests):,} answers are in the journal already; "
            "going on from there"
        )
    open_requests = [r for key, r in plan.requests.items() if key not in known]
    responses = dict(known)
    if noted is not None:
        for key, response in known.items():
            noted(key, response)
    if open_requests:
        _ask_open(open_requests, backend, journal, listener, responses, noted)
    return Answers(responses, len(known), frozenset(known))


def _ask_open(
    requests: list[Request],
    backend: Backend,
    journal: Journal | None,
    listener: Listener,
    responses: dict[str, Response],
    noted: Noted | None,
) -> None:
    waiting = {request.key: work_of(request) for request in requests}
    listener.start(len(waiting), sum(waiting.values()))
    try:
        for portion in portions_of(backend, requests):
            _check(portion, waiting, responses)
            responses.update(portion)
            if journal is not None:
                journal.write(portion)
            for key, response in portion:
                if noted is not None:
                    noted(key, response)
                listener.advance(waiting.pop(key))
    finally:
        listener.finish()
    if waiting:
        raise BackendError(
            f"the backend left {len(waiting):,} of {len(requests):,} requests unanswered"
        )


def _check(
    portion: Sequence[tuple[str, Response]],
    waiting: Mapping[str, float],
    responses: Mapping[str, Response],
) -> None:
    """Refuse answers that nobody waits for."""
    seen: set[str] = set()
    for key, _ in portion:
        if key not in waiting or key in seen:
            fault = "twice" if key in responses or key in seen else "though nobody asked"
            raise BackendError(f"the backend answered request {key} {fault}")
        seen.add(key)


def work_of(request: Request) -> float:
    """A rough measure of a request's cost, so that the estimate of the time left is fair."""
    if isinstance(request, Score):
        return float(sum(len(request.prompt) + len(c) for c in request.continuations))
    if isinstance(request, Roll):
        return float(len(request.text))
    thought = min(request.thinking.budget, 512) if request.thinking else 0
    return float(len(request.prompt) + 20 * (min(request.max_gen_toks, 64) + thought))
