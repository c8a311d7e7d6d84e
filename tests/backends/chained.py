"""A real transformers model whose texts are known beforehand: every piece has its successor.

Attention and layers add nothing, the embedding is one-hot and the head maps each piece to the next
one, so that what it writes can be worked out on paper while caches, masks and batches are real.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END = "</s>"


def chained(chains: Sequence[Sequence[str]], special: Sequence[str] = ()) -> tuple[Any, Any]:
    """A model and its tokenizer.

    Args:
        chains: Pieces that follow each other; the last one of a chain is followed by the end, or
            by what another chain says of it.
        special: Pieces that are special tokens.
    """
    successors: dict[str, str] = {}
    for chain in chains:
        for piece, follower in zip(chain, [*chain[1:], END], strict=True):
            if piece not in successors or successors[piece] == END:
                successors[piece] = follower
    pieces = ["<unk>", END, *(piece for piece in successors if piece != END)]
    tokenizer = _tokenizer(pieces, special)
    return _model(pieces, successors), tokenizer


def _tokenizer(pieces: Sequence[str], special: Sequence[str]) -> Any:
    inner = Tokenizer(models.WordLevel({piece: at for at, piece in enumerate(pieces)}, "<unk>"))
    longest = sorted(pieces, key=len, reverse=True)
    words = Regex("|".join(map(re.escape, longest)))
    inner.pre_tokenizer = pre_tokenizers.Split(words, "isolated")
    inner.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token=END, unk_token="<unk>", clean_up_tokenization_spaces=False
    )
    tokenizer.add_special_tokens({"additional_special_tokens": list(special)})
    return tokenizer


def _model(pieces: Sequence[str], successors: Mapping[str, str]) -> Any:
    size = -(-len(pieces) // 4) * 4
    config = transformers.LlamaConfig(
        vocab_size=size,
        hidden_size=size,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=256,
        bos_token_id=None,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(size))
        model.model.layers[0].self_attn.o_proj.weight.zero_()
        model.model.layers[0].mlp.down_proj.weight.zero_()
        model.lm_head.weight.zero_()
        for piece, follower in successors.items():
            model.lm_head.weight[pieces.index(follower), pieces.index(piece)] = 1.0
    return model
