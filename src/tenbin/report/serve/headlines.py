"""The scores that the list of runs shows of each: the first metric of its groups and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from tenbin.report.serve.served_files import DamagedError, mapping, number, text

_MOST = 12
"""Scores of one run; its report has all of them."""
_MOST_TAGS = 20


def headlines(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the first metric of each group and task of a result, groups first.

    Raises:
        DamagedError: The document is none that tenbin writes.
    """
    groups = _scores(document, "groups", "group_details", True)
    return list(islice((*groups, *_scores(document, "results", "details", False)), _MOST))


def _scores(
    document: dict[str, Any], results: str, details: str, group: bool
) -> Iterator[dict[str, Any]]:
    values = mapping(document.get(results) or {}, results)
    for id, metrics in mapping(document.get(details) or {}, details).items():
        for metric, found in mapping(metrics, details).items():
            detail = mapping(found, details)
            value = number(mapping(values.get(id), results).get(metric), "value")
            yield {
                "id": text(id, "task"),
                "group": group,
                "name": text(metric, "metric"),
                "value": value,
                "low": number(detail.get("low"), "interval"),
                "high": number(detail.get("high"), "interval"),
                "unit": text(detail.get("unit"), "unit"),
                "up": detail.get("higher_is_better") is not False,
            }
            break


def tags(document: dict[str, Any]) -> list[str]:
    """Return the tags of a run.

    Raises:
        DamagedError: They are no list of names.
    """
    found = document.get("tags") or []
    if not isinstance(found, list) or len(found) > _MOST_TAGS:
        raise DamagedError("its tags are not a short list")
    return [text(one, "tag") for one in found]
