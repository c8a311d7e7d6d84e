"""Metrics of whole texts: rolling log-likelihood over length, each in another unit of length.

A perplexity is a number of all texts together, not a mean over them: the outcome of a document
holds its log-likelihood and its length, and the aggregation sums both.
"""

from __future__ import annotations

import re

from tenbin.metrics.base import metric

_WHITE_SPACE = re.compile(r"\s+")


@metric("word_perplexity", "perplexity")
def count_words(text: str) -> int:
    """What white space divides, as lm-eval counts: an empty piece at either end is a word too."""
    return len(_WHITE_SPACE.split(text))


@metric("byte_perplexity", "perplexity")
def count_bytes(text: str) -> int:
    """Bytes of the text in UTF-8."""
    return len(text.encode("utf-8"))


@metric("bits_per_byte", "perplexity", aggregation="bits_per_byte")
def bits_per_byte(text: str) -> int:
    """Bytes of the text in UTF-8; aggregated to the bits that one of them takes."""
    return count_bytes(text)


@metric("char_perplexity", "perplexity")
def count_characters(text: str) -> int:
    """Unicode code points, spaces and line ends among them: for scripts without spaces too."""
    return len(text)
