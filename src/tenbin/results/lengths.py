"""How long answers and thoughts were: the lengths that result.json keeps of a generation task.

Knows written texts; knows no score.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, get_args

from tenbin.records import Response, Text, ThinkingEnd


@dataclass(slots=True)
class Lengths:
    """Sums over the answers of a cell, every drawn one counted; failures are not among them."""

    _texts: int = 0
    _cut: int = 0
    _tokens: int = 0
    _thinking_tokens: int = 0
    _uncounted: bool = False
    _ends: Counter[str] = field(default_factory=Counter)

    def add(self, response: Response) -> None:
        """One more answer."""
        if not isinstance(response, Text):
            return
        self._texts += 1
        self._cut += response.finish == "length"
        self._tokens += response.token_count
        self._thinking_tokens += response.thinking_tokens
        self._uncounted |= bool(response.thinking) and not response.thinking_tokens
        self._ends[response.thinking_end] += 1

    def entry(self, thinks: bool) -> dict[str, Any]:
        """Means over the answers.

        A server may keep thoughts apart and count them among the tokens of the answer: then neither
        length is known.

        Args:
            thinks: Whether thoughts were asked to be kept apart; their entries are null where they
                were not and no server did so by itself.
        """
        thinks = thinks or self._ends["none"] < self._texts
        return {
            "answers": self._texts,
            "answer_tokens": self._mean(self._tokens),
            "cut_answers": self._cut,
            "thinking_tokens": self._mean(self._thinking_tokens) if thinks else None,
            "thoughts": {end: self._ends[end] for end in get_args(ThinkingEnd)} if thinks else None,
        }

    def _mean(self, total: int) -> float | None:
        return total / self._texts if self._texts and not self._uncounted else None
