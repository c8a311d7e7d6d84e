"""The findings of the checks: severity, message, counts and remedy, for one task and template."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")
"""Severities: nothing found, a note, a doubtful score, a meaningless score."""
MOST_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Example:
    """A document in which something was found."""

    document: str
    seen: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in one cell."""

    check: str
    """Which check: boundary, bos, specials, …"""
    code: str
    """The kind of finding, a fixed word."""
    severity: Severity
    title: str
    """The same for every cell in which it is found."""
    message: str
    """What it is in this cell, with its numbers."""
    count: int
    n: int
    """In how many of how many: documents, unless the message says otherwise."""
    remedy: str
    examples: tuple[Example, ...] = ()


def worst(severities: Iterable[Severity]) -> Severity:
    """The highest severity; `ok` without findings."""
    return max(severities, key=SEVERITIES.index, default="ok")


def first_examples(examples: Iterable[Example]) -> tuple[Example, ...]:
    """A few, of different documents."""
    found: dict[str, Example] = {}
    for example in examples:
        found.setdefault(example.document, example)
        if len(found) == MOST_EXAMPLES:
            break
    return tuple(found.values())
