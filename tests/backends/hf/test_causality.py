"""A model whose tokens see what follows them is refused, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import save_file

from tenbin.backends.base import BackendSettings
from tenbin.backends.hf.backend import HfBackend, open_hf
from tenbin.backends.hf.model.causality import require_causal
from tenbin.errors import BackendError
from tenbin.records import Generate, Request, Score
from tests.backends.tiny import make_model

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


def bert(vocabulary: int, is_decoder: bool) -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=vocabulary, is_decoder=is_decoder, initializer_range=0.3, **SMALL
    )
    return transformers.BertLMHeadModel(config).eval()


@pytest.mark.parametrize(
    "request_", [Score("k", "The answer", (" a", " b")), Generate("k", "The answer", (), 4)]
)
def test_an_encoder_is_refused_before_a_document_is_asked(
    request_: Request, tokenizer: Any
) -> None:
    backend = HfBackend.from_model(bert(len(tokenizer), is_decoder=False), tokenizer)
    with pytest.raises(BackendError, match=r"BertLMHeadModel is no causal .* no document"):
        list(backend.run([request_]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_decoders_pass(dtype: torch.dtype) -> None:
    for model in (bert(97, is_decoder=True), make_model("gemma2", 97), make_model("mamba", 97)):
        require_causal(model.to(dtype))
    with pytest.raises(BackendError):
        require_causal(bert(97, is_decoder=False).to(dtype))


def test_an_encoder_decoder_is_refused_before_its_weights(tmp_path: Path, tokenizer: Any) -> None:
    transformers.T5Config(vocab_size=len(tokenizer), d_model=32).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    save_file({"shared.weight": torch.zeros(1)}, tmp_path / "model.safetensors")
    with pytest.raises(BackendError, match=r"is an encoder-decoder model \(t5\)"):
        open_hf(BackendSettings("hf", {"pretrained": str(tmp_path)}, device="cpu"))
