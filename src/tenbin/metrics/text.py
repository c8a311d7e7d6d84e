"""Metrics of generated text in any language."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from tenbin.metrics.base import metric
from tenbin.metrics.options import PATTERNS, SWITCH
from tenbin.metrics.patterns import substitute

# Beyond ASCII a pattern is several times as quick as `str.translate`.
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
_DIGITS = re.compile(f"[{string.digits}]+")


@metric(
    "exact_match",
    "generate",
    options={
        "ignore_case": SWITCH,
        "ignore_punctuation": SWITCH,
        "ignore_numbers": SWITCH,
        "regexes_to_ignore": PATTERNS,
    },
)
def exact_match(
    answer: str,
    references: Sequence[str],
    *,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
    regexes_to_ignore: Sequence[str] = (),
) -> float:
    """1 when the answer equals any reference, else 0.

    Args:
        answer: What was read out of the generated text.
        references: Accepted answers.
        ignore_case: Compare in lower case.
        ignore_punctuation: Drop ASCII punctuation on both sides.
        ignore_numbers: Drop ASCII digits on both sides.
        regexes_to_ignore: Drop what these match on both sides, before all else.

    Raises:
        UnjudgedError: A pattern ran out of time on the answer or on a reference.
    """
    if not (ignore_case or ignore_punctuation or ignore_numbers or regexes_to_ignore):
        return 1.0 if answer in references else 0.0

    def reduce(text: str) -> str:
        for pattern in regexes_to_ignore:
            text = substitute(pattern, "", text)
        text = text.lower() if ignore_case else text
        text = _PUNCTUATION.sub("", text) if ignore_punctuation else text
        return _DIGITS.sub("", text) if ignore_numbers else text

    reduced = reduce(answer)
    return 1.0 if any(reduced == reduce(reference) for reference in references) else 0.0


@metric("format_failure", "generate", higher_is_better=False, unread=1.0)
def format_failure(answer: str, references: Sequence[str]) -> float:
    """0: an answer could be read; where none could, the value is 1."""
    return 0.0


@metric("number_match", "generate")
def number_match(answer: str, references: Sequence[str]) -> float:
    """1 when the answer is the number of any reference, however it is written; else 0.

    12, 12.0, 012 and +12 are one number, and 1,080 is 1080. A text that is no number equals none.
    """
    from tenbin.metrics.extraction.numerals import plain_number

    number = plain_number(answer)
    return float(number is not None and any(number == plain_number(one) for one in references))
