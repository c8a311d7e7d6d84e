"""A pack through fused layers: with torch's operations in the place of the kernels."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.nn.functional import silu

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.scoring.plain import PlainEngine
from tenbin.backends.hf.scoring.probe import Probe, scores_of
from tenbin.backends.hf.scoring.tree import TreeEngine
from tenbin.backends.text.encoding import Row
from tests.backends.hf.test_llama_layers import make

KERNELS = "tenbin.backends.hf.kernels.decoder_layer_triton"
FUSED = "tenbin.backends.hf.scoring.fused_pack_triton"
SHARED = (3, 1, 4, 1, 5, 9)
GROUPS = [
    [Row((*SHARED, 2, 6, *answer), len(answer)) for answer in ((5,), (5, 3), (8, 9, 7))],
    [Row((*SHARED, *answer), len(answer)) for answer in ((9, 3), (2, 3, 8))],
    [Row((40, 41, 42), 2)],
]


def normed(states: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    wide = states.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return weight * wide.to(states.dtype)


def add_norm(new: Any, residual: Any, weight: Any, eps: float, add: bool = True) -> Any:
    if add:
        residual += new
    return normed(residual if add else new, weight, eps)


def rotate(states: Any, angles: Any, heads: int, norm: Any = None) -> Any:
    apart = states.view(len(states), heads, -1)
    if norm is not None:
        apart = normed(apart, *norm)
    cos, sin = (one[:, None] for one in angles)
    low, high = apart.chunk(2, dim=-1)
    turned = apart * cos + torch.cat((-high, low), dim=-1) * sin
    states.copy_(turned.reshape(states.shape))
    return states


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    stand_in: Any = ModuleType(KERNELS)
    stand_in.add_norm, stand_in.rotate = add_norm, rotate
    stand_in.gated = lambda gate, up: silu(gate) * up
    monkeypatch.setitem(sys.modules, KERNELS, stand_in)
    monkeypatch.delitem(sys.modules, FUSED, raising=False)
    importlib.import_module(FUSED)
    yield
    sys.modules.pop(FUSED, None)


def lively(kind: str, **more: Any) -> Any:
    """A model whose weights all matter."""
    model = make(kind, **more)
    for name, weight in model.named_parameters():
        if "norm" in name:
            weight.data = 1 + 0.3 * torch.randn(weight.shape)
        elif weight.dim() > 1:
            weight.data *= 4
        else:
            weight.data = 0.2 * torch.randn(weight.shape)
    return model


WIDE = {"hidden_size": 36, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("llama", {}),
        ("llama", {**WIDE, "attention_bias": True, "mlp_bias": True}),
        ("llama", {"num_hidden_layers": 1}),
        ("qwen2", {}),
        ("qwen3", {}),
        ("mistral", {"sliding_window": None}),
    ],
)
@pytest.mark.parametrize(("budget", "positions"), [(4096, 1000), (9, 1000), (4096, 2)])
def test_scores_are_those_of_plain_rows(
    kind: str, more: dict[str, Any], budget: int, positions: int
) -> None:
    forward = Forward(lively(kind, **more))
    expected = scores_of(PlainEngine(forward, 1, 1), GROUPS)
    engine = TreeEngine(forward, budget, fused=True)
    forward.positions = positions
    found = scores_of(engine, GROUPS)
    assert engine.mode == "packed tree, fused layers"
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=2e-5)


def test_the_probe_accepts_it() -> None:
    forward = Forward(lively("llama"))
    assert Probe(forward).refusal(lambda: TreeEngine(forward, 4096, fused=True)) is None


@pytest.mark.parametrize("kind", ["granite"])
def test_the_probe_refuses_models_that_only_look_alike(kind: str) -> None:
    model = make(kind, residual_multiplier=0.5, logits_scaling=4.0)
    forward = Forward(model)
    reason = Probe(forward).refusal(lambda: TreeEngine(forward, 4096, fused=True))
    assert reason is not None and "differ" in reason
