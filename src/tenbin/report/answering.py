"""How a server answered, on lines below the scores: choices by name, tokens, cost.

Reads result documents only; runs of earlier versions say nothing of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
        parts.append(f"cost {usage['cost']:.4f}" + (f" {currency}" if currency else ""))
    if usage["not_counted"]:
        parts.append(f"{usage['not_counted']:,} answers not counted by the server")
    if usage["from_journal"]:
        parts.append(f"{usage['from_journal']:,} answers known before cost nothing")
    return [f"usage: {', '.join(parts)}"]
