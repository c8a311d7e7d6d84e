"""Every way of batching gives what one row at a time gives."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.model import forward as forward_module
from tenbin.records import Failure, Rolled, Rolling, Score, Scores
from tests.backends.reference import plain_score

LONG = "The quick brown fox jumps over the lazy dog. 日本の首都は東京です。" * 3
REQUESTS = [
    Score("ragged", "質問：電車に乗る場所はどこですか？\n回答：", ("駅", "海です", "the lazy dog")),
    Score("nested", "The answer is", (" a", " a b", " a b c")),
    Score("one token", "a", (" b", " c")),
    Score("empty", "", ("The answer", "東京")),
    Score("space", "The answer is ", ("a", "blue")),
    Score("newline", "回答：\n", ("駅", "海")),
    Score("again", "The answer is", (" a b", " a")),
    Score("long", LONG, (" is", "です。")),
]


def check(model: Any, tokenizer: Any, backend: HfBackend, requests: list[Score]) -> None:
    answers = dict(backend.run(requests))
    assert set(answers) == {request.key for request in requests}
    for request in requests:
        answer = answers[request.key]
        assert isinstance(answer, Scores), answer
        for at, text in enumerate(request.continuations):
            expected = plain_score(model, tokenizer, request.prompt, text, 64)
            assert answer.logprobs[at] == pytest.approx(expected[0], abs=1e-4)
            assert answer.greedy[at] == expected[1]
            assert answer.token_counts[at] == expected[2]
        assert (answer.truncated > 0) == (request.key == "long")


@pytest.mark.parametrize("batch_size", [1, 3, "auto"])
def test_rows_equal_single_forwards(tiny: tuple[Any, Any], batch_size: Any) -> None:
    model, tokenizer = tiny
    backend = HfBackend.from_model(model, tokenizer, batch_size=batch_size, max_length=64)
    check(model, tokenizer, backend, REQUESTS)


def test_greedy_is_seen(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    backend = HfBackend.from_model(model, tokenizer, encoding="separate", max_length=64)
    ids = list(backend.tokenizer.encode_prompts(["The answer is"])["The answer is"])
    decoded = {tokenizer.decode([token]): token for token in range(4, len(tokenizer))}
    again = backend.tokenizer.encode_answers(decoded)
    texts = {text: token for text, token in decoded.items() if again[text] == (token,)}
    with torch.no_grad():
        scores = model(torch.tensor([ids])).logits[0, -1]
    best = max(texts, key=lambda text: float(scores[texts[text]]))
    (answer,) = dict(backend.run([Score("k", "The answer is", (best,))])).values()
    assert isinstance(answer, Scores)
    assert answer.greedy == (int(scores.argmax()) == texts[best],)


def test_memory_that_ends_loses_nothing(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer, max_length=64)
    honest = forward_module.Forward._values

    def cramped(self: Any, rows: Any, targets: Any) -> Any:
        if len(rows) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return honest(self, rows, targets)

    monkeypatch.setattr(forward_module.Forward, "_values", cramped)
    check(model, tokenizer, backend, REQUESTS)


def test_a_row_that_never_fits_is_a_failure(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = llama

    def full(self: Any, rows: Any, targets: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(forward_module.Forward, "_values", full)
    backend = HfBackend.from_model(model, tokenizer, max_length=64, engine="plain")
    answers = dict(backend.run(REQUESTS))
    assert len(answers) == len(REQUESTS)
    assert all(isinstance(answer, Failure) and answer.retryable for answer in answers.values())


@pytest.mark.parametrize("text", ["東京", LONG, LONG + LONG])
def test_rolling_predicts_every_token_once(tiny: tuple[Any, Any], text: str) -> None:
    model, tokenizer = tiny
    window = 24
    backend = HfBackend.from_model(model, tokenizer, max_length=window)
    (answer,) = dict(backend.run([Rolling("k", text)])).values()
    assert isinstance(answer, Rolled)
    # With the BOS of a tokenizer that adds one: lm-eval predicts it after the start token.
    ids = tokenizer(text)["input_ids"]
    assert answer.token_count == len(ids)
    expected, done = 0.0, 0
    while done < len(ids):
        new = min(window, len(ids) - done)
        done += new
        row = [1, *ids[:done]] if done == new else ids[done - window - 1 : done]
        with torch.no_grad():
            logits = model(torch.tensor([row[:-1]])).logits[0].float().log_softmax(-1)
        expected += float(logits[-new:].gather(1, torch.tensor(row[-new:])[:, None]).sum())
    assert answer.logprob == pytest.approx(expected, abs=1e-4, rel=1e-6)


def test_answers_come_before_the_end(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer, batch_size=1, max_length=64, engine="plain")
    requests = [Score(str(at), "a " * at, (" b", " c")) for at in range(1, 6)]
    first, _ = next(iter(backend.run(requests)))
    assert first == "5"


ASKED = st.lists(
    st.tuples(
        st.sampled_from(
            ["", "a", "The answer is", "The answer is a b", "a b c d ", LONG, LONG[9:]]
        ),
        st.lists(st.sampled_from([" a", " a b", " a b c", " b", "です。"]), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=7,
)


@pytest.mark.parametrize("engine", ["tree", "rows", "cache", "plain"])
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=ASKED, budget=st.integers(1, 200))
def test_any_requests_in_any_order(
    llama: tuple[Any, Any], engine: str, asked: list[tuple[str, list[str]]], budget: int
) -> None:
    """Equal requests, nested answers, contexts that are empty, of one token, or cut."""
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer, max_length=16, engine=engine)
    requests = [
        Score(str(number), prompt, tuple(texts)) for number, (prompt, texts) in enumerate(asked)
    ]
    backend._scoring_engine().budget = budget
    answers = list(backend.run(requests))
    assert sorted(key for key, _ in answers) == sorted(request.key for request in requests)
    for key, answer in answers:
        request = requests[int(key)]
        assert isinstance(answer, Scores), answer
        for at, text in enumerate(request.continuations):
            expected = plain_score(model, tokenizer, request.prompt, text, 16)
            assert answer.logprobs[at] == pytest.approx(expected[0], abs=1e-4)
            assert (answer.greedy[at], answer.token_counts[at]) == expected[1:]
