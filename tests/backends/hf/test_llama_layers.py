"""Which models are Llama-like, and that merging leaves their own forward as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tenbin.backends.hf.model.llama_layers import merged_layer, misfit

SHAPE: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}


def make(kind: str, **more: Any) -> Any:
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **{**SHAPE, **more})
    return AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize(
    ("kind", "more"),
    [("llama", {}), ("qwen2", {}), ("qwen3", {}), ("mistral", {"sliding_window": None})],
)
def test_recognised(kind: str, more: dict[str, Any]) -> None:
    assert misfit(make(kind, **more)) is None


@pytest.mark.parametrize(
    ("kind", "more", "reason"),
    [
        ("mistral", {"sliding_window": 16}, "sliding window"),
        ("gemma2", {"layer_types": ["full_attention"] * 2}, "other parts"),
        ("gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4}, "modules"),
        ("llama", {"hidden_act": "gelu"}, "SiLU"),
        ("mixtral", {"num_local_experts": 2}, "other parts"),
    ],
)
def test_not_recognised(kind: str, more: dict[str, Any], reason: str) -> None:
    found = misfit(make(kind, **more))
    assert found is not None and reason in found


def test_adapted_and_hooked_layers_are_not_recognised() -> None:
    model = make("llama")
    attention = model.model.layers[1].self_attn
    plain = attention.q_proj

    class Adapted(torch.nn.Linear):
        pass

    attention.q_proj = Adapted(32, 32, bias=False)
    assert misfit(model) == "its projections are not plain linear layers"
    attention.q_proj = plain
    attention.q_proj._hf_hook = object()
    assert misfit(model) == "its projections are not plain linear layers"


def test_a_gate_of_another_name_and_partly_rotated_heads_are_not_recognised() -> None:
    model = make("llama")
    angles = model.model.rotary_emb.inv_freq
    model.model.rotary_emb.inv_freq = angles[: len(angles) // 2]
    assert misfit(model) == "its rotary embedding does not cover whole heads"
    model.model.rotary_emb.inv_freq = angles
    assert misfit(model) is None
    del model.model.layers[1].mlp.act_fn
    assert misfit(model) == "its gate is not SiLU"


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
@torch.inference_mode()
def test_merged_weights_are_the_models_own(kind: str) -> None:
    model = make(kind)
    ids = torch.arange(20)[None]
    before, names = model(ids).logits, [name for name, _ in model.named_parameters()]
    layer = model.model.layers[0]
    rows = torch.randn(3, 32)
    apart = [getattr(layer.self_attn, name)(rows) for name in ("q_proj", "k_proj", "v_proj")]
    merged = merged_layer(layer)
    torch.testing.assert_close(merged.qkv(rows), torch.cat(apart, -1))
    assert merged_layer(layer).qkv is merged.qkv, "merged a second time"
    part = layer.self_attn.k_proj.weight
    storage = merged.qkv.weight.untyped_storage().data_ptr()
    assert part.untyped_storage().data_ptr() == storage, "a second copy of the weights"
    assert [name for name, _ in model.named_parameters()] == names
    torch.testing.assert_close(model(ids).logits, before)
