"""Decode steps of Llama-like models in few kernels, over a paged KV cache.

`llama_layers` recognises such models; the probe compares the logits with those of generate before
such steps are used.
"""

from __future__ import annotations

from typing import Any

import torch

from tenbin.backends.hf.generation.paged_cache import PagedCache
from tenbin.backends.hf.kernels.decoder_layer_triton import add_norm, gated, rotate_and_write
from tenbin.backends.hf.kernels.paged_attention_triton import (
    attend_pages,
    members_per_group,
    takes,
)
from tenbin.backends.hf.model.llama_layers import merged_layer, norm_eps
from tenbin.backends.hf.model.memory import input_device, release_memory


class FusedDecode:
    """The decode step of one model."""

    def __init__(self, model: Any) -> None:
        """Merge the projections of each layer that read the same input.

        The model's own modules keep their weights, as parts of the merged ones.

        Args:
            model: A transformers causal language model that is Llama-like.

        Raises:
            NotImplementedError: The kernels do not take its heads.
        """
        base, config = model.model, model.config.get_text_config()
        attention = base.layers[0].self_attn
        self._embed, self._rotary = base.embed_tokens, base.rotary_emb
        self._heads: int = config.num_attention_heads
        self._key_heads: int = config.num_key_value_heads
        self._size: int = attention.head_dim
        self._scale = float(attention.scaling)
        self._eps = norm_eps(base.norm)
        self._norm, self._head = base.norm.weight, model.lm_head
        self._dtype, self.device = base.norm.weight.dtype, input_device(model)
        if not takes(self._dtype, self._size):
            raise NotImplementedError(f"heads of {self._size} in {self._dtype}")
        self._layers = [merged_layer(one) for one in base.layers]
        # The weights that were merged have left holes, which the KV cache could not use.
        release_memory(self.device)

    def cache(self, rows: int, length: int, pages: int) -> PagedCache:
        """Return an empty cache for this model."""
        members = members_per_group(self._heads // self._key_heads)
        return PagedCache(rows, length, pages, members, self.device)

    def logits(
        self, cache: PagedCache, tokens: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """Run a step on the first rows of a cache that is up to date.

        Args:
            cache: Holds the rows.
            tokens: One token per row.
            positions: Its position in each row.

        Returns:
            The logits that follow, rows × vocabulary.
        """
        residual = self._embed(tokens)
        cos, sin = self._rotary(residual[:, None], positions[:, None])
        angles = (cos[:, 0].contiguous(), sin[:, 0].contiguous())
        new = residual
        for number, layer in enumerate(self._layers):
            normed = add_norm(new, residual, layer.before_attention, self._eps, add=number > 0)
            states = cache.states(number, self._key_heads, self._size, self._dtype)
            table = cache.pages.table
            query = rotate_and_write(
                layer.qkv(normed), angles, positions, table, states, self._heads, layer.head_norms
            )
            mixed = attend_pages(
                query, *states, positions, cache.pages, cache.reach, self._scale, cache.has_groups
            )
            normed = add_norm(layer.out(mixed), residual, layer.before_feed_forward, self._eps)
            new = layer.down(gated(*layer.gate_up(normed).chunk(2, dim=1)))
        normed = add_norm(new, residual, self._norm, self._eps)
        found: torch.Tensor = self._head(normed)
        return found
