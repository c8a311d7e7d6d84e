"""A tokenizer laid open for diagnosis: what a run would ask, token by token, without a model.

Knows how the engine encodes, by calling the same functions; judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tenbin.backends.base import BackendSettings, Encoding
from tenbin.backends.checkpoint.checkpoint import open_named_tokenizer
from tenbin.backends.text.chat_format import chat_source
from tenbin.backends.text.encoding import (
    EncodedPrompt,
    EncodedScore,
    encode_pairs,
    encode_prompts,
    windowed,
)
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.backends.text.windows import encode_rolls
from tenbin.records import Failure, Generate, Prompt, Rolling, Score
from tenbin.records.tokenized import Reading, Vocabulary


class _Remembering(HfTokenizer):
    """Encodes each text once, however many of its questions concern it."""

    def __init__(self, inner: Any, max_length: int, add_bos: bool | None) -> None:
        self._known: dict[str, tuple[int, ...]] = {}
        super().__init__(inner, max_length, add_bos)

    def encode_answers(self, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Each distinct text without special tokens around it."""
        wanted = list(dict.fromkeys(texts))
        fresh = [text for text in wanted if text not in self._known]
        self._known.update(super().encode_answers(fresh))
        return {text: self._known[text] for text in wanted}

    def forget(self) -> None:
        """Let the texts of one cell go."""
        self._known.clear()


class HfReader:
    """Implements tenbin's TokenReader on a transformers tokenizer."""

    def __init__(
        self, tokenizer: HfTokenizer, encoding: Encoding, names: Sequence[str] = ()
    ) -> None:
        """Lay a tokenizer open.

        Args:
            tokenizer: As a run would use it.
            encoding: How a run would encode prompt and answer.
            names: What the model goes by.
        """
        self.tokenizer = tokenizer
        self._encoding = encoding
        self._remembering = _Remembering(tokenizer.inner, tokenizer.max_length, tokenizer.add_bos)
        self.vocabulary = _vocabulary(tokenizer, encoding, names)

    def read(self, prompts: Sequence[Prompt]) -> list[Reading]:
        """Each prompt in tokens, exactly as a run would ask it."""
        try:
            ways = {"choice": self._scored, "generate": self._written, "roll": self._rolled}
            found: dict[int, Reading] = {}
            for kind, read in ways.items():
                part = [at for at, prompt in enumerate(prompts) if prompt.kind == kind]
                found.update(zip(part, read([prompts[at] for at in part]), strict=True))
            return [found[at] for at in range(len(prompts))]
        finally:
            self._remembering.forget()

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Tokens of each text, without special tokens around it."""
        encoded = self.tokenizer.encode_answers(texts)
        return [encoded[text] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, special ones written out."""
        return str(self.tokenizer.inner.decode(list(ids), clean_up_tokenization_spaces=False))

    def _scored(self, prompts: Sequence[Prompt]) -> list[Reading]:
        tokenizer = self._remembering
        requests = [Score("", prompt.text, prompt.continuations or ()) for prompt in prompts]
        wholes = [[item.prompt + text for text in item.continuations] for item in requests]
        encoded = tokenizer.encode_prompts(
            [*(item.prompt for item in requests), *(text for group in wholes for text in group)]
        )
        pairs = encode_pairs(tokenizer, self._encoding, requests)
        readings = []
        for prompt, request, texts, found in zip(prompts, requests, wholes, pairs, strict=True):
            asked = windowed(tokenizer, request, found)
            readings.append(
                Reading(
                    prompt.document,
                    encoded[prompt.text],
                    found[0][0],
                    tuple(answer for _, answer in found),
                    tuple(encoded[text] for text in texts),
                    **_refused_or_cut(asked),
                )
            )
        return readings

    def _written(self, prompts: Sequence[Prompt]) -> list[Reading]:
        tokenizer = self._remembering
        requests = [
            Generate("", item.text, item.stop, item.max_gen_toks, thinking=item.thinking)
            for item in prompts
        ]
        encoded = tokenizer.encode_prompts(request.prompt for request in requests)
        readings = []
        for prompt, asked in zip(prompts, encode_prompts(tokenizer, requests), strict=True):
            ids = encoded[prompt.text]
            readings.append(
                Reading(
                    prompt.document,
                    ids,
                    ids,
                    new_tokens=prompt.room,
                    repeats=prompt.repeats,
                    **_refused_or_cut(asked),
                )
            )
        return readings

    def _rolled(self, prompts: Sequence[Prompt]) -> list[Reading]:
        tokenizer = self._remembering
        encoded = tokenizer.encode_prompts(prompt.text for prompt in prompts)
        rolls = encode_rolls(tokenizer, [Rolling("", prompt.text) for prompt in prompts])
        readings = []
        for prompt, asked in zip(prompts, rolls, strict=True):
            ids = encoded[prompt.text]
            if isinstance(asked, Failure):
                readings.append(Reading(prompt.document, ids, ids, failure=asked.kind))
            else:
                windows = tuple(row.ids for row in asked)
                readings.append(Reading(prompt.document, ids, ids, windows=windows))
        return readings


def open_reader(settings: BackendSettings) -> HfReader:
    """The tokenizer of the model that the settings name.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The tokenizer is not there.
    """
    opened = open_named_tokenizer(settings)
    return HfReader(opened.tokenizer, settings.encoding, opened.names)


def _refused_or_cut(asked: EncodedScore | EncodedPrompt | Failure) -> dict[str, Any]:
    if isinstance(asked, Failure):
        return {"failure": asked.kind}
    return {"truncated": max(0, asked.truncated)}


def _vocabulary(tokenizer: HfTokenizer, encoding: Encoding, names: Sequence[str]) -> Vocabulary:
    inner = tokenizer.inner
    added = {str(token): bool(token.special) for token in inner.added_tokens_decoder.values()}
    # Special words of the plain vocabulary, such as a sentencepiece <s>, are cut out as well.
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
        # Some vocabularies hold runs of spaces this way, which are nothing but spaces.
        added={word: special for word, special in added.items() if word.strip()},
        chat_template=chat_source(inner) or None,
        names=tuple(names),
    )
