"""Brings the result.json of an earlier schema version to the current one, a version at a time.

A migration takes and gives plain values and changes nothing in place. It adds what follows from
the file itself and leaves absent what the earlier version did not record. The file may be damaged:
what has not the expected shape is passed on, and refused when it is validated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Plain = Mapping[str, Any]

_NAMED_AS_THEIR_METRIC = (
    "balanced_acc", "mcc", "macro_f1", "weighted_perplexity", "bits_per_byte",
)  # fmt: skip
"""Aggregations of schema version 1 that were no means."""


def migrate(document: Plain, version: int) -> dict[str, Any]:
    """The document in the current schema version.

    Args:
        document: result.json as it was parsed.
        version: Its schema version, 1 or later.
    """
    migrated = dict(document)
    for step in _STEPS[version - 1 :]:
        migrated = step(migrated)
    return migrated


def _to_version_2(document: Plain) -> dict[str, Any]:
    """Version 2 records how each metric is aggregated; before, only means had analytic errors."""
    migrated = {**document, "schema_version": 2}
    for name in ("details", "group_details"):
        if name in document:
            migrated[name] = _each(
                document[name], lambda metrics: _each_named(metrics, _with_aggregation)
            )
    return migrated


def _with_aggregation(metric: str, detail: Any) -> Any:
    if not isinstance(detail, dict) or "aggregation" in detail:
        return detail
    if detail.get("stderr_method") == "analytic":
        return {**detail, "aggregation": "mean"}
    return {**detail, "aggregation": metric} if metric in _NAMED_AS_THEIR_METRIC else detail


def _to_version_3(document: Plain) -> dict[str, Any]:
    """Version 3 adds `run_id`, `partial` and `samples`; a run before it was never partial."""
    return {"partial": False, **document, "schema_version": 3}


_STEPS: tuple[Callable[[Plain], dict[str, Any]], ...] = (_to_version_2, _to_version_3)
"""The step from each version to the next."""


def _each(entries: Any, change: Callable[[Any], Any]) -> Any:
    return _each_named(entries, lambda _, entry: change(entry))


def _each_named(entries: Any, change: Callable[[str, Any], Any]) -> Any:
    if not isinstance(entries, dict):
        return entries
    return {name: change(name, entry) for name, entry in entries.items()}
