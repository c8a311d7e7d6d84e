"""Tokenizers so small that every count can be worked out on paper, and prompts for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, processors
from transformers import PreTrainedTokenizerFast

from tenbin.backends.base import Encoding
from tenbin.backends.text.inspection import HfInspector
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.records import Cell, Kind, Prompt

LETTERS = "abcdefghijklmnopqrstuvwxyz .:\n<>[]/NLISTY"
UNKNOWN, BOS, EOS = 0, 1, 2


def letter_tokenizer(
    merges: Sequence[str] = (),
    add_bos: bool = False,
    special: Sequence[str] = (),
    added: Sequence[str] = (),
    chat_template: str | None = None,
    byte_fallback: bool = False,
) -> Any:
    """One token a letter, plus the pairs that are merged wherever they stand.

    Args:
        merges: Pairs of letters, `bc`.
        add_bos: Whether `<s>` is put in front.
        special: Further special tokens.
        added: Words that are one token and not special.
        chat_template: In Jinja.
        byte_fallback: Spell what is no letter in bytes instead of `<unk>`.
    """
    words = ["<unk>", "<s>", "</s>", *LETTERS, *merges]
    if byte_fallback:
        words += [f"<0x{number:02X}>" for number in range(256)]
    vocabulary = {word: number for number, word in enumerate(words)}
    pairs = [(pair[0], pair[1:]) for pair in merges]
    inner = Tokenizer(models.BPE(vocabulary, pairs, unk_token="<unk>", byte_fallback=byte_fallback))
    inner.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    if add_bos:
        inner.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", BOS)]
        )
    made: Any = PreTrainedTokenizerFast
    tokenizer = made(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    tokenizer.add_tokens([AddedToken(word, special=True) for word in special], special_tokens=True)
    tokenizer.add_tokens([AddedToken(word, special=False) for word in added])
    tokenizer.chat_template = chat_template
    return tokenizer


def reader(
    encoding: Encoding = "joint",
    max_length: int = 64,
    add_bos_token: bool | None = None,
    names: Sequence[str] = ("model",),
    **options: Any,
) -> HfInspector:
    """A letter tokenizer, laid open."""
    inner = letter_tokenizer(**options)
    return HfInspector(HfTokenizer(inner, max_length, add_bos_token), encoding, names)


def prompt(
    text: str,
    *continuations: str,
    document: str = "d0",
    max_gen_toks: int = 4,
    examples: tuple[str, ...] = (),
    dropped: int = 0,
    kind: Kind | None = None,
) -> Prompt:
    """A prompt; without continuations it is for generation."""
    return Prompt(
        cell=Cell("task", "1.0", "plain", len(examples), 1),
        document=document,
        language="en",
        group=None,
        kind=kind or ("choice" if continuations else "generate"),
        text=text,
        continuations=continuations or None,
        choices=continuations or None,
        gold=0 if continuations else None,
        references=(),
        target="",
        stop=(),
        max_gen_toks=max_gen_toks,
        examples=examples,
        dropped_examples=dropped,
    )
