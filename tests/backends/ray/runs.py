"""Runs on the test cluster, and what of their results may differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tenbin

_OF_THE_MOMENT = {
    *("date", "total_evaluation_time_seconds", "timing", "answers_from_journal", "scale"),
    # The folder that a test was given.
    "cache_dir",
    "output_path",
}


def run(cluster: Any, folder: Path, **options: Any) -> dict[str, Any]:
    """Evaluate on the cluster, with a cache of the run's own; gives result.json as written."""
    target = folder / "result.json"
    given = {
        "tasks": ["jnli-1.3-*", "mlogiqa_gen_ja", "plain_text_ja"],
        "sample_data": True,
        "cache_dir": str(folder / "cache"),
        "output_path": str(target),
        "shard_size": 8,
        **options,
    }
    if given.get("workers"):
        given["ray_address"] = cluster.address
    else:
        given.pop("shard_size")
    tenbin.evaluate(**given)
    document: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return document


def lasting(document: dict[str, Any]) -> dict[str, Any]:
    """A result without what belongs to the moment: times, worker counts, the test's folders."""

    def without(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {k: without(v) for k, v in value.items() if k not in _OF_THE_MOMENT}

    plain: dict[str, Any] = without(document)
    return plain


def samples(folder: Path) -> list[dict[str, Any]]:
    """Every document of a run as it was written down."""
    return tenbin.load_run(folder / "result.json").samples
