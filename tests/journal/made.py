"""A journal with real answers in it, and a model that gives the same ones again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tenbin.backends.base import Capabilities
from tenbin.journal.answers import Answers
from tenbin.journal.store import Journal
from tenbin.pipeline.ask import ask
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.requests import RequestQueue
from tenbin.records import Request, Response, Rolled, Scores, Text
from tenbin.records.model_info import Given
from tests.pipeline.test_ask import queue_of

FINGERPRINT = "a-model"
DESCRIPTION = {"engine": {"name": "made", "mode": "tests"}, "parameters": 12}
KINDS = 3
COUNT = 40


class Model:
    """Answers by the key alone, in several kinds, some of which fill many pages."""

    capabilities = Capabilities()

    def __init__(self) -> None:
        self.asked = 0

    def run(self, requests: Sequence[Request]) -> Iterator[tuple[str, Response]]:
        for request in requests:
            self.asked += 1
            yield request.key, answer_to(request.key)


def answer_to(key: str) -> Response:
    number = int(key[:8], 16)
    if number % KINDS == 0:
        return Scores((-number / 7, -1.5), (2, number % 50), (False, True))
    if number % KINDS == 1:
        long = number % 5 == 0
        return Text("長い答え" * (800 if long else 5), "length" if long else "stop", number % 99)
    return Rolled(-number / 3, number % 1000)


class Told(Listener):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def message(self, text: str) -> None:
        self.said.append(text)


def make_queue() -> RequestQueue:
    return queue_of(COUNT)


def answer_all(folder: Path, told: Told | None = None) -> tuple[dict[str, Response], Model]:
    """A run on the journal in a folder: all its answers, as judging would read them."""
    answers, model, _ = run_on(folder, told)
    return answers, model


def run_on(
    folder: Path, told: Told | None = None, description: dict[str, Any] | None = None
) -> tuple[dict[str, Response], Model, list[Given]]:
    """The same, with what is known of who gave the answers."""
    listener, model, queue = told or Told(), Model(), make_queue()
    described = description or DESCRIPTION
    answers = Answers(Journal(folder, FINGERPRINT, listener.message), lambda: described)
    keys = [one.key for one in queue.open()]
    try:
        ask(queue, model, answers, listener)  # type: ignore[arg-type]
        given = answers.given_by(described)
        return answers.read(keys), model, given
    finally:
        answers.close()


def journal_file(folder: Path) -> Path:
    """The one journal of a folder."""
    (path,) = folder.glob("*.sqlite")
    return path
