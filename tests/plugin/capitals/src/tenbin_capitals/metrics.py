"""A metric with an option."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from tenbin.metrics import metric


@metric("prefix_share", "generate", options={"ignore_case": bool})
def prefix_share(answer: str, references: Sequence[str], *, ignore_case: bool = False) -> float:
    """The share of a reference that the answer begins with; the best over the references."""
    if ignore_case:
        answer, references = answer.lower(), [text.lower() for text in references]
    return max(_common(answer, text) / len(text) for text in references)


def _common(first: str, second: str) -> int:
    """Characters that both texts begin with."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
