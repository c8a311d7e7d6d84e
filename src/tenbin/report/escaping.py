r"""Show control characters as text: what is printed never speaks to the terminal.

Rows, task files, model names and messages come from strangers. An escape sequence among them could
move the cursor, recolour a score, set the window's title or answer a prompt; a bidirectional
override could show a line in another order than it has. Every print to a console goes through
`visible`; formats for machines (JSON, Parquet) stay exact. Imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# C0 without tab and line feed, DEL and C1; marks, embeddings, overrides and isolates of direction;
# separators of lines and paragraphs; tags; half surrogates, which no terminal can be sent.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SHORT = {"\r": r"\r", "\x0b": r"\v", "\x0c": r"\f", "\x07": r"\a", "\x08": r"\b", "\0": r"\0"}


def visible(text: str) -> str:
    r"""The text with control characters as `\x1b`, `\r`, `\u202e`; lines and tabs stay."""
    return _UNSAFE.sub(_written, text)


def made_visible(value: Any) -> Any:
    """A document for printing: `visible` over every text in it, keys included."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {made_visible(key): made_visible(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(made_visible(one) for one in value)
    return value


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
