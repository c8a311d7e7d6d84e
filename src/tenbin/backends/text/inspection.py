"""Shows how prompts are tokenized, exactly as a run would do it, without loading a model.

Calls the same encoding functions as the engines; `tenbin doctor` judges what it shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tenbin.backends.base import Encoding
from tenbin.backends.text.chat_template import chat_source
from tenbin.backends.text.encoding import (
    EncodedPrompt,
    EncodedScore,
    encode_pairs,
    encode_prompts,
    encode_rolling,
    fit_window,
)
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.records import Failure, Generate, Prompt, Rolling, Score
from tenbin.records.tokenized import TokenizedPrompt, Vocabulary


class _CachingTokenizer(HfTokenizer):
    """Encodes each text once, though several checks ask for it."""

    def __init__(self, inner: Any, max_length: int, add_bos: bool | None) -> None:
        self._known: dict[str, tuple[int, ...]] = {}
        super().__init__(inner, max_length, add_bos)

    def encode_answers(self, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Encode each distinct text without special tokens around it."""
        wanted = list(dict.fromkeys(texts))
        fresh = [text for text in wanted if text not in self._known]
        self._known.update(super().encode_answers(fresh))
        return {text: self._known[text] for text in wanted}

    def clear(self) -> None:
        """Drop the texts of one cell."""
        self._known.clear()


class HfInspector:
    """Implements `TokenizerInspector` for a transformers tokenizer."""

    def __init__(
        self, tokenizer: HfTokenizer, encoding: Encoding, names: Sequence[str] = ()
    ) -> None:
        """Prepare to inspect a tokenizer.

        Args:
            tokenizer: As a run would use it.
            encoding: How a run would encode prompt and answer.
            names: Names of the model.
        """
        self.tokenizer = tokenizer
        self._encoding = encoding
        self._cached = _CachingTokenizer(tokenizer.inner, tokenizer.max_length, tokenizer.add_bos)
        self.vocabulary = _vocabulary(tokenizer, encoding, names)

    def tokenize(self, prompts: Sequence[Prompt]) -> list[TokenizedPrompt]:
        """Tokenize each prompt exactly as a run would."""
        try:
            by_kind = {
                "choice": self._scored,
                "loglikelihood": self._scored,
                "generate": self._generated,
                "perplexity": self._rolling,
            }
            found: dict[int, TokenizedPrompt] = {}
            for kind, tokenize in by_kind.items():
                part = [at for at, prompt in enumerate(prompts) if prompt.kind == kind]
                found.update(zip(part, tokenize([prompts[at] for at in part]), strict=True))
            return [found[at] for at in range(len(prompts))]
        finally:
            self._cached.clear()

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Encode each text without special tokens around it."""
        encoded = self.tokenizer.encode_answers(texts)
        return [encoded[text] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode tokens, special ones included."""
        return str(self.tokenizer.inner.decode(list(ids), clean_up_tokenization_spaces=False))

    def _scored(self, prompts: Sequence[Prompt]) -> list[TokenizedPrompt]:
        tokenizer = self._cached
        requests = [Score("", prompt.text, prompt.continuations or ()) for prompt in prompts]
        wholes = [[item.prompt + text for text in item.continuations] for item in requests]
        encoded = tokenizer.encode_prompts(
            [*(item.prompt for item in requests), *(text for group in wholes for text in group)]
        )
        pairs = encode_pairs(tokenizer, self._encoding, requests)
        tokenized = []
        for prompt, request, texts, found in zip(prompts, requests, wholes, pairs, strict=True):
            asked = fit_window(tokenizer, request, found)
            tokenized.append(
                TokenizedPrompt(
                    prompt.document,
                    encoded[prompt.text],
                    found[0][0],
                    tuple(answer for _, answer in found),
                    tuple(encoded[text] for text in texts),
                    **_refused_or_cut(asked),
                )
            )
        return tokenized

    def _generated(self, prompts: Sequence[Prompt]) -> list[TokenizedPrompt]:
        tokenizer = self._cached
        requests = [
            Generate("", item.text, item.stop, item.max_gen_toks, thinking=item.thinking)
            for item in prompts
        ]
        encoded = tokenizer.encode_prompts(request.prompt for request in requests)
        tokenized = []
        for prompt, asked in zip(prompts, encode_prompts(tokenizer, requests), strict=True):
            ids = encoded[prompt.text]
            tokenized.append(
                TokenizedPrompt(
                    prompt.document,
                    ids,
                    ids,
                    new_tokens=prompt.room,
                    repeats=prompt.repeats,
                    **_refused_or_cut(asked),
                )
            )
        return tokenized

    def _rolling(self, prompts: Sequence[Prompt]) -> list[TokenizedPrompt]:
        tokenizer = self._cached
        encoded = tokenizer.encode_prompts(prompt.text for prompt in prompts)
        windowed = encode_rolling(tokenizer, [Rolling("", prompt.text) for prompt in prompts])
        tokenized = []
        for prompt, asked in zip(prompts, windowed, strict=True):
            ids = encoded[prompt.text]
            if isinstance(asked, Failure):
                tokenized.append(TokenizedPrompt(prompt.document, ids, ids, failure=asked.kind))
            else:
                windows = tuple(row.ids for row in asked)
                tokenized.append(TokenizedPrompt(prompt.document, ids, ids, windows=windows))
        return tokenized


def _refused_or_cut(asked: EncodedScore | EncodedPrompt | Failure) -> dict[str, Any]:
    if isinstance(asked, Failure):
        return {"failure": asked.kind}
    return {"truncated": max(0, asked.truncated)}


def _vocabulary(tokenizer: HfTokenizer, encoding: Encoding, names: Sequence[str]) -> Vocabulary:
    inner = tokenizer.inner
    added = {str(token): bool(token.special) for token in inner.added_tokens_decoder.values()}
    # Special words of the plain vocabulary, such as a sentencepiece <s>, are one token as well.
    added.update(dict.fromkeys(map(str, inner.all_special_tokens), True))
    return Vocabulary(
        kind=type(inner).__name__,
        size=len(inner),
        max_length=tokenizer.max_length,
        encoding=encoding,
        bos=inner.bos_token_id,
        prefix=tokenizer.prefix,
        own_prefix=HfTokenizer(inner, tokenizer.max_length).prefix,
        unknown=inner.unk_token_id,
        # Some vocabularies hold runs of spaces this way, which mark nothing.
        added={word: special for word, special in added.items() if word.strip()},
        chat_template=chat_source(inner) or None,
        names=tuple(names),
    )
