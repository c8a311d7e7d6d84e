"""The API key: read from the environment, sent to one server, removed from every other text.

A server may repeat the key as it is, escaped for JSON, a URL or HTML, in base64 or hexadecimal, or
in parts. Texts are searched as they are and with their escapes resolved; what is replaced is the
place in the original text.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, takewhile

from tenbin.errors import ConfigError

MARK = "[key]"
_SHORTEST_IN_MESSAGES = 8
"""Shortest key, or part of one, that is searched for anywhere in a message."""
_SHORTEST_WORD = 4
"""Shortest key that is searched for as a word of its own."""
_SHORTEST_IN_ANSWERS = 12
"""Shortest key that cannot occur in a model's answer by chance; `EMPTY` can."""
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "sol": "/", "plus": "+"}
_ESCAPE = re.compile(
    r"%(?:25){0,3}([2-7][0-9a-fA-F])"
    r"|\\{1,8}(?:u00|x)([2-7][0-9a-fA-F])"
    r"|&(?:amp;){0,3}#[xX]0{0,4}([2-7][0-9a-fA-F]);"
    r"|&(?:amp;){0,3}#0{0,4}([0-9]{2,3});"
    r"|&(?:amp;){0,3}(amp|lt|gt|quot|apos|sol|plus);"
    r"|\\{1,8}([^\w\s\\])"
)
"""One escaped ASCII character. Every repetition is bounded, so that a search stays linear."""
_MOST_PLACES = 1_000
"""Most occurrences in one text; beyond them the rest of the text is removed as a whole."""
_HINTS = ("%", "&", "\\u00", "\\x", "\\/")
"""Marks in raw JSON that show that a string may hold an escape."""


class Scrubber:
    """Removes one key from texts."""

    __slots__ = ("_coded", "_key", "_keys", "_shortest_part")

    def __init__(self, key: str) -> None:
        """Prepare the forms of a key.

        Args:
            key: Without white space; may be empty, and then nothing is removed.
        """
        self._key = key
        # A key may itself look escaped, and would be resolved with the text.
        self._keys = tuple(dict.fromkeys((key, _resolved(key))))
        self._coded = tuple(_coded_forms(key)) if len(key) >= _SHORTEST_IN_MESSAGES else ()
        self._shortest_part = max(_SHORTEST_IN_ANSWERS, len(key) // 2)

    def from_message(self, text: str) -> str:
        """A message without the key, its encoded forms and longer parts of it."""
        if not self._key:
            return text
        if len(self._key) < _SHORTEST_IN_MESSAGES:
            return self._short(text)
        return self._cut(text, _SHORTEST_IN_MESSAGES)

    def from_answer(self, text: str) -> str:
        """A model's text without the key, its encoded forms and halves of it.

        A short key is not removed: it may be a word of the text.
        """
        if len(self._key) < _SHORTEST_IN_ANSWERS or not self._may_hold(text):
            return text
        return self._cut(text, self._shortest_part)

    def may_be_in(self, written: str) -> bool:
        """Whether a string of this JSON may hold the key: a quick check of the raw JSON."""
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
    """Where parts of a key of at least `shortest` characters occur."""
    for offset, block in _blocks(key, shortest):
        before, rest = key[:offset][::-1], key[offset:]
        for at in _occurrences(block, text):
            back = _common(before, text[max(0, at - offset) : at][::-1])
            ahead = _common(rest, text[at : at + len(rest)])
            if back + ahead >= shortest:
                yield at - back, at + ahead


def _blocks(key: str, shortest: int) -> Iterator[tuple[int, str]]:
    """Pieces of a key with their offsets; any part of that length contains a whole piece."""
    size = (shortest + 1) // 2
    for at in range(0, len(key) - size + 1, size):
        yield at, key[at : at + size]


def _occurrences(form: str, text: str) -> Iterator[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + 1)


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    """Length of the common prefix of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _coded_forms(key: str) -> Iterator[str]:
    """The key in hexadecimal, and the part of its base64 that does not depend on its neighbours."""
    written = key.encode()
    yield written.hex()
    yield written.hex().upper()
    for before, dropped in ((0, 0), (1, 2), (2, 3)):
        padded = b"\0" * before + written
        # The last letters depend on the following bytes, unless the key fills them.
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
    """Offset in the text of each character of the resolved text, and of its end."""
    lengths: list[int] = []
    at = 0
    for found in _ESCAPE.finditer(text):
        lengths += [1] * (found.start() - at) + [found.end() - found.start()]
        at = found.end()
    lengths += [1] * (len(text) - at)
    return [0, *accumulate(lengths)]


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with its spans replaced; adjacent spans become one mark."""
    kept: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if not kept or start > at:
            kept += [text[at:start], MARK]
        at = max(at, end)
    return "".join((*kept, text[at:]))


USUAL_VARIABLE = "OPENAI_API_KEY"
_LONGEST = 4096
"""Most characters of a key: servers limit the size of headers."""


class Secret:
    """A key that no text shows, its own repr included."""

    __slots__ = ("_key", "_scrubber", "variable")

    def __init__(self, key: str = "", variable: str = USUAL_VARIABLE) -> None:
        self._key = key
        self._scrubber = Scrubber(key)
        self.variable = variable

    def __repr__(self) -> str:
        return f"Secret({self.variable}, {'set' if self._key else 'not set'})"

    def __bool__(self) -> bool:
        return bool(self._key)

    @property
    def sent_from(self) -> str | None:
        """The environment variable of the key that every call sends; None without a key."""
        return self.variable if self._key else None

    def headers(self) -> dict[str, str]:
        """The authorization header of a call."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def scrubbed(self, text: str) -> str:
        """A message without the key, which some servers repeat in their errors."""
        return self._scrubber.from_message(text)

    def scrubbed_answer(self, text: str) -> str:
        """A model's text without the key; a short key is not removed."""
        return self._scrubber.from_answer(text)

    def may_be_in(self, written: str) -> bool:
        """Whether strings of this JSON may hold the key, by a quick check of the raw JSON."""
        return self._scrubber.may_be_in(written)


def read_secret(variable: str | None) -> Secret:
    """Read the key from the environment.

    Args:
        variable: Its name there; None: OPENAI_API_KEY, which need not be set.

    Raises:
        ConfigError: The named variable is not set, or its value cannot be a key.
    """
    name = variable or USUAL_VARIABLE
    key = os.environ.get(name, "").strip()
    if variable is not None and not key:
        raise ConfigError(
            f"api_key_env={variable}: the environment has no such variable",
            f"export {variable}=…, or leave api_key_env out",
        )
    if not key.isascii() or any(mark.isspace() or not mark.isprintable() for mark in key):
        raise ConfigError(
            f"{name} holds spaces or characters that no key has", "set it to the key alone"
        )
    if len(key) > _LONGEST:
        raise ConfigError(
            f"{name} holds {len(key):,} characters, more than any key", "set it to the key alone"
        )
    return Secret(key, name)
