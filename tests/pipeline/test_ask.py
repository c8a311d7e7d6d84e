"""Every request is answered exactly once, and whoever breaks that is named."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.base import NONE_KNOWN, AnswerGroups, BaseBackend, Capabilities
from tenbin.errors import BackendError
from tenbin.journal.answers import Answers
from tenbin.journal.store import Journal
from tenbin.pipeline.ask import ask
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.requests import RequestQueue
from tenbin.records import Failure, Request, Response, Rolled
from tests.metrics.samples import CELL, make_prompt


def queue_of(count: int) -> RequestQueue:
    plan = Plan()
    texts = [f"text {at * 37 % count}" for at in range(count)]
    prompts = [make_prompt(kind="perplexity", text=text, document=text) for text in texts]
    plan.add(CELL, prompts, unconditional=False)
    return plan.queue


def answer(request: Request) -> tuple[str, Response]:
    return request.key, Rolled(-float(len(request.key)), 1)


@dataclass
class Portions(BaseBackend):
    """Answers four at a time, and remembers how far it had read when each was taken."""

    capabilities = Capabilities(request_order="prefix")
    seen: list[Request] = field(default_factory=list)
    read_when_taken: list[int] = field(default_factory=list)

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        portion = []
        for request in requests:
            self.seen.append(request)
            portion.append(answer(request))
            if len(portion) == 4:
                yield from portion
                self.read_when_taken.append(len(self.seen))
                portion = []
        yield from portion


@dataclass
class Grouped(BaseBackend):
    """Gives groups of answers as the test says, and fails behind the last where it is told to."""

    change: Any = list
    error: Exception | None = None

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        return AnswerGroups(self._groups(requests))

    def _groups(self, requests: Iterable[Request]) -> Iterator[list[tuple[str, Response]]]:
        answered = [answer(request) for request in requests]
        yield from self.change([answered[at : at + 4] for at in range(0, len(answered), 4)])
        if self.error is not None:
            raise self.error


@dataclass
class Single(BaseBackend):
    """Answers as the test says."""

    change: Any

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        yield from self.change([answer(request) for request in requests])


class Progress(Listener):
    """Adds up what it is told."""

    def __init__(self) -> None:
        self.total = self.work = self.count = self.done = 0.0
        self.finished = 0

    def start(self, total: int, work: float) -> None:
        self.total, self.work = total, work

    def advance(self, work: float) -> None:
        self.count += 1
        self.done += work

    def finish(self) -> None:
        self.finished += 1


class Observes:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.from_before: list[int] = []
        self.pairs: list[tuple[str, Response]] = []

    def known(self, count: int) -> None:
        assert not self.pairs
        self.from_before.append(count)

    def answered(self, key: str, response: Response) -> None:
        self.pairs.append((key, response))


def test_portions_are_read_as_they_are_needed_in_the_order_of_places() -> None:
    queue, backend, progress = queue_of(50), Portions(), Progress()
    answers = Answers(None)
    observer = Observes()
    ask(queue, backend, answers, progress, observer)
    noted = [key for key, _ in observer.pairs]
    assert backend.seen == sorted(backend.seen, key=lambda request: request.place)
    assert backend.read_when_taken == list(range(4, 50, 4))
    assert noted == [request.key for request in backend.seen]
    assert answers.read(noted) == dict(map(answer, backend.seen))
    assert (progress.total, progress.count, progress.finished) == (50, 50, 1)
    assert progress.done == progress.work > 0


def test_what_the_journal_knows_is_not_asked(tmp_path: Path) -> None:
    first = Portions()
    ask(queue_of(20), first, Answers(Journal(tmp_path, "m")), Listener())
    second, observer = Portions(), Observes()
    spent = ask(
        queue_of(30),
        second,
        Answers(Journal(tmp_path, "m")),
        Listener(),
        observer,
    )
    assert spent.from_journal == 20 and spent.not_counted == 10
    assert not {r.key for r in first.seen} & {r.key for r in second.seen}
    assert observer.from_before == [20]
    assert [key for key, _ in observer.pairs] == [request.key for request in second.seen]


def test_a_failure_is_an_answer_and_asked_again_next_time(tmp_path: Path) -> None:
    def fails(pairs: list[Any]) -> list[Any]:
        return [(pairs[0][0], Failure("x", "y")), *pairs[1:]]

    ask(queue_of(3), Single(fails), Answers(Journal(tmp_path, "m")), Listener())
    spent = ask(queue_of(3), Single(list), Answers(Journal(tmp_path, "m")), Listener())
    assert spent.from_journal == 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_what_is_not_finite_is_a_failure_and_not_kept(tmp_path: Path, value: Any) -> None:
    def overflows(pairs: list[Any]) -> list[Any]:
        return [(pairs[0][0], Rolled(value, 1)), *pairs[1:]]

    answers, observer = Answers(Journal(tmp_path, "m")), Observes()
    ask(queue_of(3), Single(overflows), answers, Listener(), observer)
    noted = observer.pairs
    kinds = [found.kind for _, found in noted if isinstance(found, Failure)]
    assert kinds == ["not_finite"]
    assert answers.read([key for key, _ in noted]) == dict(noted)
    spent = ask(queue_of(3), Single(list), Answers(Journal(tmp_path, "m")), Listener())
    assert spent.from_journal == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda pairs: pairs[:-2], "left 2 of 5 requests unanswered"),
        (lambda pairs: [*pairs, pairs[1]], "answered request .* twice"),
        (lambda pairs: [*pairs, ("made-up", Rolled(0.0, 1))], "made-up though nobody asked"),
    ],
)
def test_a_backend_that_miscounts_is_refused(change: Any, said: str) -> None:
    progress = Progress()
    with pytest.raises(BackendError, match=said):
        ask(queue_of(5), Single(change), Answers(None), progress)
    assert progress.finished == 1


def test_a_group_is_one_transaction_and_told_when_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    write = Journal.write

    def counted(self: Journal, group: Any, source: int = 0) -> Any:
        sizes.append(len(group))
        return write(self, group, source)

    monkeypatch.setattr(Journal, "write", counted)
    answers, progress = Answers(Journal(tmp_path, "m")), Progress()

    class Reads(Observes):
        def answered(self, key: str, response: Response) -> None:
            assert answers.read([key]) == {key: response}
            super().answered(key, response)

    observer = Reads()
    ask(queue_of(10), Grouped(), answers, progress, observer)
    assert sizes == [4, 4, 2]
    assert len(observer.pairs) == progress.count == 10 and progress.done == progress.work


def test_groups_before_an_error_are_kept_whole(tmp_path: Path) -> None:
    broken = Grouped(lambda groups: groups[:2], BackendError("gone"))
    with pytest.raises(BackendError, match="gone"):
        ask(queue_of(10), broken, Answers(Journal(tmp_path, "m")), Listener())
    spent = ask(queue_of(10), Grouped(), Answers(Journal(tmp_path, "m")), Listener())
    assert (spent.from_journal, spent.not_counted) == (8, 2)


@pytest.mark.parametrize(
    ("change", "said", "kept"),
    [
        (lambda groups: [[*groups[0], groups[0][1]]], "answered request .* twice", 0),
        (lambda groups: [groups[0], groups[1] + groups[0][:1]], "answered request .* twice", 4),
        (lambda groups: [[*groups[0], ("made-up", Rolled(0.0, 1))]], "made-up though nobody", 0),
    ],
)
def test_nothing_of_a_group_that_miscounts_is_kept(
    tmp_path: Path, change: Any, said: str, kept: int
) -> None:
    answers, observer = Answers(Journal(tmp_path, "m")), Observes()
    with pytest.raises(BackendError, match=said):
        ask(queue_of(8), Grouped(change), answers, Listener(), observer)
    assert len(observer.pairs) == kept
    rerun = ask(queue_of(8), Grouped(), Answers(Journal(tmp_path, "m")), Listener())
    assert rerun.from_journal == kept
