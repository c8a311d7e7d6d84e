"""Bring an answer into a plain form before a choice is looked for.

Removes what models decorate text with: thinking blocks, emphasis, LaTeX, full-width and circled
letters. Unicode normalisation takes a time that is linear in the length of any text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Literal

BOXED = "\ue000"
"""Stands where a LaTeX box opened: what follows is the answer, whatever the language."""

_OPENED = re.compile(r"<(think|thinking)>", re.IGNORECASE)
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

_FORMED = re.compile(
    f"[{''.join(re.escape(chr(code)) for code in _TRANSLATION)}\U0001d400-\U0001d7ff]"
)
_MATHEMATICAL = re.compile("[\U0001d400-\U0001d7ff]+")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|texttt)\s*\{([^{}]*)\}")
_LATEX_BOX = re.compile(r"\\f?box(?:ed)?\s*\{([^{}]*)\}")
_GLUED_EMPHASIS = re.compile(r"(?<=[A-Za-z0-9])(?:\*{1,3}|__)(?=[A-Za-z0-9])")
_EMPHASIS = re.compile(r"\*+|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~|\$")
_FIRST_MARK, _AFTER_PLANE = 0x300, 0x10000
_FURTHER_MARKS = "\U000101fd-\U0001e94a"
"""Beyond the basic plane: one range is quick to test for, single characters are not."""
_MARKS_BY_DECOMPOSITION = "\u0f73\u0f75\u0f81"
"""No marks by their class, but made of marks."""
_MANY = 32

_HEADING = re.compile(r"^[ \t]*(?:#{1,6}|>+|[-•‣–])[ \t]+", re.MULTILINE)


def strip_thinking(text: str) -> str | None:
    """Drop the model's thinking.

    Returns:
        What was said after thinking; None when the thinking never ended, for then no answer was
        given. A closing tag without an opening one (the prompt opened it) ends the thinking too.
    """
    spoken = _without_blocks(text)
    closings = list(_CLOSED.finditer(spoken))
    if closings:
        spoken = spoken[closings[-1].end() :]
    return None if _OPENED.search(spoken) else spoken


def _without_blocks(text: str) -> str:
    """The text less what stands between an opening tag and the next closing one of its name."""
    kept: list[str] = []
    at = 0
    never_closed: set[str] = set()
    for opened in _OPENED.finditer(text):
        name = opened[1].lower()
        if opened.start() < at or name in never_closed:
            continue
        closed = re.compile(f"</{name}>", re.IGNORECASE).search(text, opened.end())
        if closed is None:
            # No later tag of this name is closed either: looking on each time would be quadratic.
            never_closed.add(name)
            continue
        kept.append(text[at : opened.start()])
        at = closed.end()
    return "".join(kept) + text[at:]


def fold(text: str) -> str:
    """Give one form to letters, quotes and marks; phrases are folded as the texts are."""
    if text.isascii():
        return text.replace("`", "'")
    plain = normalise_unicode("NFC", text)
    # A table is slow beside a look whether any of it is there.
    if _FORMED.search(plain) is None:
        return plain
    plain = _MATHEMATICAL.sub(lambda match: unicodedata.normalize("NFKC", match[0]), plain)
    return plain.translate(_TRANSLATION)


def simplify(text: str) -> str:
    """Take decoration off: one form for letters, quotes and boxes, and no emphasis marks."""
    plain = fold(text)
    if "\\" in plain:
        plain = _LATEX_TEXT.sub(r"\1", plain)
        plain = _LATEX_BOX.sub(rf"{BOXED}\1 ", plain)
    if any(mark in plain for mark in "*_~$"):
        plain = _GLUED_EMPHASIS.sub(" ", plain)
        plain = _EMPHASIS.sub("", plain)
    return _HEADING.sub("", plain).strip()


def normalise_unicode(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """The text in a normal form, as `unicodedata.normalize` gives it.

    The library puts the combining marks of one character in order by insertion, which takes a
    minute for a hundred thousand of them: long rows of marks are put in order before.
    """
    if text.isascii():
        return text
    return unicodedata.normalize(form, _many_marks().sub(_put_in_order, text))


@lru_cache
def _many_marks() -> re.Pattern[str]:
    characters = map(chr, range(_FIRST_MARK, _AFTER_PLANE))
    marks = "".join(filter(unicodedata.combining, characters)) + _MARKS_BY_DECOMPOSITION
    return re.compile(f"[{marks}{_FURTHER_MARKS}]{{{_MANY},}}")


def _put_in_order(match: re.Match[str]) -> str:
    decompositions = {one: unicodedata.normalize("NFD", one) for one in set(match[0])}
    decomposed = "".join(decompositions[character] for character in match[0])
    parts: list[str] = []
    for marks, run in groupby(decomposed, key=lambda one: unicodedata.combining(one) > 0):
        # Sorting keeps the order of marks of one class, as canonical ordering does.
        characters = list(run)
        parts += sorted(characters, key=unicodedata.combining) if marks else characters
    return "".join(parts)
