"""Compare a generated answer with its references, language left aside.

Knows strings and lm-eval's options for comparing them; does not know how the answer was read.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from tenbin.metrics.matching import substitute

# Beyond ASCII a pattern is several times as quick as `str.translate`.
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
_DIGITS = re.compile(f"[{string.digits}]+")


def exact_match(
    prediction: str | None,
    references: Sequence[str],
    *,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
    regexes_to_ignore: Sequence[str] = (),
) -> float:
    """1 when the prediction equals any reference, else 0; nothing read counts as wrong.

    Args:
        prediction: The answer that was read, or None.
        references: Accepted answers.
        ignore_case: Compare in lower case.
        ignore_punctuation: Drop ASCII punctuation on both sides.
        ignore_numbers: Drop ASCII digits on both sides.
        regexes_to_ignore: Drop what these match on both sides, before all else.

    Raises:
        UnjudgedError: A pattern ran out of time on the answer or on a reference.
    """
    if prediction is None:
        return 0.0

    def reduce(text: str) -> str:
        for pattern in regexes_to_ignore:
            text = substitute(pattern, "", text)
        text = text.lower() if ignore_case else text
        text = _PUNCTUATION.sub("", text) if ignore_punctuation else text
        return _DIGITS.sub("", text) if ignore_numbers else text

    answer = reduce(prediction)
    return 1.0 if any(answer == reduce(reference) for reference in references) else 0.0


def format_failure(prediction: str | None) -> float:
    """1 when no answer could be read, else 0."""
    return 1.0 if prediction is None else 0.0
