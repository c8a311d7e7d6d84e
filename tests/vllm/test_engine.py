"""vLLM's numbers and texts beside the hf backend's plain forward, on the same tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tenbin.backends.text.encoding import Row
from tenbin.backends.vllm.scoring import PROMPT_LOGPROBS, VllmScoring
from tenbin.records import (
    Failure,
    Generate,
    Rolled,
    Rolling,
    Sampling,
    Score,
    Scores,
    Text,
    Thinking,
)
from tests.backends.reference import greedy_ids
from tests.vllm.conftest import BLOCK, ENDING, WINDOW

NOISE = 1e-3
"""Largest difference of a float32 log-likelihood; about 2e-5 is seen."""
BEGINNING = "質問：電車に乗る場所はどこですか？\n選択肢：駅、海、山\n回答：駅\n\n" * 3


def answered(backend: Any, requests: list[Any]) -> dict[str, Any]:
    pairs = list(backend.run(requests))
    assert sorted(key for key, _ in pairs) == sorted(request.key for request in requests)
    return dict(pairs)


def assert_alike(mine: Scores, other: Scores) -> None:
    assert mine.logprobs == pytest.approx(other.logprobs, abs=NOISE)
    assert mine.token_counts == other.token_counts
    assert mine.greedy == other.greedy
    assert mine.truncated == other.truncated


def scores() -> list[Score]:
    asked = [
        Score(f"fox{number}", BEGINNING + f"The answer {number} is", (" a", " a b", " blue", "駅"))
        for number in range(6)
    ]
    asked.append(Score("nothing", "", ("The quick brown fox", "日本")))
    asked.append(Score("short", "a", (" b", " b c d e f g")))
    asked.append(Score("same", "a", (" b", " b")))
    return asked


def test_scores_are_those_of_a_plain_forward(backend: Any, plain: Any) -> None:
    mine, other = answered(backend, scores()), answered(plain, scores())
    for key, response in other.items():
        assert_alike(mine[key], response)


def test_scores_rest_on_the_prefix_cache(backend: Any) -> None:
    answered(backend, scores())
    engine = backend.describe()["engine"]
    assert engine["name"] == "vllm"
    assert engine["mode"] == "prefix_cache"
    assert "agrees with prompt_logprobs" in engine["probe"]
    assert engine["cached_tokens"] > engine["prompt_tokens"] / 4
    assert engine["parallel"] == {"tensor": 1, "pipeline": 1, "data": 1}


def test_an_answer_that_is_cached_itself_is_scored_again(backend: Any, plain: Any) -> None:
    """The cache of the first row reaches into the second one's answer, by many tokens."""
    answer = " The quick brown fox jumps over the lazy dog." * 4
    asked = [Score("long", BEGINNING, (answer + " a b", answer + " blue"))]
    again = [Score("again", BEGINNING, (answer + " a b", answer + " blue"))]
    before = backend.describe()["engine"].get("asked_again", 0)
    mine = answered(backend, asked)
    assert backend.describe()["engine"]["asked_again"] > before
    assert_alike(mine["long"], answered(plain, asked)["long"])
    assert answered(backend, again)["again"].logprobs == pytest.approx(
        mine["long"].logprobs, abs=NOISE
    )


def test_the_way_without_the_cache_gives_the_same(backend: Any) -> None:
    ids = tuple(3 + (7 * at) % 250 for at in range(3 * BLOCK))
    rows = [Row((*ids, 9), 1), Row((*ids, 10), 1), Row((*ids, 9, 30, 31), 3), Row(ids, 40)]
    cached = dict(backend._scoring().score([rows]))[0]
    slow = dict(VllmScoring(backend._started(), PROMPT_LOGPROBS).score([rows]))[0]
    assert isinstance(cached, tuple) and isinstance(slow, tuple)
    assert [s.logprob for s in cached] == pytest.approx([s.logprob for s in slow], abs=NOISE)
    assert [s.greedy for s in cached] == [s.greedy for s in slow]


