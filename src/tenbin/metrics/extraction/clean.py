"""Bring an answer into a plain form before a choice is looked for.

Knows how models decorate text: thinking blocks, emphasis, LaTeX, full-width and circled letters.
Does not know what an answer looks like.
"""

from __future__ import annotations

import re
import unicodedata

BOXED = "\ue000"
"""Stands where a LaTeX box opened: what follows is the answer, whatever the language."""

_THINKING = re.compile(r"<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSED = re.compile(r"</think(?:ing)?>", re.IGNORECASE)

# ASCII in full width, so that Ａ, （ and ： read as A, ( and : in every pattern.
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_QUOTES = {ord(mark): "'" for mark in "‘’‛´`"} | {ord(mark): '"' for mark in "“”„‟"}
_INVISIBLE = dict.fromkeys(
    [0xFEFF, 0x0640, 0x00AD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
_ARABIC_VOWELS = dict.fromkeys(range(0x064B, 0x0653))
_CIRCLED = {0x24B6 + index: f"({chr(65 + index)})" for index in range(26)}
_TRANSLATION = {**_FULL_WIDTH, **_QUOTES, **_INVISIBLE, **_ARABIC_VOWELS, **_CIRCLED}

_MATHEMATICAL = re.compile("[\U0001d400-\U0001d7ff]+")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|texttt)\s*\{([^{}]*)\}")
_LATEX_BOX = re.compile(r"\\f?box(?:ed)?\s*\{([^{}]*)\}")
_GLUED_EMPHASIS = re.compile(r"(?<=[A-Za-z0-9])(?:\*{1,3}|__)(?=[A-Za-z0-9])")
_EMPHASIS = re.compile(r"\*+|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~|\$")
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}|>+|[-•‣–])[ \t]+", re.MULTILINE)


def strip_thinking(text: str) -> str | None:
    """Drop the model's thinking.

    Returns:
        What was said after thinking; None when the thinking never ended, for then no answer was
        given. A closing tag without an opening one (the prompt opened it) ends the thinking too.
    """
    spoken = _THINKING.sub("", text)
    closings = list(_CLOSED.finditer(spoken))
    if closings:
        spoken = spoken[closings[-1].end() :]
    return None if _OPENED.search(spoken) else spoken


def fold(text: str) -> str:
    """Give one form to letters, quotes and marks; phrases are folded as the texts are."""
    plain = unicodedata.normalize("NFC", text)
    plain = _MATHEMATICAL.sub(lambda match: unicodedata.normalize("NFKC", match[0]), plain)
    return plain.translate(_TRANSLATION)


def simplify(text: str) -> str:
    """Take decoration off: one form for letters, quotes and boxes, and no emphasis marks."""
    plain = _LATEX_TEXT.sub(r"\1", fold(text))
    plain = _LATEX_BOX.sub(rf"{BOXED}\1 ", plain)
    plain = _GLUED_EMPHASIS.sub(" ", plain)
    plain = _EMPHASIS.sub("", plain)
    return _HEADING.sub("", plain).strip()
