"""What a run's answers took, as a server counted it: tokens, calls, and their cost where prices are
known.

Only new answers count: what the journal knew costs nothing now. What a server does not count stays
uncounted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tenbin.records import Failure, Response, Usage

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


def usage_entry(
    responses: Iterable[Response], from_journal: int, prices: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The entry `usage` of result.json; None where no server counts.

    Args:
        responses: The answers that were asked for in this run.
        from_journal: How many more were known before.
        prices: Of a million tokens, as the backend describes them.
    """
    counted: list[Usage] = []
    uncounted = 0
    for response in responses:
        usage = getattr(response, "usage", None)
        if isinstance(usage, Usage):
            counted.append(usage)
        elif not isinstance(response, Failure):
            uncounted += 1
    if not counted and prices is None:
        return None
    totals = {
        "prompt_tokens": sum(one.prompt_tokens for one in counted),
        "completion_tokens": sum(one.completion_tokens for one in counted),
        "cached_tokens": sum(one.cached_tokens for one in counted),
        "calls": sum(one.calls for one in counted),
    }
    return {
        **totals,
        "answers": len(counted),
        "not_counted": uncounted,
        "from_journal": from_journal,
        "cost": cost_of(totals, prices),
        "prices": dict(prices) if prices is not None else None,
    }


def usage_of_both(
    first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Two such entries of one model as one: what choosing took is part of what a run took."""
    if first is None or second is None:
        found = first if first is not None else second
        return dict(found) if found is not None else None
    costs = first["cost"], second["cost"]
    return {
        **{name: first[name] + second[name] for name in _ADDED},
        "cost": None if None in costs else sum(costs),
        "prices": second["prices"],
    }


def cost_of(totals: Mapping[str, int], prices: Mapping[str, Any] | None) -> float | None:
    """What tokens cost; cached ones cost what others do where they have no price of their own."""
    if prices is None:
        return None
    fresh = totals["prompt_tokens"] - totals["cached_tokens"]
    cached = prices["input"] if prices.get("cached") is None else prices["cached"]
    per_million = (
        fresh * prices["input"]
        + totals["cached_tokens"] * cached
        + totals["completion_tokens"] * prices["output"]
    )
    return float(per_million) / _MILLION
