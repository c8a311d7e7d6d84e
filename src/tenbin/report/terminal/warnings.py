"""What a result rests on: whether the run is whole, and which tasks could not be scored at all.

Reads result documents only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def partial_counts(document: Mapping[str, Any]) -> tuple[int, int] | None:
    """Documents that were answered, and asked, of a run that was stopped; None: it is whole."""
    if not document.get("partial"):
        return None
    counts = document["n-samples"].values()
    return sum(n["effective"] for n in counts), sum(n["asked"] for n in counts)


def partial_lines(document: Mapping[str, Any]) -> list[str]:
    """One line where the run was stopped before its end."""
    found = partial_counts(document)
    if found is None:
        return []
    return [
        f"PARTIAL: the run was stopped; scores rest on {found[0]:,} of {found[1]:,} documents, "
        "which are no random choice among them. The same command goes on from here."
    ]


def is_unscored(details: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether no metric of a task rests on a single document."""
    return not any(detail["n"] for detail in details.values())


def unscored_lines(document: Mapping[str, Any]) -> list[str]:
    """A sentence for each task in which nothing could be scored."""
    lines = []
    for id, details in document["details"].items():
        if is_unscored(details):
            failed = max((detail["failed"] for detail in details.values()), default=0)
            why = f"all {failed:,} documents failed" if failed else "no document was answered"
            lines.append(f"{id}: nothing could be scored: {why}")
    return lines
