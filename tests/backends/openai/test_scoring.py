"""Likelihoods over completions equal those of the hf engine, or are refused before any document."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.openai.prompt_tokens import NotShownError, PromptToken, scored_tokens
from tenbin.errors import BackendError
from tenbin.records import Failure, Rolled, Rolling, Score, Scores, Usage
from tests.backends.openai.misbehaving import Answer, completion, misbehaving, opened
from tests.backends.openai.scoring_server import ScoringServer
from tests.backends.reference import plain_score

VLLM = {"data": [{"id": "made-up", "owned_by": "vllm"}]}
REQUESTS = [
    Score("a", "The answer is", (" a b", " blue.", " the lazy dog")),
    Score("b", "日本の首都は", ("東京です。", "駅", "海 ")),
    Score("c", "質問：駅？\n回答： ", ("山", "A")),
    Score("d", "", ("blue", "駅")),
    Score("e", "The quick brown fox " * 14, (" jumps", " over the lazy dog")),
]
ENGLISH = [REQUESTS[0], Score("f", "The quick brown", (" fox jumps", " dog")), REQUESTS[3]]


@pytest.fixture(scope="module")
def expected(llama: tuple[Any, Any]) -> dict[str, Any]:
    # Two tokens less than the server's window: see `scoring`.
    backend = HfBackend.from_model(*llama, max_length=62)
    return dict(backend.run([*REQUESTS, *ENGLISH, Rolling("r", "The quick brown fox " * 24)]))


def assert_equal(found: Any, wanted: Any) -> None:
    assert isinstance(found, Scores), found
    assert found.logprobs == pytest.approx(wanted.logprobs, abs=1e-4)
    assert (found.token_counts, found.greedy) == (wanted.token_counts, wanted.greedy)
    assert found.truncated == wanted.truncated


@pytest.mark.parametrize("way", ["echo", "prompt_logprobs"])
def test_tokens_give_the_numbers_of_the_engine(
    llama: tuple[Any, Any], llama_folder: Path, expected: dict[str, Any], way: str
) -> None:
    weigher = ScoringServer(*llama, echo=way == "echo")
    with misbehaving(weigher) as server:
        backend = opened(server, tokenizer=str(llama_folder), max_length=64)
        found = dict(backend.run(REQUESTS))
    assert expected["e"].truncated > 0
    for request in REQUESTS:
        assert_equal(found[request.key], expected[request.key])
    assert backend.describe()["engine"]["scoring"] == (
        f"prompt log-probabilities by {way}, border by tokens"
    )
    assert isinstance(found["a"], Scores)
    assert found["a"].usage is not None
    assert found["a"].usage.calls == 3
    # A way that turns out not to be there is paid for too: the ScoringServer ignores `echo` then.
    assert backend.describe()["probe_usage"]["calls"] == (3 if way == "echo" else 6)


@pytest.mark.parametrize("models", [None, VLLM], ids=["echo", "prompt_logprobs"])
def test_without_a_tokenizer_the_border_is_found_in_the_text(
    llama: tuple[Any, Any], models: Any
) -> None:
    model, tokenizer = llama
    with misbehaving(ScoringServer(model, tokenizer), models) as server:
        backend = opened(server)
        found = dict(backend.run([*ENGLISH, REQUESTS[1]]))
    for request in ENGLISH[:2]:
        scores = found[request.key]
        assert isinstance(scores, Scores), scores
        for at, text in enumerate(request.continuations):
            value, is_greedy, count = plain_score(model, tokenizer, request.prompt, text, 64)
            assert scores.logprobs[at] == pytest.approx(value, abs=1e-4)
            assert (scores.greedy[at], scores.token_counts[at]) == (is_greedy, count)
    # Characters of three bytes in three tokens: no text shows where they begin.
    for key, remedy in (("b", "tokenizer=PATH"), ("d", "tokenizer=PATH")):
        failed = found[key]
        assert isinstance(failed, Failure)
        assert remedy in failed.message


def test_whole_texts_in_windows(
    llama: tuple[Any, Any], llama_folder: Path, expected: dict[str, Any]
) -> None:
    with misbehaving(ScoringServer(*llama)) as server:
        backend = opened(server, tokenizer=str(llama_folder), max_length=64)
        found = dict(backend.run([Rolling("r", "The quick brown fox " * 24)]))["r"]
        assert len(server.calls) > 4
        (without,) = dict(opened(server).run([Rolling("r", "The quick")])).values()
    assert isinstance(found, Rolled)
    assert found.logprob == pytest.approx(expected["r"].logprob, abs=1e-3)
    assert found.token_count == expected["r"].token_count
    assert isinstance(without, Failure)
    assert "tokenizer=PATH" in without.message


def test_a_server_that_ignores_both_ways_is_refused_before_any_document(
    llama: tuple[Any, Any],
) -> None:
    with misbehaving(ScoringServer(*llama, echo=False, listed=False)) as server:
        with pytest.raises(BackendError, match="shows no log-probabilities of prompts") as raised:
            list(opened(server).run(REQUESTS))
        assert {call["prompt"][:14] for call in server.calls} == {"The capital of"}
    assert "echo was accepted and ignored" in str(raised.value)
    assert "prompt_logprobs was accepted and ignored" in str(raised.value)
    for remedy in ("openai-chat", "choices=letters", "generation tasks", "--model hf"):
        assert remedy in raised.value.hint


@pytest.mark.parametrize("way", ["echo", "prompt_logprobs"])
def test_fewer_log_probabilities_than_tokens_are_noticed(
    llama: tuple[Any, Any], llama_folder: Path, way: str
) -> None:
    weigher = ScoringServer(*llama, echo=way == "echo")
    with misbehaving(weigher) as server:
        backend = opened(server, tokenizer=str(llama_folder), max_length=64)
        assert isinstance(dict(backend.run(REQUESTS[:1]))["a"], Scores)
        weigher.lose = 3
        failed = dict(backend.run(REQUESTS[:1]))["a"]
    assert isinstance(failed, Failure)
    assert failed.kind == "not_shown"
    assert "log-probabilities came for" in failed.message


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None, 0.0, 0.0, 0.0], "not likelihoods"),
        ([None, -1.0, 0.5, -1.0], "is not a log-probability"),
        ([None, -1.0, None, -1.0], "gives null as a log-probability"),
        ([None, -1.0, math.nan, -1.0], "gives nan as a log-probability"),
        ([None, -1.0, -math.inf, -1.0], "gives -inf as a log-probability"),
        ([None, -1.0, math.inf, -1.0], "gives inf as a log-probability"),
        ([None, -1.0, -(10**400), -1.0], "gives -inf as a log-probability"),
    ],
)
def test_numbers_that_cannot_be_likelihoods_are_refused(values: list[Any], reason: str) -> None:
    def script(before: int, body: Any) -> Answer:
        tops = [None, *({"x": value} for value in values[1:])]
        shown = {"tokens": ["The capital of", " France is", body["prompt"][24:], "x"],
                 "token_logprobs": values, "top_logprobs": tops}  # fmt: skip
        answer = completion("x", logprobs=shown)
        answer["usage"]["prompt_tokens"] = 3
        return Answer(answer)

    with misbehaving(script) as server, pytest.raises(BackendError) as raised:
        list(opened(server).run(REQUESTS))
    assert reason in str(raised.value)


def test_a_document_beyond_the_window_fails_alone(llama: tuple[Any, Any]) -> None:
    with misbehaving(ScoringServer(*llama)) as server:
        found = dict(opened(server).run([ENGLISH[0], REQUESTS[4]]))
    assert isinstance(found["a"], Scores)
    failed = found["e"]
    assert isinstance(failed, Failure)
    assert failed.kind == "context_overflow"


def test_generation_sends_the_tokens_of_the_engine(
    llama: tuple[Any, Any], llama_folder: Path
) -> None:
    from tenbin.records import Generate, Text

    model, tokenizer = llama
    with misbehaving(ScoringServer(model, tokenizer)) as server:
        backend = opened(server, tokenizer=str(llama_folder), max_length=64)
        found = dict(backend.run([Generate("g", "The answer", (), 1)]))["g"]
        assert server.calls[0]["prompt"] == tokenizer("The answer")["input_ids"]
    assert isinstance(found, Text)
    assert found.usage == Usage(len(tokenizer("The answer")["input_ids"]), 1)


def test_where_a_border_lies_by_hand() -> None:
    tokens = [PromptToken(text, None if at == 0 else -1.0, False)
              for at, text in enumerate(["ab", "c ", "d", "ef"])]  # fmt: skip
    assert [token.text for token in scored_tokens(tokens, "abc def", 4)] == ["d", "ef"]
    assert [token.text for token in scored_tokens(tokens, "abc def", 3)] == ["c ", "d", "ef"]
    started = [PromptToken("<s>", None, False), *tokens[1:]]
    with pytest.raises(NotShownError):
        scored_tokens(started, "abc def", 4)
    begun = [PromptToken("<s>", None, False), PromptToken("ab", -2.0, False), *tokens[1:]]
    assert len(scored_tokens(begun, "abc def", 0)) == 4
    with pytest.raises(NotShownError, match="first token"):
        scored_tokens(tokens, "abc def", 0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "NaN", -(10**400)])
@pytest.mark.parametrize("way", ["echo", "prompt_logprobs"])
def test_a_log_probability_that_is_not_finite_fails_its_document_alone(
    llama: tuple[Any, Any], llama_folder: Path, expected: dict[str, Any], way: str, value: Any
) -> None:
    """The last token but one, which `a` and `b` have in common with no document of the probe."""
    weigher = ScoringServer(*llama, echo=way == "echo")
    broken = llama[1]("駅", add_special_tokens=False)["input_ids"][-1]

    def script(before: int, body: Any) -> Answer:
        answer = weigher(before, body)
        choice = answer.body["choices"][0]
        at = len(body["prompt"]) - 1
        if body["prompt"][at] != broken:
            return answer
        if way == "echo":
            choice["logprobs"]["token_logprobs"][at] = value
        else:
            choice["prompt_logprobs"][at][str(broken)]["logprob"] = value
        return answer

    with misbehaving(script) as server:
        backend = opened(server, tokenizer=str(llama_folder), max_length=64)
        found = dict(backend.run(REQUESTS[:3]))
    failed = found["b"]
    assert isinstance(failed, Failure) and failed.kind == "not_finite", failed
    assert "the server gives" in failed.message
    for key in "ac":
        assert_equal(found[key], expected[key])
