"""Portions and their tokens: the same whichever thread encodes them, one portion ahead at most."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tenbin.backends.hf import backend as hf_backend
from tenbin.backends.hf import portions as module
from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.portions import PortionReader, Tokens
from tenbin.backends.text.encoding import encode_prompts, encode_rolling, encode_scores
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.pipeline.requests import generate_request, roll_request, score_request
from tenbin.records import Failure, Generate, Request, Rolling, Score


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PORTION", 8)
    monkeypatch.setattr(module, "_PIECE", 2)


def requests(count: int = 30) -> list[Request]:
    found: list[Request] = []
    for at in range(count // 3):
        # Every fifth has no token to score: a failure among the others.
        found.append(score_request(f"a b c {at}", (" d", "" if at % 5 == 4 else " e f")))
        found.append(roll_request(f"The quick brown fox {at}"))
        found.append(generate_request(f"a b {at}", ("\n",), 4))
    return found


class Read(list[Request]):
    """Requests that remember how many were taken, and by which threads."""

    taken = 0
    threads: frozenset[str] = frozenset()

    def __iter__(self) -> Iterator[Request]:
        for one in super().__iter__():
            self.taken += 1
            self.threads |= {threading.current_thread().name}
            yield one


def test_tokens_ahead_are_those_of_plain_encoding(bos_tokenizer: Any) -> None:
    tokenizer = HfTokenizer(bos_tokenizer, 64)
    given = Read(requests())
    reader = PortionReader(given, frozenset(), tokenizer, "joint")
    seen: list[Request] = []
    for number, portion in enumerate(reader):
        assert given.taken <= (number + 1) * 8, "nothing is read before it is wanted"
        reader.encode_ahead()
        reader.encode_ahead()  # one portion ahead, however often it is asked for
        assert given.taken <= (number + 2) * 8
        assert reader._thread is not None
        reader._thread.join()
        for one in (portion, reader._next):
            ahead = (one.scores, one.rolling, one.texts) if one is not None else ()
            assert not any(tokens.advance() for tokens in ahead), "all of it is there"
        for tokens, kind in ((portion.scores, Score), (portion.rolling, Rolling)):
            assert all(isinstance(one, kind) for one in tokens.requests)
        expected = (
            list(encode_scores(tokenizer, "joint", portion.scores.requests)),
            list(encode_rolling(tokenizer, portion.rolling.requests)),
            list(encode_prompts(tokenizer, portion.texts.requests)),
        )
        found = (
            portion.scores.between(0, len(portion.scores.requests)),
            portion.rolling.between(0, len(portion.rolling.requests)),
            portion.texts.between(0, len(portion.texts.requests)),
        )
        assert found == expected
        seen += [*portion.scores.requests, *portion.rolling.requests, *portion.texts.requests]
    assert sorted(one.key for one in seen) == sorted(one.key for one in given)
    assert given.threads == {"MainThread"}, "a database is read by the thread that opened it"
    reader.stop()


def test_answers_are_the_same_with_and_without(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = HfBackend.from_model(*llama, encoding="joint")
    given = requests()
    expected = list(backend.run(given))
    assert any(isinstance(answer, Failure) for _, answer in expected)
    threads: set[str] = set()
    encode = module.encode_scores

    def noted(*arguments: Any) -> Iterable[Any]:
        threads.add(threading.current_thread().name)
        return encode(*arguments)

    monkeypatch.setattr(module, "encode_scores", noted)
    monkeypatch.setattr(HfBackend, "_encode_ahead", lambda self, reader: reader.encode_ahead())
    assert list(backend.run(given)) == expected, "to the last bit, in the same order"
    assert "tenbin-encode" in threads
    # Some were answered in an interrupted run: the same bits, and no more answers.
    known = frozenset(one.key for one in given[4:17:2])
    rest = [pair for pair in expected if pair[0] not in known]
    assert sorted(map(repr, backend.run(given, known))) == sorted(map(repr, rest))


def test_no_thread_takes_cores_from_a_model_on_a_cpu(llama: tuple[Any, Any]) -> None:
    backend = HfBackend.from_model(*llama)
    given = Read(requests())
    run = backend.run(given)
    next(run)
    assert given.taken == 8 and "tenbin-encode" not in {t.name for t in threading.enumerate()}
    run.close()
    assert hf_backend.input_device(backend._model).type == "cpu"


def test_an_error_in_the_thread_is_raised_in_its_place(bos_tokenizer: Any) -> None:
    tokenizer = HfTokenizer(bos_tokenizer, 64)
    encode = tokenizer.encode_prompts

    def failing(texts: Iterable[str]) -> Any:
        listed = list(texts)
        if any("7" in text for text in listed):
            raise MemoryError("no room")
        return encode(listed)

    tokenizer.encode_prompts = failing  # type: ignore[method-assign]
    given = [generate_request(f"a b {at}", (), 4) for at in range(12)]
    reader = PortionReader(given, frozenset(), tokenizer, "joint")
    with pytest.raises(MemoryError, match="no room"):
        for portion in reader:
            reader.encode_ahead()
            portion.texts.between(0, len(portion.texts.requests))
    reader.stop()
    assert reader._thread is None


def test_nothing_is_encoded_ahead_of_what_is_known(bos_tokenizer: Any) -> None:
    given = requests()
    tokenizer = HfTokenizer(bos_tokenizer, 64)
    known = frozenset(one.key for one in given)
    for portion in PortionReader(given, known, tokenizer, "joint"):
        portion.encode_until(lambda: False)
        assert portion.scores.advance() and not portion.is_scored and not portion.texts.requests


def test_two_threads_encode_each_piece_once() -> None:
    calls: list[list[str]] = []

    def encode(some: Any) -> list[Any]:
        calls.append([one.key for one in some])
        return [one.key for one in some]

    given = [generate_request(str(at), (), 4) for at in range(400)]
    tokens: Tokens[Generate, Any] = Tokens(given, encode)
    ahead = threading.Thread(target=lambda: [None for _ in iter(tokens.advance, False)])
    ahead.start()
    assert tokens.between(100, 110) == [one.key for one in given[100:110]]
    ahead.join()
    assert tokens.between(0, 400) == [one.key for one in given]
    assert sorted(key for call in calls for key in call) == sorted(one.key for one in given)
