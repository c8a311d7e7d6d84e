"""Notes that accompany a run's scores: partial runs, unscored tasks, sampling, thinking, usage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_NOT_RUN = "not run"
"""The mode an engine reports for scoring when it scored nothing."""


def engine_mode(engine: Mapping[str, Any]) -> Any:
    """Return how an engine answered: its scoring mode, or its generation mode if it only wrote."""
    mode, generation = engine.get("mode"), engine.get("generation")
    return generation if mode == _NOT_RUN and generation is not None else mode


def partial_counts(document: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return (answered, asked) documents of a run that was stopped; None if it is complete."""
    if not document.get("partial"):
        return None
    counts = document["n-samples"].values()
    return sum(n["effective"] for n in counts), sum(n["asked"] for n in counts)


def partial_lines(document: Mapping[str, Any]) -> list[str]:
    """Return one line if the run was stopped before its end."""
    found = partial_counts(document)
    if found is None:
        return []
    return [
        f"PARTIAL: the run was stopped; scores are based on {found[0]:,} of {found[1]:,} "
        "documents, which are not a random sample. Run the same command again to continue."
    ]


def is_unscored(details: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether no document of a task was scored by any metric."""
    return not any(detail["n"] for detail in details.values())


def unscored_lines(document: Mapping[str, Any]) -> list[str]:
    """Return a line for each task in which nothing could be scored."""
    lines = []
    for id, details in document["details"].items():
        if is_unscored(details):
            failed = max((detail["failed"] for detail in details.values()), default=0)
            why = f"all {failed:,} documents failed" if failed else "no document was answered"
            lines.append(f"{id}: nothing could be scored: {why}")
    return lines


def sampling_lines(document: Mapping[str, Any]) -> list[str]:
    """Return how answers were sampled: one line for all tasks with the same settings."""
    ids: dict[str, list[str]] = {}
    for id, config in document["configs"].items():
        # Runs of earlier versions decoded greedily and have no such key.
        if not config.get("do_sample"):
            continue
        several = config["repeats"] > 1
        how = f"{config['repeats']} answers" if several else "1 answer"
        how += f" per document, temperature {config['temperature']:g}"
        how += f", top_k {config['top_k']}" if config["top_k"] else ""
        how += f", top_p {config['top_p']:g}" if config["top_p"] < 1 else ""
        how += f", seed {config['seed']}"
        ids.setdefault(how + ("; values are means over them" if several else ""), []).append(id)
    return [f"sampling: {', '.join(names)}: {how}" for how, names in ids.items()]


def thinking_lines(document: Mapping[str, Any]) -> list[str]:
    """Return the mean lengths of thinking and answers: one line for each task that has thinking."""
    lines = []
    # Runs of earlier versions have no lengths.
    for id, lengths in document.get("lengths", {}).items():
        ends = lengths["thoughts"]
        if not ends or not lengths["answers"]:
            continue
        line = f"thinking: {id}: "
        if lengths["thinking_tokens"] is None:
            line += "thinking was separated from answers, but its tokens were not counted"
        else:
            line += f"{lengths['thinking_tokens']:,.0f} tokens of thinking and "
            line += f"{lengths['answer_tokens']:,.0f} of answer on average"
        asked = document["configs"][id]["thinking"]
        for end, what in (
            ("budget", f"cut at {asked['budget']:,} tokens" if asked else ""),
            ("open", "never closed, so without an answer"),
            ("none", "without thinking"),
        ):
            line += f"; {ends[end]:,} of {lengths['answers']:,} {what}" if ends[end] else ""
        lines.append(line)
    return lines


def choice_lines(document: Mapping[str, Any]) -> list[str]:
    """Return how choices were picked, for tasks whose choices were not scored by likelihood."""
    ids: dict[str, list[str]] = {}
    for id, config in document["configs"].items():
        how = config.get("choices_by") or ""
        if "letter" in how:
            ids.setdefault(how, []).append(id)
    return [f"choices: {', '.join(names)}: picked by {how}" for how, names in ids.items()]


def usage_lines(document: Mapping[str, Any]) -> list[str]:
    """Return one line with the tokens and cost that a server reported; none without a server."""
    usage = document.get("usage")
    if not usage:
        return []
    parts = [
        f"{usage['prompt_tokens']:,} prompt tokens ({usage['cached_tokens']:,} cached)",
        f"{usage['completion_tokens']:,} completion tokens",
        "1 call" if usage["calls"] == 1 else f"{usage['calls']:,} calls",
    ]
    if usage["cost"] is not None:
        currency = usage["prices"].get("currency")
        parts.append(f"cost {format_cost(usage['cost'])}" + (f" {currency}" if currency else ""))
    if usage["not_counted"]:
        parts.append(f"{_answers(usage['not_counted'])} not counted by the server")
    if usage["from_journal"]:
        parts.append(f"{_answers(usage['from_journal'])} from the journal at no cost")
    return [f"usage: {', '.join(parts)}"]


def format_cost(cost: float) -> str:
    """Format a cost with four decimals, or as many as show two significant digits."""
    decimals = 4 if cost <= 0 else max(4, 1 - math.floor(math.log10(cost)))
    return f"{cost:,.{decimals}f}"


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count:,} answers"