def test_greedy_continuations_are_told(backend: Any, plain: Any, model: Any) -> None:
    """What greedy decoding writes is greedy, token by token."""
    context = list(range(5, 45))
    written = greedy_ids(model, context, 6, set())
    wrong = [*written[:-2], written[-2] + 1, written[-1]]
    rows = [Row((*context, *answer), len(answer)) for answer in (written, written[:1], wrong)]
    mine = dict(backend._scoring().score([rows]))[0]
    other = dict(plain._scoring_engine().score([rows]))[0]
    assert [score.greedy for score in mine] == [True, True, False]
    assert [score.greedy for score in other] == [True, True, False]


def test_more_last_tokens_than_vllm_weighs_at_once(backend: Any, plain: Any) -> None:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    answers = tuple(f" {letter}" for letter in letters) + tuple(letters)
    rows = [Row((1, 5, 6, 7, token), 1) for token in range(300)]
    cached = dict(backend._scoring().score([rows]))[0]
    plainly = dict(plain._scoring_engine().score([rows]))[0]
    assert isinstance(cached, tuple)
    assert [s.logprob for s in cached] == pytest.approx([s.logprob for s in plainly], abs=NOISE)
    asked = [Score("all", "The answer is", answers)]
    assert_alike(answered(backend, asked)["all"], answered(plain, asked)["all"])


