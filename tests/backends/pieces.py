"""Tokenizers of the sentencepiece kind, trained on the sentences of `tiny`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from tests.backends.tiny import SENTENCES


def sentencepiece_folder(folder: Path, kind: str, file: str = "tokenizer") -> None:
    """A trained sentencepiece model with byte fallback, to be read by a class of transformers."""
    import sentencepiece

    text = folder / "text.txt"
    text.write_text("\n".join(part for line in SENTENCES * 20 for part in line.split("\n")))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / file),
        model_type="unigram" if kind == "T5Tokenizer" else "bpe",
        vocab_size=340,
        byte_fallback=True,
        character_coverage=1.0,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    described = {"tokenizer_class": kind, "add_bos_token": True, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))


def sentencepiece_tokenizer(folder: Path) -> Any:
    """Llama's tokenizer with a new-line token."""
    sentencepiece_folder(folder, "LlamaTokenizer")
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([AddedToken("<NL>", special=True)], special_tokens=True)
    return tokenizer


def metaspace_tokenizer(scheme: str) -> Any:
    """A unigram tokenizer with Metaspace, as rinna's and T5's are."""
    inner = Tokenizer(models.Unigram())
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    inner.decoder = decoders.Metaspace(prepend_scheme=scheme)
    trainer = trainers.UnigramTrainer(
        vocab_size=300,
        special_tokens=["<unk>", "<s>", "</s>"],
        unk_token="<unk>",
        show_progress=False,
    )
    inner.train_from_iterator(SENTENCES * 4, trainer)
    made: Any = PreTrainedTokenizerFast
    tokenizer = made(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<NL>"]})
    return tokenizer
