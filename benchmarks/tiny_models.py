"""Random models of several architectures and a tokenizer, made here: nothing is read or fetched."""

from __future__ import annotations

import random
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

WORDS = (
    "日本の首都は東京です。 質問：駅はどこですか？\n回答： The quick brown fox is blue. a b c 🙂"
)
_ENDS = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
_EAGER = {"attn_implementation": "eager"}
"""Not every version of transformers knows that its fused attention has no soft cap."""
_LAYERS = {**_ENDS, "hidden_size": 64, "num_hidden_layers": 2}
_HEADS = {
    **_LAYERS,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
}
_WINDOW = {**_HEADS, "sliding_window": 24}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", _HEADS),
    "qwen3": ("qwen3", _HEADS),
    "gemma2": ("gemma2", {**_WINDOW, "final_logit_softcapping": 3.0, **_EAGER}),
    "gemma3": (
        "gemma3_text",
        {**_WINDOW, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "mistral": ("mistral", _WINDOW),
    "gpt_oss": ("gpt_oss", {**_WINDOW, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "gpt2": ("gpt2", {**_ENDS, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 2048}),
    "bloom": ("bloom", {**_ENDS, "hidden_size": 64, "n_layer": 2, "n_head": 4}),
    "mamba": ("mamba", {**_LAYERS, "state_size": 4}),
    "mamba2": (
        "mamba2",
        {**_LAYERS, "state_size": 4, "num_heads": 8, "head_dim": 16, "n_groups": 1},
    ),
}
"""The name that transformers knows, and a shape. Windows are shorter than many prompts."""
LARGER = {
    **_HEADS,
    "vocab_size": 128256,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
}
"""A Llama of 1B shape."""


def make_tokenizer() -> Any:
    """A byte-level tokenizer that puts BOS in front."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([WORDS] * 4, trainer)
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")


def make_tiny(family: str, vocabulary: int, device: str) -> Any:
    """A model of two layers in float32."""
    kind, shape = FAMILIES[family]
    model = _make(kind, {"vocab_size": vocabulary, **shape}, device, torch.float32)
    with torch.no_grad():
        # Larger weights than a fresh model's, so that a wrong mask cannot hide.
        for name, weight in model.named_parameters():
            if weight.ndim == 2 and "A_log" not in name:
                weight.normal_(0, 0.2)
    return model


def make_larger(device: str, dtype: torch.dtype) -> Any:
    """A Llama of 1B shape."""
    return _make("llama", LARGER, device, dtype)


def _make(kind: str, shape: dict[str, Any], device: str, dtype: torch.dtype) -> Any:
    torch.manual_seed(3)
    config = AutoConfig.for_model(kind, **shape)
    with torch.device(device):
        model: Any = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return model.eval()


def make_prompts(count: int, longest: int) -> list[str]:
    """Prompts of up to so many words, some of them with a common beginning."""
    rng = random.Random(5)
    words = WORDS.split()
    texts = ["a", "The quick brown fox is ", "回答：\n"]
    while len(texts) < count:
        beginning = WORDS if rng.random() < 0.3 else ""
        texts.append(beginning + " ".join(rng.choices(words, k=rng.randint(1, longest))))
    return texts
