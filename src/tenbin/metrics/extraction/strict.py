"""Read a choice in exactly the form that the prompt asked for: `{'answer': 'X'}`."""

from __future__ import annotations

import re
from functools import lru_cache

from tenbin.metrics.extraction.clean import strip_thinking


@lru_cache
def _pattern(count: int) -> re.Pattern[str]:
    last = chr(ord("A") + count - 1)
    return re.compile(
        rf"""\{{\s*(?P<quote>['"])\s*answer\s*(?P=quote)\s*:"""
        rf"""\s*(?P=quote)\s*(?P<letter>[A-{last}])\s*(?P=quote)\s*\}}"""
    )


def read_strict(text: str, count: int) -> str | None:
    """Read the last `{'answer': 'X'}` or `{"answer": "X"}`; white space is free.

    Args:
        text: What the model wrote.
        count: How many choices there are; X is one of the first `count` letters.

    Returns:
        The letter, or None when there is no such object outside the model's thinking.
    """
    spoken = strip_thinking(text)
    if spoken is None:
        return None
    letters = [match["letter"] for match in _pattern(count).finditer(spoken)]
    return letters[-1] if letters else None
