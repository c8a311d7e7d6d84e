"""A pack through the layers of a Llama-like model, with few kernels between the matrix products.

`llama_layers` recognises such models; the probe compares log-probabilities with those of plain rows
before this is used. In the last layer only tokens whose logits are wanted go on after attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tenbin.backends.hf.kernels.decoder_layer_triton import add_norm, gated, rotate
from tenbin.backends.hf.kernels.tree_attention import TreePlan, active_plan, tree_attention
from tenbin.backends.hf.model.llama_layers import norm_eps
from tenbin.backends.hf.model.logprobs import slice_by_slice, token_logprobs
from tenbin.backends.hf.model.memory import send

_Angles = tuple[torch.Tensor, torch.Tensor]


class FusedPack:
    """The forward pass of one model over a pack."""

    def __init__(self, model: Any) -> None:
        """Take the modules of a model; its weights stay where they are.

        Args:
            model: A transformers causal language model that is Llama-like.
        """
        base, config = model.model, model.config.get_text_config()
        self._embed, self._rotary = base.embed_tokens, base.rotary_emb
        self._layers = list(base.layers)
        self._heads: int = config.num_attention_heads
        self._key_heads: int = config.num_key_value_heads
        self._norm, self._head = base.norm.weight, model.lm_head
        self._eps = norm_eps(base.norm)

    def values(
        self,
        ids: torch.Tensor,
        plan: TreePlan,
        places: Sequence[int],
        tokens: Sequence[int],
        positions: int,
    ) -> torch.Tensor:
        """Return the log-probabilities of tokens, as `token_logprobs` does.

        Args:
            ids: The tokens of the pack.
            plan: What attends to what.
            places: Where in the pack each token is predicted.
            tokens: The tokens.
            positions: Positions whose logits are held at a time.
        """
        device = ids.device
        kept = sorted(set(places))
        number = {place: at for at, place in enumerate(kept)}
        with active_plan(plan):
            hidden = self._hidden(ids, plan.positions, send(kept, device))

        def values_of(part: Sequence[int], here: list[int]) -> torch.Tensor:
            start = number[part[0]]
            where = [number[places[n]] - start for n in here]
            logits = self._head(hidden[start : start + len(part)])
            return token_logprobs(logits, where, [tokens[n] for n in here])

        return slice_by_slice(kept, places, positions, values_of)

    def _hidden(
        self, ids: torch.Tensor, positions: torch.Tensor, kept: torch.Tensor
    ) -> torch.Tensor:
        """What the head reads of the tokens at some places."""
        residual = self._embed(ids)
        cos, sin = self._rotary(residual[None], positions[None])
        angles = (cos[0].contiguous(), sin[0].contiguous())
        new = residual
        for number, layer in enumerate(self._layers):
            weight = layer.input_layernorm.weight
            normed = add_norm(new, residual, weight, self._eps, add=number > 0)
            mixed = self._attended(layer.self_attn, normed, angles)
            if layer is self._layers[-1]:
                mixed, residual = mixed[kept], residual[kept]
            weight = layer.post_attention_layernorm.weight
            normed = add_norm(layer.self_attn.o_proj(mixed), residual, weight, self._eps)
            part = layer.mlp
            new = part.down_proj(gated(part.gate_proj(normed), part.up_proj(normed)))
        return add_norm(new, residual, self._norm, self._eps)

    def _attended(self, attention: Any, normed: torch.Tensor, angles: _Angles) -> torch.Tensor:
        norms: list[tuple[torch.Tensor, float] | None] = [None, None]
        if hasattr(attention, "q_norm"):
            both = (attention.q_norm, attention.k_norm)
            norms = [(one.weight, norm_eps(one)) for one in both]
        query = rotate(attention.q_proj(normed), angles, self._heads, norms[0])
        key = rotate(attention.k_proj(normed), angles, self._key_heads, norms[1])
        value = attention.v_proj(normed)

        def apart(states: torch.Tensor, heads: int) -> torch.Tensor:
            return states.view(1, len(states), heads, -1).transpose(1, 2)

        mixed, _ = tree_attention(
            attention,
            apart(query, self._heads),
            apart(key, self._key_heads),
            apart(value, self._key_heads),
            None,
            scaling=attention.scaling,
            sliding_window=None,
        )
        return mixed.reshape(len(normed), -1)
