"""Generated tokens into text as they grow: stop strings, ends and whole characters.

Knows decoding and stop strings; knows no model. What follows the prompt is found by decoding
the prompt's tail with the new tokens and taking the tail's own text away, since many decoders
drop a space at the start of what they are given.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

from tenbin.records import Text

_TAIL = 8
"""Prompt tokens that are decoded with the answer."""
_MARGIN = 12
"""Tokens whose start may be damaged when the middle of a text is decoded on its own."""
_BROKEN = "\ufffd"
"""What decoders give for bytes that are no character yet."""


class Decoder:
    """Decodes answers after a prompt, without special tokens but those a stop string needs."""

    def __init__(self, tokenizer: Any, stop: Sequence[str]) -> None:
        """Prepare for one set of stop strings.

        Args:
            tokenizer: The transformers tokenizer.
            stop: Stop strings; empty ones are left out.
        """
        self._tokenizer = tokenizer
        self.stop = tuple(text for text in stop if text)
        specials = dict(zip(tokenizer.all_special_tokens, tokenizer.all_special_ids, strict=True))
        self._kept = [
            word
            for word in specials
            if any(word in text or text in word for text in self.stop) and word
        ]
        self._dropped = set(specials.values()) - {specials[word] for word in self._kept}
        # A character takes four bytes at most, and a token holds one byte at least.
        self.reach = max((len(text.encode()) for text in self.stop), default=0) + _MARGIN

    def text(self, tail: Sequence[int], tokens: Sequence[int]) -> str:
        """What the tokens say after the tail."""
        tokens = [token for token in tokens if token not in self._dropped]
        before, whole = self._decode(tail), self._decode([*tail, *tokens])
        return whole[len(before) :] if whole.startswith(before) else self._decode(tokens)

    def first_stop(self, text: str) -> int | None:
        """Where the earliest stop string begins."""
        found = [at for stop in self.stop if (at := text.find(stop)) >= 0]
        return min(found, default=None)

    def cleaned(self, text: str) -> str:
        """Without special tokens that were kept for the stop strings' sake."""
        for word in self._kept:
            text = text.replace(word, "")
        return text

    def _decode(self, tokens: Sequence[int]) -> str:
        return str(
            self._tokenizer.decode(
                list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )


class Writing:
    """One answer while it grows."""

    def __init__(
        self, decoder: Decoder, prompt: Sequence[int], ends: Collection[int], limit: int
    ) -> None:
        """Begin an answer.

        Args:
            decoder: For its stop strings.
            prompt: The prompt's ids.
            ends: Ids that end the answer.
            limit: Most tokens.
        """
        self.finish: Literal["stop", "end", "length"] | None = None
        self._decoder = decoder
        self._tail = list(prompt[-_TAIL:])
        self._ends = ends
        self._limit = limit
        self._tokens: list[int] = []

    def add(self, token: int) -> bool:
        """Take the next token; True when the answer is complete."""
        if self.finish is not None:
            return True
        self._tokens.append(token)
        if self._has_stop():
            self.finish = "stop"
        elif token in self._ends:
            self._tokens.pop()
            self.finish = "end"
        elif len(self._tokens) >= self._limit:
            self.finish = "length"
        return self.finish is not None

    def result(self, truncated: int) -> Text:
        """The answer, cut before its first stop string and never inside a character."""
        text = self._decoder.text(self._tail, self._tokens)
        if self.finish == "stop":
            text = text[: self._decoder.first_stop(text)]
        else:
            text = text.rstrip(_BROKEN)
        return Text(
            self._decoder.cleaned(text), self.finish or "length", len(self._tokens), truncated
        )

    def _has_stop(self) -> bool:
        """Look at the newest tokens only; the whole text is decoded to be sure."""
        if not self._decoder.stop:
            return False
        reach = self._decoder.reach
        recent = self._tokens[-reach:]
        before = self._tokens[:-reach][-_MARGIN:] if len(self._tokens) > reach else []
        tail = [*self._tail, *before][-_MARGIN:]
        if self._decoder.first_stop(self._decoder.text(tail, recent)) is None:
            return False
        whole = self._decoder.text(self._tail, self._tokens)
        return self._decoder.first_stop(whole) is not None