def test_rows_are_cut_as_the_hf_engine_cuts_them(backend: Any, plain: Any) -> None:
    """Up to a full window: the last token of a row is a target only and is never read."""
    word = " fox"
    count = plain.tokenizer.answer_lengths([word])[0]
    asked = [
        Score(f"cut{more}", word * (WINDOW // count + more), (" a", " a b c"))
        for more in range(-3, 3)
    ]
    mine, other = answered(backend, asked), answered(plain, asked)
    assert any(response.truncated for response in other.values())
    for key, response in other.items():
        assert_alike(mine[key], response)


def test_whole_texts(backend: Any, plain: Any) -> None:
    asked = [
        Rolling("one", "The quick brown fox jumps over the lazy dog."),
        Rolling("windows", BEGINNING * 9),
        Rolling("empty", ""),
    ]
    mine, other = answered(backend, asked), answered(plain, asked)
    for key in ("one", "windows"):
        assert isinstance(mine[key], Rolled)
        assert mine[key].token_count == other[key].token_count
        assert mine[key].logprob == pytest.approx(other[key].logprob, abs=NOISE * 10)
    assert mine["empty"] == other["empty"]
    assert isinstance(mine["empty"], Failure)


def texts() -> list[Generate]:
    prompts = ["The answer is", BEGINNING + "回答：", BEGINNING + "質問：", "今日は", "a b c"]
    asked = []
    for number, prompt in enumerate(prompts):
        asked.append(Generate(f"free{number}", prompt, (), 24))
        asked.append(Generate(f"stop{number}", prompt, ("\n", "。", "e", "駅"), 24))
        asked.append(Generate(f"never{number}", prompt, ("no such words",), 7))
    asked.append(Generate("no room", "a", (), WINDOW))
    asked.append(Generate("cut", BEGINNING * 9, (), 20))
    asked.append(Generate("special", "The answer", ("<NL>",), 30))
    return asked


def test_greedy_texts_are_those_of_a_plain_forward(backend: Any, plain: Any) -> None:
    mine, other = answered(backend, texts()), answered(plain, texts())
    assert mine == other
    assert isinstance(mine["no room"], Failure)
    assert mine["cut"].truncated > 0
    finishes = {response.finish for response in mine.values() if isinstance(response, Text)}
    assert {"stop", "length"} <= finishes


def test_an_end_token_ends_an_answer(backend: Any, plain: Any) -> None:
    asked = [Generate("end", ENDING, (), 40), Generate("at once", ENDING, (), 2)]
    mine, other = answered(backend, asked), answered(plain, asked)
    assert mine == other
    assert mine["end"].finish == "end"
    assert 0 < mine["end"].token_count < 8
    assert mine["at once"].finish == "length"


def test_draws_rest_on_the_seed(backend: Any) -> None:
    hot = Sampling(1.5, 0.95, 40)
    asked = [Generate(f"d{seed}", "The answer is", (), 12, hot, seed) for seed in (1, 2, 2**62, 1)]
    asked[3] = Generate("same", "The answer is", (), 12, hot, 1)
    first = answered(backend, asked)
    second = answered(backend, asked[::-1])
    assert first == second
    assert first["d1"] == first["same"]
    assert len({first[key].text for key in ("d1", f"d{2**62}", "d2")}) > 1


def test_a_temperature_that_vllm_would_change_is_refused(backend: Any) -> None:
    asked = [Generate("cold", "a", (), 3, Sampling(0.001), 1)]
    answer = answered(backend, asked)["cold"]
    assert isinstance(answer, Failure)
    assert "0.01" in answer.message


def test_separate_encoding_puts_the_same_tokens(backend: Any, plain: Any) -> None:
    mine_before, plain_before = backend._encoding, plain._encoding
    backend._encoding = plain._encoding = "separate"
    try:
        mine, other = answered(backend, scores()), answered(plain, scores())
    finally:
        backend._encoding, plain._encoding = mine_before, plain_before
    for key, response in other.items():
        assert_alike(mine[key], response)


def test_a_refused_request_is_a_failure_and_the_others_are_answered(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = backend.tokenizer
    encode = type(tokenizer).encode_prompts

    def beyond(self: Any, found: Any) -> Any:
        encoded = encode(self, found)
        return {
            text: (1, 10**6) if text.startswith("bad") else ids for text, ids in encoded.items()
        }

    monkeypatch.setattr(type(tokenizer), "encode_prompts", beyond)
    mine = answered(backend, [Generate("bad", "bad", (), 3), Generate("good", "good", (), 3)])
    assert isinstance(mine["good"], Text)
    assert isinstance(mine["bad"], Failure)
    assert "1000000" in mine["bad"].message


def test_a_run_that_is_given_up_leaves_the_engine_usable(backend: Any) -> None:
    running = backend.run([Generate(f"g{n}", f"{n} b c", (), 60) for n in range(20)])
    next(running)
    running.close()
    assert isinstance(answered(backend, [Generate("after", "a b", (), 3)])["after"], Text)


def thoughts(backend: Any) -> list[Generate]:
    """Thoughts that are opened by the prompt or by the model, closed by it or by the budget."""
    prompts = (ENDING[:3], "The answer<think>", BEGINNING + "<think>\n")
    plainly = [Generate(prompt, prompt, (), 30) for prompt in prompts]
    written = {key: text.text.strip() for key, text in answered(backend, plainly).items()}
    piece = written[prompts[1]][5:7]
    marks = [Thinking("<think>", piece, budget) for budget in (1, 5, 60)]
    marks += [Thinking(written[prompts[0]][:1], piece, 9), Thinking("<think>", "</think>", 7)]
    return [
        Generate(f"{prompt}{number}{stop}", prompt, stop, 12, None, 3, thinking=mark)
        for number, mark in enumerate(marks)
        for prompt in prompts
        for stop in ((), ("e", "。", "\n"))
    ]


def test_thoughts_are_those_of_a_plain_forward(backend: Any, plain: Any) -> None:
    asked = thoughts(plain)
    mine, other = answered(backend, asked), answered(plain, asked)
    assert mine == other
    assert {"none", "closed", "budget"} <= {response.thinking_end for response in mine.values()}
    assert any(response.text and response.thinking for response in mine.values())


def test_drawn_thoughts_rest_on_the_seed(backend: Any) -> None:
    asked = [replace(request, sampling=Sampling(1.0)) for request in thoughts(backend)]
    assert answered(backend, asked) == answered(backend, asked[::-1])
