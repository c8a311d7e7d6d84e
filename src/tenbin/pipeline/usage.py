"""What a run's answers took, as a server counted it: tokens, calls, and their cost where prices are
known.

Only new answers count: what the journal knew costs nothing now. What a server does not count stays
uncounted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenbin.records import Failure, Response, Usage
from tenbin.results.schema import UsageEntry

_MILLION = 1_000_000
_ADDED = (
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "calls",
    "answers",
    "not_counted",
    "from_journal",
)


@dataclass(slots=True)
class TokenUsage:
    """What a run's answers took so far."""

    from_journal: int = 0
    """Answers that were known before."""
    answers: int = 0
    """New ones that a server counted."""
    not_counted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    calls: int = 0

    def add(self, response: Response) -> None:
        """One more new answer."""
        usage = getattr(response, "usage", None)
        if isinstance(usage, Usage):
            self.answers += 1
            self.prompt_tokens += usage.prompt_tokens
            self.completion_tokens += usage.completion_tokens
            self.cached_tokens += usage.cached_tokens
            self.calls += usage.calls
        elif not isinstance(response, Failure):
            self.not_counted += 1


def usage_entry(spent: TokenUsage, prices: Mapping[str, Any] | None) -> UsageEntry | None:
    """The entry `usage` of result.json; None if no server counts.

    Args:
        spent: What this run took.
        prices: Of a million tokens, as the backend describes them.
    """
    if not spent.answers and prices is None:
        return None
    return UsageEntry(
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cached_tokens=spent.cached_tokens,
        calls=spent.calls,
        answers=spent.answers,
        not_counted=spent.not_counted,
        from_journal=spent.from_journal,
        cost=cost_of(spent, prices),
        prices=dict(prices) if prices is not None else None,
    )


def usage_of_both(first: UsageEntry | None, second: UsageEntry | None) -> UsageEntry | None:
    """Two such entries of one model as one: what choosing took is part of what a run took."""
    if first is None or second is None:
        return first if first is not None else second
    added = {name: getattr(first, name) + getattr(second, name) for name in _ADDED}
    costs = first.cost, second.cost
    cost = None if costs[0] is None or costs[1] is None else costs[0] + costs[1]
    return UsageEntry(**added, cost=cost, prices=second.prices)


def cost_of(totals: TokenUsage, prices: Mapping[str, Any] | None) -> float | None:
    """What tokens cost; cached ones cost what others do where they have no price of their own."""
    if prices is None:
        return None
    fresh = totals.prompt_tokens - totals.cached_tokens
    cached = prices["input"] if prices.get("cached") is None else prices["cached"]
    per_million = (
        fresh * prices["input"]
        + totals.cached_tokens * cached
        + totals.completion_tokens * prices["output"]
    )
    return float(per_million) / _MILLION
