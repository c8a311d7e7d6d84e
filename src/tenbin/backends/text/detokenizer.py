"""Turns generated tokens into text: stop strings, special tokens and whole characters.

Many decoders drop a space at the start of what they are given, so answers are decoded behind an
anchor, a harmless word whose own text is removed again. The prompt's last tokens would not do: cut
inside a character, they damage what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_ANCHORS = ("a", "1", ".", "の", "、")
_MARGIN = 12
"""Tokens whose start may be damaged when the middle of a text is decoded on its own."""
_REPLACEMENT = "\ufffd"
"""What decoders give for bytes that do not form a character yet."""
_BYTES_LACKING = 3
"""Most bytes that an unfinished UTF-8 character can have."""


class Detokenizer:
    """Decodes answers, dropping special tokens except those that a stop string needs."""

    def __init__(self, tokenizer: Any, stop: Sequence[str]) -> None:
        """Prepare for one set of stop strings.

        Args:
            tokenizer: The transformers tokenizer.
            stop: Stop strings; empty ones are ignored.
        """
        self._tokenizer = tokenizer
        self.stop = tuple(text for text in stop if text)
        specials = _special_tokens(tokenizer)
        self._kept = [word for word in specials if any(word in text for text in self.stop)]
        self._dropped = set(specials.values()) - {specials[word] for word in self._kept}
        self._bytes = _byte_tokens(tokenizer)
        self._anchor = self._find_anchor()
        self._anchor_text = self._decode(self._anchor)
        # A token holds at least one byte, so a stop string spans at most as many tokens as bytes.
        self.reach = max((len(text.encode()) for text in self.stop), default=0) + _MARGIN

    def text(self, tokens: Sequence[int]) -> str:
        """Decode the tokens as text that follows a prompt."""
        tokens = [token for token in tokens if token not in self._dropped]
        whole = self._decode([*self._anchor, *tokens])
        if whole.startswith(self._anchor_text):
            return whole[len(self._anchor_text) :]
        return self._decode(tokens)

    def whole_characters(self, tokens: Sequence[int]) -> str:
        """Decode the tokens without the character that they leave unfinished.

        A decoder of byte tokens gives up on a whole run of bytes when the last ones are missing;
        without the unfinished bytes the others can be decoded.
        """
        text = self.text(tokens)
        if not text.endswith(_REPLACEMENT):
            return text
        ends = range(len(tokens), max(-1, len(tokens) - _BYTES_LACKING - 1), -1)
        texts = [self.text(tokens[:end]).rstrip(_REPLACEMENT) for end in ends]
        return max(texts, key=len)

    def recent(self, tokens: Sequence[int]) -> Sequence[int]:
        """Return the last tokens, as many as may hold a stop string; never cut a run of bytes."""
        start = max(0, len(tokens) - self.reach - _MARGIN)
        while start > 0 and tokens[start] in self._bytes:
            start -= 1
        return tokens[start:]

    def first_stop(self, text: str) -> int | None:
        """Return where the earliest stop string begins, or None."""
        found = [at for stop in self.stop if (at := text.find(stop)) >= 0]
        return min(found, default=None)

    def cleaned(self, text: str) -> str:
        """Remove special tokens that were kept only to find stop strings."""
        for word in self._kept:
            text = text.replace(word, "")
        return text

    def _find_anchor(self) -> list[int]:
        """Find a word that is not made of byte tokens, since runs of bytes are decoded together."""
        for word in _ANCHORS:
            ids = list(self._tokenizer(word, add_special_tokens=False)["input_ids"])
            if ids and not self._bytes & set(ids) and self._decode(ids).strip() == word:
                return ids
        return []

    def _decode(self, tokens: Sequence[int]) -> str:
        return str(
            self._tokenizer.decode(
                list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )


def _special_tokens(tokenizer: Any) -> dict[str, int]:
    """All special tokens: the named ones, and those that only the vocabulary marks as special."""
    found = {
        str(token.content): int(number)
        for number, token in tokenizer.added_tokens_decoder.items()
        if token.special
    }
    for word in tokenizer.all_special_tokens:
        found.setdefault(str(word), int(tokenizer.convert_tokens_to_ids(word)))
    return {word: number for word, number in found.items() if word}


def _byte_tokens(tokenizer: Any) -> frozenset[int]:
    """The ids of single bytes in sentencepiece vocabularies, named `<0x0A>`."""
    vocabulary = tokenizer.get_vocab()
    names = (f"<0x{byte:02X}>" for byte in range(256))
    return frozenset(vocabulary[name] for name in names if name in vocabulary)
