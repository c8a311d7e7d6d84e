"""Each architecture gets its engine, and the engine gives what single forward passes give."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
import transformers
from packaging.version import Version

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.scoring.cache import CacheEngine
from tenbin.backends.hf.scoring.engine_selection import select_engine
from tenbin.backends.hf.scoring.masked_rows import MaskedRowsEngine
from tenbin.backends.hf.scoring.plain import PlainEngine
from tenbin.backends.hf.scoring.tree import TreeEngine
from tenbin.backends.text.encoding import Row

VOCABULARY = 97
WINDOW = 6
THRESHOLD = 32
"""Where longrope changes its frequencies."""
# Larger weights than a fresh model's, so that a wrong mask cannot hide.
COMMON = {
    "vocab_size": VOCABULARY,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "initializer_range": 0.4,
    "max_position_embeddings": 256,
}
LAYERS = {**COMMON, "hidden_size": 32, "num_hidden_layers": 2}
HEADS = {**LAYERS, "num_attention_heads": 4, "intermediate_size": 64}
GROUPED = {**HEADS, "num_key_value_heads": 2, "head_dim": 8}
SMALL = {**COMMON, "n_embd": 32, "n_layer": 2, "n_head": 4}
LATENT = {
    "q_lora_rank": 16,
    "kv_lora_rank": 8,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "n_shared_experts": 1,
}
HYBRID = {
    "num_experts": 2,
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
    "mamba_d_state": 4,
    "mamba_d_conv": 2,
    "use_mamba_kernels": False,
}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0] * 4,
    "long_factor": [1.0, 2.0, 4.0, 8.0],
    "original_max_position_embeddings": THRESHOLD,
}
TREE, MASK, CACHE = TreeEngine.mode, MaskedRowsEngine.mode, CacheEngine.mode
PLAIN = PlainEngine.mode
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("llama", TREE, GROUPED),
    "qwen2": ("qwen2", TREE, GROUPED),
    "qwen3": ("qwen3", TREE, GROUPED),
    "mistral": ("mistral", TREE, {**GROUPED, "sliding_window": WINDOW}),
    "gemma2": ("gemma2", TREE, {**GROUPED, "sliding_window": WINDOW}),
    "gemma3": (
        "gemma3_text",
        TREE,
        {
            **GROUPED,
            "sliding_window": WINDOW,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "gpt2": ("gpt2", TREE, SMALL),
    "gpt_neox": ("gpt_neox", TREE, HEADS),
    "opt": ("opt", TREE, {**HEADS, "ffn_dim": 64, "word_embed_proj_dim": 32, "init_std": 0.4}),
    "phi3": (
        "phi3",
        TREE,
        {
            **GROUPED,
            "rope_parameters": LONGROPE,
            "original_max_position_embeddings": THRESHOLD,
        },
    ),
    "cohere2": ("cohere2", TREE, {**GROUPED, "sliding_window": WINDOW}),
    # Only every other layer has the window that all their modules know.
    "exaone4": (
        "exaone4",
        TREE,
        {
            **GROUPED,
            "sliding_window": WINDOW,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "granite": ("granite", TREE, GROUPED),
    "qwen3_moe": (
        "qwen3_moe",
        TREE,
        {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    ),
    "deepseek_v3": ("deepseek_v3", TREE, {**HEADS, "num_key_value_heads": 4, **LATENT}),
    "gpt_oss": (
        "gpt_oss",
        TREE,
        {**GROUPED, "sliding_window": WINDOW, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "gptj": ("gptj", MASK, {**SMALL, "rotary_dim": 4}),
    "falcon": ("falcon", MASK, {**HEADS, "alibi": False}),
    "falcon alibi": ("falcon", CACHE, {**HEADS, "alibi": True}),
    "bloom": ("bloom", CACHE, {**COMMON, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "mamba": ("mamba", CACHE, {**LAYERS, "state_size": 4}),
    "mamba2": (
        "mamba2",
        CACHE,
        {**LAYERS, "state_size": 4, "num_heads": 8, "head_dim": 8, "n_groups": 1},
    ),
    "jamba": ("jamba", CACHE, {**GROUPED, **HYBRID}),
    # The state of its linear layers is not copied with its keys and values.
    "minimax": (
        "minimax",
        PLAIN,
        {
            **GROUPED,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "layer_types": ["full_attention", "linear_attention"],
        },
    ),
}


def make(family: str) -> Any:
    kind, _, shape = FAMILIES[family]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **shape)
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


@torch.no_grad()
def alone(model: Any, row: Row) -> tuple[float, bool]:
    """The row by itself: no tenbin code, no batch, no padding, no cache."""
    logits = model(torch.tensor([row.ids[:-1]])).logits[0, -row.scored :].double()
    target = torch.tensor(row.ids[-row.scored :])
    chosen = logits.log_softmax(-1).gather(1, target[:, None])
    return float(chosen.sum()), bool((logits.argmax(-1) == target).all())


def documents() -> list[list[Row]]:
    """Ragged contexts on both sides of windows and thresholds, shared, nested and of one token."""
    generator = random.Random(3)

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(generator.randrange(3, VOCABULARY) for _ in range(count))

    shared = tokens(9)
    groups = []
    for context in (tokens(1), shared, shared + tokens(5), shared + tokens(20), tokens(3)):
        first = tokens(2)
        answers = [first, (*first, *tokens(2)), first[:1], tokens(5), tokens(1)]
        groups.append([Row(context + answer, len(answer)) for answer in answers])
    edge = tokens(THRESHOLD - 1)
    groups.append([Row(edge + tokens(count), count) for count in (1, 2, 3, 9)])
    groups.append([Row(shared + tokens(30) + tokens(2), 2), groups[1][1], groups[1][1]])
    # As a rolling window has it: every position is scored.
    whole = tokens(41)
    return [*groups, [Row(whole, 40)]]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_on_its_engine(family: str) -> None:
    model = make(family)
    selected = select_engine(Forward(model), "auto", "auto", 256, 128)
    mode = FAMILIES[family][1]
    if family == "gemma2" and Version(transformers.__version__) < Version("5.21"):
        # Its attention changes with the form of the mask there; the probe sees it and steps aside.
        mode = CACHE
    assert selected.engine.mode == mode, selected.selection.passed_over
    faster = [TREE, MASK, CACHE, PLAIN]
    faster = faster[: faster.index(mode)]
    assert [reason.split(":")[0] for reason in selected.selection.passed_over] == faster
    groups = documents()
    answers = list(selected.engine.score(groups))
    assert sorted(number for number, _ in answers) == list(range(len(groups)))
    for number, scores in answers:
        assert scores is not None
        for row, score in zip(groups[number], scores, strict=True):
            logprob, greedy = alone(model, row)
            assert score.logprob == pytest.approx(logprob, abs=1e-4)
            assert score.greedy == greedy


@pytest.mark.parametrize("family", ["llama", "mistral", "bloom", "mamba2", "jamba", "phi3"])
@pytest.mark.parametrize("align", [1, 4])
def test_a_cache_serves_what_a_tree_serves(family: str, align: int) -> None:
    """Windows, recurrent states and long frequencies, however contexts are cut."""
    model = make(family)
    stepwise = family == "jamba"
    engine = CacheEngine(Forward(model), 200, align, stepwise)
    groups = documents()
    for number, scores in engine.score(groups):
        assert scores is not None
        for row, score in zip(groups[number], scores, strict=True):
            assert score.logprob == pytest.approx(alone(model, row)[0], abs=1e-4)
