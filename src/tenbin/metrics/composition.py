"""Unicode normalisation in a time that is linear in the length of any text.

The library puts the combining marks of one character in order by insertion, which takes a minute
for a hundred thousand of them. Knows characters alone.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Literal

_FIRST_MARK, _AFTER_PLANE = 0x300, 0x10000
_FURTHER_MARKS = "\U000101fd-\U0001e94a"
"""Beyond the basic plane: one range is quick to test for, single characters are not."""
_MARKS_BY_DECOMPOSITION = "\u0f73\u0f75\u0f81"
"""No marks by their class, but made of marks."""
_MANY = 32


def normalise_unicode(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The text in a normal form, as `unicodedata.normalize` gives it."""
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
