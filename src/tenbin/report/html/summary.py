"""A result document → what the page shows at once: the run's facts and every score.

Tolerant of documents of other versions. Knows no samples and no page.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from tenbin.report.terminal.run_notes import engine_mode, partial_counts

_NORMAL = 1.959964
_LATER = ("results", "details", "groups", "group_details", "higher_is_better", "n-shot", "versions")
# What a sweep adds to a run has a command of its own.
_SWEEP = ("templates", "num_fewshot_sweep", "seeds", "select_on")
_LEFT_OUT = ("output_path", "system_prompt", "cache_dir")
_USUAL: Mapping[str, Any] = {
    "seeds": 1,
    "batch_size": "auto",
    "encoding": "joint",
    "fewshot": "random",
}


def run_summary(
    name: str, document: Mapping[str, Any], packed: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """One run: facts for the head of the page, its cells and its groups.

    Args:
        name: What the run is called beside others.
        document: Its result document.
        packed: Cell id → where its samples are, from `pack_samples`.
    """
    model, engine = document.get("model") or {}, document.get("engine") or {}
    return {
        "name": name,
        "model": str(model.get("model", "")),
        "facts": {
            "dtype": model.get("dtype"),
            "device": model.get("device"),
            "engine": engine.get("name"),
            "mode": engine_mode(engine),
            "generation": engine.get("generation"),
            "date": document.get("date"),
            "seconds": document.get("total_evaluation_time_seconds"),
            "from_journal": document.get("answers_from_journal"),
            "usage": document.get("usage"),
            "choices_by": _choices_by(document),
            "scored_tokens": sum(one["scored_tokens"] for one in packed.values()),
            "generated_tokens": sum(one["generated_tokens"] for one in packed.values()),
            "thinking": thinking_facts(document),
            "documents": sum(one["count"] for one in packed.values()),
            "version": document.get("tenbin_version"),
        },
        "sample_data": bool((document.get("config") or {}).get("sample_data")),
        "cells": [cell_summary(id, document, packed.get(id)) for id in document.get("configs", {})],
        "groups": [_group(id, document) for id in document.get("groups", {})],
        "partial": _partial(document),
        "warnings": list(document.get("warnings", ())),
        "command": repeat_command(document.get("config") or {}),
    }


def _partial(document: Mapping[str, Any]) -> dict[str, int] | None:
    """How much of a run there is that was stopped; None where it is whole."""
    found = partial_counts(document)
    return {"answered": found[0], "asked": found[1]} if found is not None else None


def thinking_facts(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Mean lengths over all answers that thoughts were kept apart from; None without any."""
    found = [
        lengths
        for lengths in document.get("lengths", {}).values()
        if lengths.get("thoughts") and lengths.get("thinking_tokens") is not None
    ]
    answers = sum(lengths["answers"] for lengths in found)
    if not answers:
        return None
    means = {
        name: sum(lengths[name] * lengths["answers"] for lengths in found) / answers
        for name in ("thinking_tokens", "answer_tokens")
    }
    ends = {
        end: sum(lengths["thoughts"].get(end, 0) for lengths in found)
        for end in ("none", "budget", "open")
    }
    return {"answers": answers, **means, **ends}


def _choices_by(document: Mapping[str, Any]) -> str | None:
    """How choices were made, where a model named them instead of weighing them."""
    ways = {config.get("choices_by") for config in document.get("configs", {}).values()}
    return "; ".join(sorted(way for way in ways if way and "letter" in way)) or None


def cell_summary(
    id: str, document: Mapping[str, Any], packed: Mapping[str, Any] | None
) -> dict[str, Any]:
    """One cell: what it is, its scores, its failures, and where its samples are."""
    config = document["configs"][id]
    return {
        "id": id,
        "task": config.get("task", id),
        "version": config.get("version"),
        "template": config.get("template"),
        "language": config.get("language"),
        "family": config.get("family"),
        "kind": config.get("output_type"),
        "role": config.get("role", "score"),
        "shots": config.get("num_fewshot"),
        "seed": config.get("seed"),
        "asked": document.get("n-samples", {}).get(id, {}).get("effective"),
        "rows": document.get("n-samples", {}).get(id, {}).get("original"),
        "metrics": _metrics(document["results"][id], document["details"][id]),
        "failures": list(document.get("failures", {}).get(id, {}).items()),
        "samples": packed,
    }


def _group(id: str, document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "members": document.get("group_subtasks", {}).get(id, []),
        "metrics": _metrics(document["groups"][id], document["group_details"][id]),
    }


def _metrics(
    entries: Mapping[str, Any], details: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    found = []
    for metric, detail in details.items():
        name, comma, filter_name = metric.partition(",")
        value = entries.get(metric)
        stderr = entries.get(f"{name}_stderr{comma}{filter_name}")
        low, high, method = interval(value, stderr, detail)
        found.append(
            {
                "name": metric,
                "value": value,
                "stderr": stderr,
                "low": low,
                "high": high,
                "interval": method,
                "n": detail.get("n"),
                "clusters": detail.get("clusters"),
                "failed": detail.get("failed"),
                "up": detail.get("higher_is_better", True),
                "unit": detail.get("unit", ""),
                "unweighted": (detail.get("unweighted") or {}).get("value"),
            }
        )
    return found


def interval(
    value: float | None, stderr: float | None, detail: Mapping[str, Any]
) -> tuple[float | None, float | None, str | None]:
    """The stored 95 % interval; for runs that stored none, the normal one of the stored error."""
    if "low" in detail:
        return detail["low"], detail["high"], detail.get("interval_method")
    if value is None or stderr is None:
        return None, None, None
    top = 100.0 if detail.get("unit") == "%" else 1.0
    low, high = value - _NORMAL * stderr, value + _NORMAL * stderr
    if 0 <= value <= top:
        low, high = max(low, 0.0), min(high, top)
    return low, high, "normal"


def honest_details(document: Mapping[str, Any]) -> dict[str, Any]:
    """The rest of the document, for the view of details: hashes, files, settings, versions."""
    return {name: value for name, value in document.items() if name not in _LATER}


def repeat_command(config: Mapping[str, Any]) -> str:
    """The command line of a run, as a shell takes it."""
    swept = any(config.get(name) not in (None, [], 1) for name in _SWEEP)
    words = ["tenbin", "sweep" if swept else "run"]
    for name, value in config.items():
        if name in _LEFT_OUT or value in (None, False, [], {}) or _USUAL.get(name) == value:
            continue
        words.append(f"--{name}")
        if value is not True:
            words.append(shlex.quote(_written(value)))
    if config.get("system_prompt"):
        words.insert(0, f"SYSTEM_PROMPT={shlex.quote(str(config['system_prompt']))}")
    return " ".join(words)


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}={content}" for name, content in value.items())
    if isinstance(value, list):
        return ",".join(_written(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
