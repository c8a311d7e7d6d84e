"""Greedy texts equal one row at a time, and stop strings cut exactly."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from transformers import GenerationConfig

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.transformers_generate import TransformersGenerate
from tenbin.backends.text.stop_criteria import Detokenizer, TextCompletion
from tenbin.records import Failure, Generate, Text
from tests.backends.reference import greedy_ids

PROMPTS = [
    "The answer is",
    "日本の首都は",
    "a",
    "質問：電車に乗る場所はどこですか？\n回答：",
    "a b c",
]


def plain_text(model: Any, tokenizer: Any, prompt: str, limit: int) -> tuple[str, int]:
    ids = list(tokenizer(prompt)["input_ids"])
    new = greedy_ids(model, ids, limit, {2})
    before = tokenizer.decode(ids, skip_special_tokens=True)
    whole = tokenizer.decode(ids + new, skip_special_tokens=True)
    return whole[len(before) :].rstrip("\ufffd"), len(new)


@pytest.mark.parametrize("batch_size", [1, "auto"])
def test_generation_equals_single_rows(tiny: tuple[Any, Any], batch_size: Any) -> None:
    model, tokenizer = tiny
    backend = HfBackend.from_model(model, tokenizer, max_length=64, batch_size=batch_size)
    requests = [Generate(prompt, prompt, (), 6 + at) for at, prompt in enumerate(PROMPTS)]
    answers = dict(backend.run(requests))
    for request in requests:
        answer = answers[request.key]
        assert isinstance(answer, Text)
        expected = plain_text(model, tokenizer, request.prompt, request.max_gen_toks)
        assert (answer.text, answer.token_count) == expected
        assert answer.finish == ("length" if expected[1] == request.max_gen_toks else "end")


def test_equals_transformers_generate(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer)
    ids = torch.tensor([tokenizer("The answer is")["input_ids"]])
    whole = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=12
    )
    answer = dict(backend.run([Generate("k", "The answer is", (), 12)]))["k"]
    assert isinstance(answer, Text)
    new = tokenizer.decode(whole[0, ids.shape[1] :], skip_special_tokens=True)
    assert answer.text == new.rstrip("\ufffd")


def test_stop_strings_cut_a_real_run(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer)
    text, _ = plain_text(model, tokenizer, "The answer is", 24)
    for begin in range(0, len(text) - 3, 3):
        stop = text[begin : begin + 3]
        answer = dict(backend.run([Generate("k", "The answer is", ("never", stop), 24)]))["k"]
        assert isinstance(answer, Text)
        assert answer.text == text[: text.find(stop)]
        assert answer.finish == "stop"


def written(tokenizer: Any, text: str, stop: tuple[str, ...], limit: int = 99) -> Text:
    decoder = Detokenizer(tokenizer, stop)
    writing = TextCompletion(decoder, {2}, limit)
    for token in [*tokenizer(text, add_special_tokens=False)["input_ids"], 2]:
        if writing.add(token):
            break
    return writing.result(0)


@pytest.mark.parametrize(
    ("text", "stop", "expected", "finish"),
    [
        (" a b\n\nThe answer", ("\n\n",), " a b", "stop"),
        (" The answer is blue", ("swer i",), " The an", "stop"),
        (" quick brown", ("ic",), " qu", "stop"),
        ("東京です。散歩", ("。",), "東京です", "stop"),
        ("東京🙂です", ("🙂",), "東京", "stop"),
        ("東京🙂", ("x",), "東京🙂", "end"),
        ("東京<NL>質問", ("<NL>",), "東京", "stop"),
        ("東京<NL>質問", ("\n",), "東京質問", "end"),
        ("a<NL>b<NL>質問", ("<NL>質問",), "ab", "stop"),
        (" b", ("", "q"), " b", "end"),
        ("xx stop", ("p", "stop"), "xx ", "stop"),
    ],
)
def test_stop_strings_on_growing_text(
    tokenizer: Any, text: str, stop: tuple[str, ...], expected: str, finish: str
) -> None:
    answer = written(tokenizer, text, stop)
    assert (answer.text, answer.finish) == (expected, finish)


def test_stop_is_found_at_every_place_of_a_long_text(tokenizer: Any) -> None:
    for place in range(0, 60, 7):
        text = "東京 a" * place + "回答：\n" + " a b" * 20
        assert written(tokenizer, text, ("回答：\n",), 999).text == "東京 a" * place


def test_a_character_is_never_broken(tokenizer: Any) -> None:
    for limit in range(1, 9):
        answer = written(tokenizer, "鰯🙂鯖🙂", (), limit)
        assert "\ufffd" not in answer.text
        assert "鰯🙂鯖🙂".startswith(answer.text)


def test_every_end_token_of_the_list_ends_a_row(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    ids = list(tokenizer("The answer is")["input_ids"])
    new = greedy_ids(model, ids, 8, {2})
    kept = model.generation_config
    model.generation_config = GenerationConfig(eos_token_id=[2, new[3]])
    try:
        backend = HfBackend.from_model(model, tokenizer)
        answer = dict(backend.run([Generate("k", "The answer is", (), 8)]))["k"]
    finally:
        model.generation_config = kept
    assert isinstance(answer, Text)
    assert (answer.finish, answer.token_count) == ("end", new.index(new[3]))


def test_sampling_settings_stay_out_and_nothing_warns(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    expected, _ = plain_text(model, tokenizer, "a b", 10)
    kept = model.generation_config
    settings = {"temperature": 9.0, "top_k": 3, "repetition_penalty": 5.0, "max_length": 4}
    model.generation_config = GenerationConfig(do_sample=True, eos_token_id=2, **settings)
    try:
        backend = HfBackend.from_model(model, tokenizer)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            answer = dict(backend.run([Generate("k", "a b", (), 10)]))["k"]
        assert model.generation_config.temperature == 9.0
    finally:
        model.generation_config = kept
    assert isinstance(answer, Text)
    assert answer.text == expected


def test_prompts_are_cut_from_the_left_and_counted(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer, max_length=20)
    requests = [Generate("cut", "a b c d " * 10, (), 8), Generate("no", "a", (), 20)]
    answers = dict(backend.run(requests))
    cut, refused = answers["cut"], answers["no"]
    assert isinstance(cut, Text) and isinstance(refused, Failure)
    ids = list(tokenizer("a b c d " * 10)["input_ids"])
    assert cut.truncated == len(ids) - 12
    assert cut.token_count == len(greedy_ids(model, ids[-12:], 8, {2}))
    assert refused.kind == "no_room"


def test_memory_that_ends_loses_no_text(
    tiny: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = tiny
    requests = [Generate(prompt, prompt, (), 6) for prompt in PROMPTS]
    expected = dict(HfBackend.from_model(model, tokenizer, max_length=64).run(requests))
    backend = HfBackend.from_model(model, tokenizer, max_length=64)
    backend._text_generator()
    steps, generate = ModelRunner.decode, TransformersGenerate._generate

    def cramped_step(self: Any, cache: Any, tokens: Any, *others: Any) -> Any:
        if len(tokens) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return steps(self, cache, tokens, *others)

    def cramped_generate(self: Any, jobs: Any, rows: Any) -> set[int]:
        if len(jobs) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return generate(self, jobs, rows)

    monkeypatch.setattr(ModelRunner, "decode", cramped_step)
    monkeypatch.setattr(TransformersGenerate, "_generate", cramped_generate)
    answers = list(backend.run(requests))
    assert dict(answers) == expected
    assert len(answers) == len(requests)
