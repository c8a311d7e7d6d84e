"""Unicode normalisation in a time that is linear in the length of any text.

The library puts the combining marks of one character in order by insertion, which takes a minute
for a hundred thousand of them. Knows characters alone.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import Literal

# Combining marks are neither letters nor digits nor white space, and begin at U+0300.
_MANY_MARKS = re.compile(r"[^\w\s\u0000-\u02ff]{32,}")


def normalise_unicode(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The text in a normal form, as `unicodedata.normalize` gives it."""
    return unicodedata.normalize(form, _MANY_MARKS.sub(_put_in_order, text))


def _put_in_order(match: re.Match[str]) -> str:
    decompositions = {one: unicodedata.normalize("NFD", one) for one in set(match[0])}
    if not any(unicodedata.combining(part) for parts in decompositions.values() for part in parts):
        return match[0]
    decomposed = "".join(decompositions[character] for character in match[0])
    parts: list[str] = []
    for marks, run in groupby(decomposed, key=lambda one: unicodedata.combining(one) > 0):
        # Sorting keeps the order of marks of one class, as canonical ordering does.
        characters = list(run)
        parts += sorted(characters, key=unicodedata.combining) if marks else characters
    return "".join(parts)
