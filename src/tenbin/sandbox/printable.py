r"""Texts and values of strangers, as a terminal, a log or a message may show them.

Rows, task files, model names and messages come from strangers. An escape sequence among them could
move the cursor, recolour a score, set the window's title or answer a prompt; a bidirectional
override could show a line in another order than it has; half a surrogate pair cannot be printed at
all. Imports nothing of tenbin.
"""

from __future__ import annotations

import re
import reprlib

# C0 without tab and line feed, DEL and C1; marks, embeddings, overrides and isolates of direction;
# separators of lines and paragraphs; tags; half surrogates, which no terminal can be sent.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_LONGEST_VALUE = 300
_SHORT = {"\r": r"\r", "\x0b": r"\v", "\x0c": r"\f", "\x07": r"\a", "\x08": r"\b", "\0": r"\0"}


def visible(text: str) -> str:
    r"""The text with control characters as `\x1b`, `\r`, `\u202e`; lines and tabs stay."""
    return _UNSAFE.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 task`, `1,200 tasks`.

    Args:
        number: How many.
        one: The noun for one of them.
        many: For several, where that is not the noun with an s.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def brief(text: str, longest: int) -> str:
    """`visible`, and no more than so many characters; those left out are counted."""
    if len(text) <= longest:
        return visible(text)
    return f"{visible(text[:longest])}… ({len(text) - longest:,} more characters)"


class _Brief(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxdict, self.maxtuple = 3, 5, 5, 5
        self.maxstring = self.maxother = self.maxlong = 200

    def repr_int(self, value: int, level: int) -> str:
        """Python does not write out numbers of thousands of digits."""
        long = value.bit_length() > 10_000
        return "a number of thousands of digits" if long else super().repr_int(value, level)


def shown(value: object) -> str:
    """A value as Python writes it, briefly: however much it holds, a message can repeat it."""
    text = _Brief().repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
