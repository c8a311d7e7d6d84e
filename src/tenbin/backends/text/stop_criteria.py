"""Generated tokens into text as they grow: stop strings, ends and whole characters.

Knows decoding and stop strings; knows no model. Many decoders drop a space at the start of what
they are given, so answers are decoded behind an anchor, a harmless word whose own text is taken
away again. The prompt's last tokens would not do: cut inside a character, they spoil what follows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from tenbin.records import Finish, Text

_ANCHORS = ("a", "1", ".", "の", "、")
_MARGIN = 12
"""Tokens whose start may be damaged when the middle of a text is decoded on its own."""
_BROKEN = "\ufffd"
"""What decoders give for bytes that are no character yet."""
_BYTES_LACKING = 3
"""Bytes of an unfinished character, at most."""


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
        specials = _specials(tokenizer)
        self._kept = [word for word in specials if any(word in text for text in self.stop)]
        self._dropped = set(specials.values()) - {specials[word] for word in self._kept}
        self._bytes = _byte_tokens(tokenizer)
        self._anchor = self._find_anchor()
        self._before = self._decode(self._anchor)
        # A character takes four bytes at most, and a token holds one byte at least.
        self.reach = max((len(text.encode()) for text in self.stop), default=0) + _MARGIN

    def text(self, tokens: Sequence[int]) -> str:
        """What the tokens say after a prompt."""
        tokens = [token for token in tokens if token not in self._dropped]
        whole = self._decode([*self._anchor, *tokens])
        if whole.startswith(self._before):
            return whole[len(self._before) :]
        return self._decode(tokens)

    def whole_characters(self, tokens: Sequence[int]) -> str:
        """What the tokens say, without the character that they leave unfinished.

        A decoder of byte tokens gives up on all bytes in a row when the last are wanting; without
        those the others can be read.
        """
        text = self.text(tokens)
        if not text.endswith(_BROKEN):
            return text
        ends = range(len(tokens), max(-1, len(tokens) - _BYTES_LACKING - 1), -1)
        texts = [self.text(tokens[:end]).rstrip(_BROKEN) for end in ends]
        return max(texts, key=len)

    def recent(self, tokens: Sequence[int]) -> Sequence[int]:
        """The last tokens, as many as may hold a stop string; never cut among byte tokens."""
        start = max(0, len(tokens) - self.reach - _MARGIN)
        while start > 0 and tokens[start] in self._bytes:
            start -= 1
        return tokens[start:]

    def first_stop(self, text: str) -> int | None:
        """Where the earliest stop string begins."""
        found = [at for stop in self.stop if (at := text.find(stop)) >= 0]
        return min(found, default=None)

    def cleaned(self, text: str) -> str:
        """Without special tokens that were kept for the stop strings' sake."""
        for word in self._kept:
            text = text.replace(word, "")
        return text

    def _find_anchor(self) -> list[int]:
        """A word that is no byte token, since bytes in a row are decoded together."""
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


class Growing(Protocol):
    """A text that grows by a token at a time."""

    finish: Finish | None
    """What completed it; None while it grows."""
    forced: tuple[int, ...]
    """Tokens that come next, whatever the model would choose."""

    def add(self, token: int) -> bool:
        """Take the next token; True when the text is complete."""
        ...

    def result(self, truncated: int) -> Text:
        """The text as an answer."""
        ...


class Writing:
    """One answer while it grows."""

    def __init__(
        self, decoder: Decoder, ends: Collection[int], limit: int, lead: str | None = None
    ) -> None:
        """Begin an answer.

        Args:
            decoder: For its stop strings.
            ends: Ids that end the answer.
            limit: Most tokens.
            lead: After a thought, what the token that closed it says of the answer; white space
                there belongs to the mark. None where nothing was thought.
        """
        self.finish: Finish | None = None
        self.forced: tuple[int, ...] = ()
        self._lead = lead
        self._decoder = decoder
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
        if self.finish == "stop":
            text = self._shaped(self._decoder.text(self._tokens))
            text = text[: self._decoder.first_stop(text)]
        else:
            text = self._shaped(self._decoder.whole_characters(self._tokens))
        return Text(
            self._decoder.cleaned(text), self.finish or "length", len(self._tokens), truncated
        )

    def _has_stop(self) -> bool:
        """Look at the newest tokens only; the whole text is decoded to be sure."""
        decoder = self._decoder
        if not decoder.stop:
            return False
        if decoder.first_stop(self._recent_text()) is None:
            return False
        return decoder.first_stop(self._shaped(decoder.text(self._tokens))) is not None

    def _recent_text(self) -> str:
        recent = self._decoder.recent(self._tokens)
        text = self._decoder.text(recent)
        return self._lead + text if self._lead and len(recent) == len(self._tokens) else text

    def _shaped(self, text: str) -> str:
        return text if self._lead is None else (self._lead + text).lstrip()


def _specials(tokenizer: Any) -> dict[str, int]:
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
    """The ids that stand for single bytes in sentencepiece vocabularies, named `<0x0A>`."""
    vocabulary = tokenizer.get_vocab()
    names = (f"<0x{byte:02X}>" for byte in range(256))
    return frozenset(vocabulary[name] for name in names if name in vocabulary)
