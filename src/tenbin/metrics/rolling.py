"""The length of a text in the units that perplexities are given in.

Knows texts alone; does not know their likelihood, nor how documents are summed up: a perplexity is
a number of the whole set of texts, not a mean over them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_WHITE_SPACE = re.compile(r"\s+")


def count_words(text: str) -> int:
    """What white space divides, as lm-eval counts: an empty piece at either end is a word too."""
    return len(_WHITE_SPACE.split(text))


def count_bytes(text: str) -> int:
    """Bytes of the text in UTF-8."""
    return len(text.encode("utf-8"))


def count_characters(text: str) -> int:
    """Unicode code points, spaces and line ends among them."""
    return len(text)


UNITS: Mapping[str, Callable[[str], int]] = {
    "word_perplexity": count_words,
    "byte_perplexity": count_bytes,
    "bits_per_byte": count_bytes,
    "char_perplexity": count_characters,
}
"""What each metric of a roll divides by."""
