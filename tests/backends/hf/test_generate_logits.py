"""Which prompts transformers' generate may take together, found out on models that are wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.generation.generate_logits import batches_of
from tenbin.records import Generate, Text
from tests.backends.reference import greedy_ids

_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "bos_token_id": 1, "eos_token_id": 2}
_HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    # Its state mixes up rows in every step from the cache.
    "rwkv": ("single", {**_SIZES, "attention_hidden_size": 32, "context_length": 64}),
    # Right after the padded prompts, wrong from the cache.
    "minimax": (
        "equal",
        {
            **_SIZES,
            **_HEADS,
            "intermediate_size": 48,
            "max_position_embeddings": 64,
            "num_local_experts": 2,
            "block_size": 8,
            "layer_types": ["linear_attention", "full_attention"],
        },
    ),
    "mamba": ("equal", {**_SIZES, "state_size": 4}),
    "gpt_neo": (
        "padded",
        {
            **{"hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 48},
            **{"attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64},
        },
    ),
}


def model_of(kind: str, vocabulary: int) -> Any:
    torch.manual_seed(0)
    more = {"vocab_size": vocabulary, "initializer_range": 0.3}
    config = transformers.AutoConfig.for_model(kind, **{**KINDS[kind][1], **more})
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_what_the_model_can_do(kind: str) -> None:
    assert batches_of(model_of(kind, 97)) == KINDS[kind][0]


@pytest.mark.parametrize("kind", ["rwkv", "minimax"])
def test_texts_are_those_of_single_prompts(kind: str, tokenizer: Any) -> None:
    model = model_of(kind, len(tokenizer))
    backend = HfBackend.from_model(model, tokenizer, max_length=64)
    prompts = ["The answer", "The quick", "日本の首都は東京です。", "a b c d", "a b c e"]
    answers = dict(backend.run([Generate(text, text, (), 8) for text in prompts]))
    engine = backend.describe()["engine"]
    assert engine["generation"] == "transformers generate"
    assert any(reason.startswith("own loop: ") for reason in engine["passed_over"])
    for text in prompts:
        answer = answers[text]
        assert isinstance(answer, Text)
        ids = greedy_ids(model, tokenizer(text)["input_ids"], 8, {2})
        decoded = tokenizer.decode(ids, skip_special_tokens=True)
        assert answer.text == decoded.rstrip("\ufffd")
