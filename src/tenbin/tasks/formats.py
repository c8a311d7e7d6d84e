"""Whose format a task file is in: tenbin's own, or lm-eval's with its groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWN_KEYS = frozenset(
    {
        "about",
        "chance",
        "dataset",
        "default_template",
        "example_target",
        "family",
        "formats",
        "labels",
        "language",
        "languages",
        "num_choices",
        "options",
        "parallel",
        "references",
        "subsets",
        "system_prompt",
        "templates",
        "title",
        "variants",
        "version_aliases",
        "versions",
        "words",
    }
)
"""Keys that only tenbin's own task files have."""


def is_own(mapping: Mapping[str, Any]) -> bool:
    """Whether a file is in tenbin's own format, by keys that lm-eval does not know."""
    if not OWN_KEYS.isdisjoint(mapping):
        return True
    examples, metrics = mapping.get("fewshot_config"), mapping.get("metric_list")
    if isinstance(examples, dict) and (
        "label" in examples or examples.get("sampler") == "stratified"
    ):
        return True
    return isinstance(metrics, list) and any(
        isinstance(metric, dict) and "name" in metric for metric in metrics
    )


def is_group(mapping: Mapping[str, Any]) -> bool:
    """Whether a file describes a group, and not a task."""
    return "group" in mapping and not isinstance(mapping.get("task"), str) and not is_own(mapping)
