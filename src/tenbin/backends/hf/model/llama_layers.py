"""Recognises Llama-like models by their modules, and merges projections that read the same input.

Llama-like are layers of an attention with separate query, key and value projections and rotary
embedding over whole heads, a feed-forward part gated by SiLU, and a root-mean-square norm before
each. A model's name decides nothing. Models that look alike and multiply something by a factor are
not distinguished here: whoever uses this compares logits with the model's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import linear, silu

_MERGED = "_tenbin_merged"
"""Attribute in which a module keeps its merged projections."""
_ATTENTION = {"q_proj", "k_proj", "v_proj", "o_proj"}
_HEAD_NORMS = {"q_norm", "k_norm"}
_FEED_FORWARD = {"gate_proj", "up_proj", "down_proj", "act_fn"}
_LAYER = {"self_attn", "mlp", "input_layernorm", "post_attention_layernorm"}


@dataclass(frozen=True, slots=True)
class Projection:
    """A linear layer, or several with the same input."""

    weight: torch.Tensor
    bias: torch.Tensor | None

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Project rows."""
        return linear(rows, self.weight, self.bias)


@dataclass(frozen=True, slots=True)
class LlamaLayer:
    """The weights of one decoder layer."""

    qkv: Projection
    out: Projection
    gate_up: Projection
    down: Projection
    before_attention: torch.Tensor
    before_feed_forward: torch.Tensor
    head_norms: tuple[torch.Tensor, torch.Tensor, float] | None
    """Weights of a norm on each query and each key head, and its eps."""


def misfit(model: Any) -> str | None:
    """Say why a model is not Llama-like; None if nothing speaks against it."""
    base: Any = getattr(model, "model", None)
    wanted = ("embed_tokens", "layers", "norm", "rotary_emb")
    if any(getattr(base, name, None) is None for name in wanted):
        return "its modules are not those of a Llama"
    if type(getattr(model, "lm_head", None)) is not nn.Linear or not len(base.layers):
        return "its head is not a plain linear layer"
    if _has_window(model.config.get_text_config()):
        return "its attention has a sliding window"
    for layer in base.layers:
        if reason := _layer_misfit(layer):
            return reason
    if norm_eps(base.norm) != norm_eps(base.layers[0].input_layernorm):
        return "its norms differ"
    return _rotation_misfit(base)


def _rotation_misfit(base: Any) -> str | None:
    """Say why the kernel does not rotate the heads as the model does; None if it may."""
    size = getattr(base.layers[0].self_attn, "head_dim", 0)
    angles = getattr(base.rotary_emb, "inv_freq", None)
    if angles is None or 2 * len(angles) != size:
        # The kernel would read cosines that are not there.
        return "its rotary embedding does not cover whole heads"
    return None


def _has_window(config: Any) -> bool:
    """Whether a token may not see all before it: a probe cannot exceed every window."""
    windows = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
    kinds = getattr(config, "layer_types", None)
    return any(windows) and (not kinds or set(kinds) != {"full_attention"})


def _layer_misfit(layer: Any) -> str | None:
    if _names(layer) != _LAYER or not _FEED_FORWARD - {"act_fn"} <= _names(layer.mlp):
        return "its layers have other parts than a Llama's"
    attention, feed_forward = layer.self_attn, layer.mlp
    if not _ATTENTION <= _names(attention) <= _ATTENTION | _HEAD_NORMS:
        return "its attention has other parts than a Llama's"
    if len(_names(attention) & _HEAD_NORMS) == 1 or not hasattr(attention, "scaling"):
        return "its attention has other parts than a Llama's"
    linears = [getattr(attention, name) for name in sorted(_ATTENTION)]
    linears += [feed_forward.gate_proj, feed_forward.up_proj, feed_forward.down_proj]
    if any(type(one) is not nn.Linear or hasattr(one, "_hf_hook") for one in linears):
        return "its projections are not plain linear layers"
    sample = torch.linspace(-4, 4, 9)
    gate = getattr(feed_forward, "act_fn", None)
    if gate is None or not torch.equal(gate(sample), silu(sample)):
        return "its gate is not SiLU"
    norms = [layer.input_layernorm, layer.post_attention_layernorm]
    if any(norm_eps(norm) is None or len(list(norm.parameters())) != 1 for norm in norms):
        return "its norms are of another kind"
    if norm_eps(norms[0]) != norm_eps(norms[1]):
        return "its norms differ"
    return None


def _names(module: Any) -> set[str]:
    return {name for name, _ in module.named_children()}


def norm_eps(norm: Any) -> Any:
    """Return the eps of a root-mean-square norm; None if it is something else."""
    return getattr(norm, "variance_epsilon", getattr(norm, "eps", None))


def merged_layer(layer: Any) -> LlamaLayer:
    """Merge the projections of a decoder layer, which keeps its weights as parts of them."""
    attention, feed_forward = layer.self_attn, layer.mlp
    head_norms = None
    if "q_norm" in _names(attention):
        eps = norm_eps(attention.q_norm)
        head_norms = (attention.q_norm.weight, attention.k_norm.weight, eps)
    return LlamaLayer(
        _merged(attention, (attention.q_proj, attention.k_proj, attention.v_proj)),
        Projection(attention.o_proj.weight, attention.o_proj.bias),
        _merged(feed_forward, (feed_forward.gate_proj, feed_forward.up_proj)),
        Projection(feed_forward.down_proj.weight, feed_forward.down_proj.bias),
        layer.input_layernorm.weight,
        layer.post_attention_layernorm.weight,
        head_norms,
    )


def _merged(owner: Any, linears: Sequence[nn.Linear]) -> Projection:
    """One projection instead of several; its parts go on serving as theirs."""
    made = vars(owner).get(_MERGED)
    if made is not None:
        return made  # type: ignore[no-any-return]
    weight = torch.cat([one.weight.data for one in linears])
    biases = [one.bias for one in linears]
    bias = None
    if any(one is not None for one in biases):
        none = [torch.zeros_like(one.weight[:, 0]) for one in linears]
        bias = torch.cat([b if b is not None else n for b, n in zip(biases, none, strict=True)])
    at = 0
    for one in linears:
        # A part of the merged weight, not a copy: memory holds each weight once.
        one.weight.data = weight[at : at + one.out_features]
        at += one.out_features
    made = Projection(weight, bias)
    # Past nn.Module's own __setattr__: this is no parameter of the model.
    vars(owner)[_MERGED] = made
    return made
