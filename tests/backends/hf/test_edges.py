"""Limits, windows, duplicates and memory: where answers are easily lost or counted wrongly."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
import transformers

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.model import forward as forward_module
from tenbin.backends.hf.model.rope import LengthClasses
from tenbin.errors import BackendError
from tenbin.records import Failure, Generate, Rolled, Rolling, Score, Scores, Text
from tests.backends.reference import greedy_ids, plain_score, score_ids
from tests.backends.tiny import CONFIGS, make_model

PROMPTS = ["a", "The quick brown fox jumps over the lazy dog. " * 2, "日本の首都は", "a b c d"]


def test_texts_equal_generates_own(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    requests = [Generate(str(at), text, (), 1 + 5 * at) for at, text in enumerate(PROMPTS)]
    answers = dict(HfBackend.from_model(model, tokenizer, max_length=64).run(requests))
    for request in requests:
        ids = torch.tensor([tokenizer(request.prompt)["input_ids"]])
        whole = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=request.max_gen_toks,
            eos_token_id=2,
            pad_token_id=2,
        )
        new = [token for token in whole[0, ids.shape[1] :].tolist() if token != 2]
        answer = answers[request.key]
        assert isinstance(answer, Text)
        assert answer.token_count == len(new)
        assert answer.text == tokenizer.decode(new, skip_special_tokens=True).rstrip("\ufffd")


def test_the_smallest_limits(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer, max_length=10)
    requests = [Generate("one", "a b c d e f g " * 3, (), 1), Generate("nine", "a b c", (), 9)]
    answers = dict(backend.run(requests))
    ids = tokenizer("a b c d e f g " * 3)["input_ids"]
    for key, kept, limit in (
        ("one", ids[-9:], 1),
        ("nine", tokenizer("a b c")["input_ids"][-1:], 9),
    ):
        answer = answers[key]
        assert isinstance(answer, Text)
        assert answer.token_count == len(greedy_ids(model, kept, limit, {2}))
    one = answers["one"]
    assert isinstance(one, Text) and one.truncated == len(ids) - 9


def test_nothing_needs_a_pad_token(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    assert tokenizer.pad_token_id is None
    kept, ends = model.config.pad_token_id, model.generation_config
    model.config.pad_token_id = None
    model.generation_config = transformers.GenerationConfig(eos_token_id=2)
    try:
        backend = HfBackend.from_model(model, tokenizer)
        answers = dict(backend.run([Generate(text, text, (), 4) for text in PROMPTS]))
    finally:
        model.config.pad_token_id, model.generation_config = kept, ends
    for text in PROMPTS:
        answer = answers[text]
        assert isinstance(answer, Text)
        assert answer.token_count == len(greedy_ids(model, tokenizer(text)["input_ids"], 4, {2}))


def test_continuations_as_long_as_the_window(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer, max_length=8)
    texts = [" a b c d e f g" + " a" * more for more in range(4)]
    answers = dict(backend.run([Score(text, "The answer is", (text,)) for text in texts]))
    seen = set()
    for text in texts:
        answer, count = answers[text], len(tokenizer(text, add_special_tokens=False)["input_ids"])
        seen.add(count > 8)
        if count > 8:
            assert isinstance(answer, Failure) and answer.kind == "continuation_too_long"
            continue
        assert isinstance(answer, Scores)
        expected = plain_score(model, tokenizer, "The answer is", text, 8)
        assert answer.logprobs[0] == pytest.approx(expected[0], abs=1e-4)
        assert answer.truncated == len(tokenizer("The answer is" + text)["input_ids"]) - 9
    assert seen == {True, False}


def test_equal_requests_are_answered_each_under_its_key(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    backend = HfBackend.from_model(model, tokenizer, max_length=64)
    kinds = [Score("", "a", (" b", " b", " c")), Generate("", "a", (), 3), Rolling("", "a b")]
    requests = [
        dataclasses.replace(kind, key=f"{kind}{number}") for kind in kinds for number in range(3)
    ]
    answers = list(backend.run(requests))
    assert sorted(key for key, _ in answers) == sorted(request.key for request in requests)
    found = dict(answers)
    for kind in kinds:
        assert len({found[f"{kind}{number}"] for number in range(3)}) == 1
    first = found[f"{kinds[0]}0"]
    assert isinstance(first, Scores) and first.logprobs[0] == first.logprobs[1]


@pytest.mark.parametrize("batch_size", [4, "auto"])
def test_memory_that_comes_and_goes(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, batch_size: Any
) -> None:
    """Every second batch of more than one row fails: nothing is lost and nothing comes twice."""
    model, tokenizer = llama
    requests: list[Any] = [Score(f"s{at}", "a " * at + "b", (" b", " c")) for at in range(1, 9)]
    requests += [Rolling(f"r{at}", "a b c " * at) for at in range(1, 9)]
    expected = dict(HfBackend.from_model(model, tokenizer, max_length=16).run(requests))
    honest, calls = forward_module.Forward._values, [0]

    def moody(self: Any, rows: Any, targets: Any) -> Any:
        calls[0] += 1
        if len(rows) > 1 and calls[0] % 2:
            raise RuntimeError("CUDA error: out of memory")
        return honest(self, rows, targets)

    monkeypatch.setattr(forward_module.Forward, "_values", moody)
    backend = HfBackend.from_model(model, tokenizer, max_length=16, batch_size=batch_size)
    answers = list(backend.run(requests))
    assert len(answers) == len(requests) == len(dict(answers))
    for key, answer in answers:
        wanted = expected[key]
        if isinstance(answer, Rolled) and isinstance(wanted, Rolled):
            assert answer.logprob == pytest.approx(wanted.logprob, abs=1e-3)
        else:
            assert isinstance(answer, Scores) and isinstance(wanted, Scores)
            assert answer.logprobs == pytest.approx(wanted.logprobs, abs=1e-4)


@pytest.mark.parametrize("stage", ["scoring", "generation"])
@pytest.mark.parametrize(
    "fault", [RuntimeError("device-side assert triggered"), KeyError("rope"), AssertionError()]
)
def test_what_a_model_raises_is_one_error_and_not_taken_for_full_memory(
    tokenizer: Any, stage: str, fault: Exception
) -> None:
    """What was answered before the text that it fails on has been given."""
    model = make_model("llama", len(tokenizer))
    honest = model.forward

    def moody(*arguments: Any, **options: Any) -> Any:
        if options["input_ids"].shape[-1] > 30:
            raise fault
        return honest(*arguments, **options)

    backend = HfBackend.from_model(model, tokenizer, batch_size=1, engine="plain")
    texts = ["a", "b c", "a b c " * 20]
    asked: list[Any] = (
        [Score(text, text, (" b",)) for text in texts]
        if stage == "scoring"
        else [Generate(text, text, (), 2) for text in texts]
    )
    list(backend.run(asked[:1]))
    model.forward = moody
    answered = []
    with pytest.raises(BackendError) as raised:
        answered += [key for key, _ in backend.run(asked[:2])]
        list(backend.run(asked))
    assert sorted(answered) == ["a", "b c"]
    said = raised.value.message
    assert f"the model failed during {stage}: {type(fault).__name__}" in said
    assert said.startswith("LlamaForCausalLM: ") and "\n" not in said
    assert raised.value.__cause__ is fault
    assert "memory" not in said and "TENBIN_DEBUG" in raised.value.hint


def test_rolling_counts_bos_where_the_tokenizer_adds_it(tokenizer: Any, bos_tokenizer: Any) -> None:
    """As lm-eval 0.4.13 does, seen by running it: one BOS is given, the text's own is predicted."""
    model = make_model("llama", len(bos_tokenizer))
    for chosen, text, own in [
        (tokenizer, "日本の首都は東京です。", []),
        (bos_tokenizer, "日本の首都は東京です。", [1]),
        (tokenizer, "<s>a b", []),
    ]:
        ids = own + list(chosen(text, add_special_tokens=False)["input_ids"])
        answer = dict(HfBackend.from_model(model, chosen).run([Rolling("k", text)]))["k"]
        assert isinstance(answer, Rolled)
        assert answer.token_count == len(ids)
        assert answer.logprob == pytest.approx(score_ids(model, [1], ids, 64)[0], abs=1e-4)


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_lengths_that_change_each_other_stay_apart(bos_tokenizer: Any, kind: str) -> None:
    rope: dict[str, Any] = {"rope_type": kind, "rope_theta": 100.0, "factor": 4.0}
    if kind == "longrope":
        rope |= {"short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0]}
        rope |= {"original_max_position_embeddings": 16}
    shape = {**CONFIGS["llama"], "max_position_embeddings": 16 if kind == "dynamic" else 64}
    config = transformers.LlamaConfig(vocab_size=len(bos_tokenizer), rope_parameters=rope, **shape)
    torch.manual_seed(2)
    maker: Any = transformers.LlamaForCausalLM
    model = maker(config).eval()
    with torch.no_grad():
        for weight in (item for item in model.parameters() if item.ndim == 2):
            weight.normal_(0, 0.3)
    texts = ["a", "a b c d e f", "a b c d e f g a b c", "The quick brown fox jumps over " * 3]
    requests: list[Any] = [Score(f"s{text}", text, (" a b", " is")) for text in texts]
    requests += [Generate(f"g{text}", text, (), 9) for text in texts]
    together = dict(HfBackend.from_model(model, bos_tokenizer, max_length=64).run(requests))
    for request in requests:
        # A fresh copy: dynamic frequencies remember the longest row that was seen.
        fresh = maker(config).eval()
        fresh.load_state_dict(model.state_dict())
        lone = HfBackend.from_model(fresh, bos_tokenizer, max_length=64, batch_size=1)
        alone, found = dict(lone.run([request]))[request.key], together[request.key]
        if isinstance(alone, Scores) and isinstance(found, Scores):
            assert found.logprobs == pytest.approx(alone.logprobs, abs=1e-4)
        else:
            assert found == alone


def test_length_classes() -> None:
    plain = LengthClasses(transformers.LlamaConfig())
    assert plain.of(5) == plain.of(9999, 100) == 0
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}
    dynamic = LengthClasses(
        transformers.LlamaConfig(max_position_embeddings=16, rope_parameters=rope)
    )
    assert dynamic.of(16) == dynamic.of(3) == 0
    assert len({dynamic.of(17), dynamic.of(18), dynamic.of(10, 8), dynamic.of(11, 8), 0}) == 5
