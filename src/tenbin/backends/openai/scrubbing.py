"""Texts without a key, however a server wrote it.

A server may repeat the key as it is, escaped for JSON, a URL or HTML, in base64 or hexadecimal, or
in parts. Texts are searched as they are and with their escapes resolved; what is replaced is the
place in the text as it was. Knows no requests.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, takewhile

MARK = "[key]"
_SHORTEST_IN_MESSAGES = 8
"""Characters from which a key, or a part of one, is looked for anywhere in a message."""
_SHORTEST_WORD = 4
"""Characters from which a shorter key is looked for as a word of its own."""
_SHORTEST_IN_ANSWERS = 12
"""Characters from which a key cannot stand in a model's answer by chance; `EMPTY` can."""
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "sol": "/", "plus": "+"}
_ESCAPE = re.compile(
    r"%(?:25){0,3}([2-7][0-9a-fA-F])"
    r"|\\{1,8}(?:u00|x)([2-7][0-9a-fA-F])"
    r"|&(?:amp;){0,3}#[xX]0{0,4}([2-7][0-9a-fA-F]);"
    r"|&(?:amp;){0,3}#0{0,4}([0-9]{2,3});"
    r"|&(?:amp;){0,3}(amp|lt|gt|quot|apos|sol|plus);"
    r"|\\{1,8}([^\w\s\\])"
)
"""One escaped character of ASCII. Every repetition is bounded, so that a search stays linear."""
_MOST_PLACES = 1_000
"""Places of a key in one text; where there are more, the rest of the text goes as a whole."""
_HINTS = ("%", "&", "\\u00", "\\x", "\\/")
"""What JSON holds, as it travels, where one of its strings may have an escape in it."""


class Scrubber:
    """Takes one key out of texts."""

    __slots__ = ("_coded", "_key", "_keys", "_shortest_part")

    def __init__(self, key: str) -> None:
        """Prepare the forms of a key.

        Args:
            key: Without white space; may be empty, and then nothing is taken out.
        """
        self._key = key
        # A key may look escaped itself, and is resolved where a text is.
        self._keys = tuple(dict.fromkeys((key, _resolved(key))))
        self._coded = tuple(_coded_forms(key)) if len(key) >= _SHORTEST_IN_MESSAGES else ()
        self._shortest_part = max(_SHORTEST_IN_ANSWERS, len(key) // 2)

    def from_message(self, text: str) -> str:
        """A message without the key, its coded forms and longer parts of it."""
        if not self._key:
            return text
        if len(self._key) < _SHORTEST_IN_MESSAGES:
            return self._short(text)
        return self._cut(text, _SHORTEST_IN_MESSAGES)

    def from_answer(self, text: str) -> str:
        """A model's text without the key, its coded forms and halves of it.

        A short key may be a word of the text, and stays.
        """
        if len(self._key) < _SHORTEST_IN_ANSWERS or not self._may_hold(text):
            return text
        return self._cut(text, self._shortest_part)

    def may_be_in(self, written: str) -> bool:
        """Whether a string of this JSON may hold the key: a quick look at the JSON as it came."""
        if len(self._key) < _SHORTEST_IN_ANSWERS:
            return False
        return any(hint in written for hint in _HINTS) or self._stands_in(written)

    def _may_hold(self, text: str) -> bool:
        return self._stands_in(text) or self._stands_in(_resolved(text))

    def _stands_in(self, text: str) -> bool:
        shortest = self._shortest_part
        blocks = (block for key in self._keys for _, block in _blocks(key, shortest))
        return any(form in text for form in (*blocks, *self._coded))

    def _short(self, text: str) -> str:
        key = re.escape(self._key)
        text = re.sub(rf"(Bearer\s{{1,8}}){key}(?!\w)", rf"\1{MARK}", text)
        if len(self._key) >= _SHORTEST_WORD:
            text = re.sub(rf"(?<!\w){key}(?!\w)", MARK, text)
        return text

    def _cut(self, text: str, shortest: int) -> str:
        spans = list(self._spans(text, shortest))
        plain = _resolved(text)
        if plain != text and (found := list(self._spans(plain, shortest))):
            places = _places(text)
            spans += [(places[start], places[end]) for start, end in found]
        return _without(text, spans)

    def _spans(self, text: str, shortest: int) -> Iterator[tuple[int, int]]:
        parts = (_part_spans(key, text, shortest) for key in self._keys)
        found = chain(self._coded_spans(text), *parts)
        for number, (start, end) in enumerate(found):
            if number == _MOST_PLACES:
                yield start, len(text)
                return
            yield start, end

    def _coded_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for form in self._coded:
            for at in _occurrences(form, text):
                yield at, at + len(form)


def _part_spans(key: str, text: str, shortest: int) -> Iterator[tuple[int, int]]:
    """Where parts of a key stand that are no shorter than so many characters."""
    for offset, block in _blocks(key, shortest):
        before, rest = key[:offset][::-1], key[offset:]
        for at in _occurrences(block, text):
            back = _common(before, text[max(0, at - offset) : at][::-1])
            ahead = _common(rest, text[at : at + len(rest)])
            if back + ahead >= shortest:
                yield at - back, at + ahead


def _blocks(key: str, shortest: int) -> Iterator[tuple[int, str]]:
    """Pieces of a key with their places; any part of that length holds one of them whole."""
    size = (shortest + 1) // 2
    for at in range(0, len(key) - size + 1, size):
        yield at, key[at : at + size]


def _occurrences(form: str, text: str) -> Iterator[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + 1)


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    """How many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _coded_forms(key: str) -> Iterator[str]:
    """The key in hexadecimal and base64; of the latter what does not depend on its neighbours."""
    written = key.encode()
    yield written.hex()
    yield written.hex().upper()
    for before, dropped in ((0, 0), (1, 2), (2, 3)):
        padded = b"\0" * before + written
        # The last letters depend on what follows, where the bytes do not fill them.
        whole = len(padded) // 3 * 4 + (0, 1, 2)[len(padded) % 3]
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded).decode()[dropped:whole]


def _character(found: re.Match[str]) -> str:
    hexadecimal = found[1] or found[2] or found[3]
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    if found[4]:
        return chr(int(found[4]))
    return _NAMED[found[5]] if found[5] else found[6]


def _resolved(text: str) -> str:
    """A text with its escapes resolved, one character for each."""
    if not any(mark in text for mark in ("%", "&", "\\")):
        return text
    return _ESCAPE.sub(_character, text)


def _places(text: str) -> list[int]:
    """Where each character of the resolved text begins in the text, and the end of all."""
    lengths: list[int] = []
    at = 0
    for found in _ESCAPE.finditer(text):
        lengths += [1] * (found.start() - at) + [found.end() - found.start()]
        at = found.end()
    lengths += [1] * (len(text) - at)
    return [0, *accumulate(lengths)]


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text whose spans are replaced, those that touch each other as one."""
    kept: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if not kept or start > at:
            kept += [text[at:start], MARK]
        at = max(at, end)
    return "".join((*kept, text[at:]))
