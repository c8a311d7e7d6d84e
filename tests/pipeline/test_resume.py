"""A run that was broken off goes on in the batches that it began with, to the last bit."""

from __future__ import annotations

import random
from collections.abc import Collection, Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.base import NONE_KNOWN, BaseBackend, Capabilities
from tenbin.journal.answers import Answers
from tenbin.journal.rounds import KeySum
from tenbin.journal.store import Journal
from tenbin.pipeline.ask import ask
from tenbin.pipeline.progress import Listener
from tenbin.records import Failure, Request, Response, Rolled, Rolling, Score
from tests.backends.tiny import make_model, make_tokenizer
from tests.pipeline.test_ask import queue_of

SIZE = 4


class Batches(BaseBackend):
    """What it answers rests on all keys of a batch, as the last bits of a real model do."""

    fingerprint = "batches"
    capabilities = Capabilities(resumable=True)

    def __init__(self, stop_after: int = 10**9, fails: Collection[int] = ()) -> None:
        self.computed = 0
        self._stop_after, self._fails = stop_after, fails

    def describe(self) -> dict[str, Any]:
        return {"engine": {"name": "batches"}}

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        requests = list(requests)
        given = 0
        for at in range(0, len(requests), SIZE):
            batch = requests[at : at + SIZE]
            if all(request.key in known for request in batch):
                continue
            self.computed += len(batch)
            total = KeySum()
            total.add(request.key for request in batch)
            value = -(int(str(total)[-12:], 16) / 16**12)
            for place, request in enumerate(batch, start=at):
                if request.key in known:
                    continue
                if given == self._stop_after:
                    raise KeyboardInterrupt
                given += 1
                failed = Failure("test", "made to fail") if place in self._fails else None
                yield request.key, failed or Rolled(value, 1)


def answers_of(folder: Path, count: int, backend: Batches) -> dict[str, Response]:
    """Ask everything, and read all answers back."""
    queue = queue_of(count)
    answers = Answers(Journal(folder, "m"), backend.describe)
    keys = [one.key for one in queue.open()]
    try:
        ask(queue, backend, answers, Listener())
        return answers.find(keys)
    finally:
        answers.close()


@pytest.mark.parametrize("stops", [[0], [1], [4], [5, 3], [2, 2, 2, 2], [18], [7, 0, 11]])
def test_what_is_left_is_batched_as_it_was(tmp_path: Path, stops: list[int]) -> None:
    undisturbed = answers_of(tmp_path / "undisturbed", 19, Batches())
    for stop in stops:
        with pytest.raises(KeyboardInterrupt):
            answers_of(tmp_path, 19, Batches(stop))
    last = Batches()
    assert answers_of(tmp_path, 19, last) == undisturbed
    left = 19 - sum(stops)
    assert last.computed < left + SIZE, "batches that are known are not computed again"


def test_other_requests_are_another_round(tmp_path: Path) -> None:
    """A larger limit asks for the rest alone: nothing of what is known is computed again."""
    first = answers_of(tmp_path, 10, Batches())
    more = Batches()
    found = answers_of(tmp_path, 19, more)
    assert more.computed == 9
    assert {key: found[key] for key in first} == first


def test_what_failed_is_asked_again_in_its_batch(tmp_path: Path) -> None:
    undisturbed = answers_of(tmp_path / "undisturbed", 19, Batches())
    answers_of(tmp_path, 19, Batches(fails=(6, 17)))
    again = Batches()
    assert answers_of(tmp_path, 19, again) == undisturbed
    assert again.computed == SIZE + 3


def test_a_result_says_nothing_of_rounds(tmp_path: Path) -> None:
    queue, answers = queue_of(5), Answers(Journal(tmp_path, "m"), Batches().describe)
    ask(queue, Batches(), answers, Listener())
    (given,) = answers.given_by(Batches().describe())
    assert given.description == Batches().describe()
    answers.close()


def test_a_checksum_depends_on_keys_alone() -> None:
    keys = [f"key {at}" for at in range(50)]
    one, other, parts = KeySum(), KeySum(), (KeySum(), KeySum())
    one.add(keys)
    other.add(reversed(keys))
    parts[0].add(keys[:20])
    parts[1].add(keys[20:])
    assert str(one) == str(other) == str(parts[0].joined([parts[1]]))
    other.add(["one more"])
    assert str(one) != str(other)


WORDS = ("東京", "駅", "the lazy dog", " a b", "散歩しましょう。")
REQUESTS: list[Request] = [
    *(
        Score(f"s{at}", "The answer is" + " a" * (at % 7) + WORDS[at % 5], WORDS[: 2 + at % 3])
        for at in range(30)
    ),
    *(Rolling(f"r{at}", WORDS[at % 5] * (at + 1)) for at in range(8)),
]


@pytest.mark.parametrize("engine", ["plain", "cache", "rows", "tree"])
def test_a_model_gives_the_same_bits_for_any_rest(engine: str) -> None:
    from tenbin.backends.hf.backend import HfBackend

    tokenizer = make_tokenizer(add_bos=True)
    model = make_model("llama", len(tokenizer))
    backend = HfBackend.from_model(
        model, tokenizer, engine=engine, batch_size=4 if engine == "plain" else "auto"
    )
    list(backend.run(REQUESTS[:1]))
    assert backend._engine is not None
    backend._engine.budget = 96  # several batches
    undisturbed = dict(backend.run(REQUESTS))
    generator = random.Random(7)
    for count in (1, 15, 30, len(REQUESTS) - 1):
        known = {request.key for request in generator.sample(REQUESTS, count)}
        rest = dict(backend.run(REQUESTS, known))
        assert rest == {key: one for key, one in undisturbed.items() if key not in known}
    assert dict(backend.run(REQUESTS, set(undisturbed))) == {}
