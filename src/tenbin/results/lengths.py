"""How long answers and thoughts were: the lengths that result.json keeps of a generation task.

Knows written texts; knows no score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, get_args

from tenbin.records import Response, Text, ThinkingEnd


def written_lengths(responses: Iterable[Response], thinks: bool) -> dict[str, Any]:
    """Means over all answers of a cell, every drawn one counted; failures are not among them.

    A server may keep thoughts apart and count them among the tokens of the answer: then neither
    length is known.

    Args:
        responses: What was answered.
        thinks: Whether thoughts were asked to be kept apart; their entries are null where they
            were not and no server did so by itself.
    """
    texts = [one for one in responses if isinstance(one, Text)]
    ends = Counter(text.thinking_end for text in texts)
    thinks = thinks or ends["none"] < len(texts)
    uncounted = any(text.thinking and not text.thinking_tokens for text in texts)
    counted = [] if uncounted else texts
    return {
        "answers": len(texts),
        "answer_tokens": _mean([text.token_count for text in counted]),
        "cut_answers": sum(text.finish == "length" for text in texts),
        "thinking_tokens": _mean([text.thinking_tokens for text in counted]) if thinks else None,
        "thoughts": {end: ends[end] for end in get_args(ThinkingEnd)} if thinks else None,
    }


def _mean(counts: list[int]) -> float | None:
    return sum(counts) / len(counts) if counts else None
