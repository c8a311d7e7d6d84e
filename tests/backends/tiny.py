"""Tiny random models of many architectures, and a tokenizer trained on five sentences."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

SENTENCES = [
    "日本の首都は東京です。",
    "質問：電車に乗る場所はどこですか？\n選択肢：駅、海、山\n回答：駅",
    "The quick brown fox jumps over the lazy dog.",
    "a b c d e f g\nThe answer is a b. The answer is blue.",
    "今日は天気がいいから、散歩しましょう。🙂",
]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
SPECIAL = ["<unk>", "<s>", "</s>", "<NL>"]


def make_tokenizer(add_bos: bool = False, add_eos: bool = False) -> Any:
    inner = Tokenizer(models.BPE(unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(SENTENCES * 4, trainer)
    if add_bos or add_eos:
        single = f"{'<s> ' if add_bos else ''}$A{' </s>' if add_eos else ''}"
        inner.post_processor = processors.TemplateProcessing(
            single=single, special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<NL>"]})
    tokenizer.chat_template = TEMPLATE
    return tokenizer


_SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
}
_SMALL = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 1}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": _SHAPE,
    "gpt2": {**_SMALL, "eos_token_id": 2},
    "gemma2": {**_SHAPE, "sliding_window": 8, "final_logit_softcapping": 3.0},
    "mistral": {**_SHAPE, "sliding_window": 6},
    "gpt_neox": {**_SHAPE, "rotary_pct": 0.5},
    "opt": {**_SHAPE, "ffn_dim": 48, "word_embed_proj_dim": 32},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2},
    "qwen3": _SHAPE,
    "mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "eos_token_id": 2},
}


def make_model(kind: str, vocabulary: int, seed: int = 7) -> Any:
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(kind, vocab_size=vocabulary, **CONFIGS[kind])
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # Larger weights than a fresh model's, so that a wrong mask cannot hide.
            if weight.ndim == 2 and "A_log" not in name:
                weight.normal_(0, 0.3)
    return model.eval()
