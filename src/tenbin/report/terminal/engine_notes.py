"""How a model answered: the engine's way; below the scores choices by name, tokens and cost.

Reads result documents only; runs of earlier versions say nothing of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_NOT_RUN = "not run"
"""What an engine calls its way of scoring where it scored nothing."""


def mode_of(engine: Mapping[str, Any]) -> Any:
    """How an engine answered: its way of scoring, or of writing where nothing was scored."""
    mode, writing = engine.get("mode"), engine.get("generation")
    return writing if mode == _NOT_RUN and writing is not None else mode


def choice_lines(document: Mapping[str, Any]) -> list[str]:
    """How choices were made, where they were not weighed by their likelihoods."""
    ids: dict[str, list[str]] = {}
    for id, config in document["configs"].items():
        how = config.get("choices_by") or ""
        if "letter" in how:
            ids.setdefault(how, []).append(id)
    return [f"choices: {', '.join(names)}: named by {how}" for how, names in ids.items()]


def usage_lines(document: Mapping[str, Any]) -> list[str]:
    """What a server counted and what it cost, on one line; none where no server did."""
    usage = document.get("usage")
    if not usage:
        return []
    parts = [
        f"{usage['prompt_tokens']:,} tokens read ({usage['cached_tokens']:,} of them cached)",
        f"{usage['completion_tokens']:,} written",
        "1 call" if usage["calls"] == 1 else f"{usage['calls']:,} calls",
    ]
    if usage["cost"] is not None:
        currency = usage["prices"].get("currency")
        parts.append(f"cost {written_cost(usage['cost'])}" + (f" {currency}" if currency else ""))
    if usage["not_counted"]:
        parts.append(f"{_answers(usage['not_counted'])} not counted by the server")
    if usage["from_journal"]:
        parts.append(f"{_answers(usage['from_journal'])} known before for nothing")
    return [f"usage: {', '.join(parts)}"]


def written_cost(cost: float) -> str:
    """A cost with four decimals; a smaller one with as many as show two digits of it."""
    decimals = 4 if cost <= 0 else max(4, 1 - math.floor(math.log10(cost)))
    return f"{cost:,.{decimals}f}"


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count:,} answers"
