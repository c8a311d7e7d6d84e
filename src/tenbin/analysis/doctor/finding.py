"""What a check says of one task under one template: how grave it is, how often, and what to do.

Knows no check; every check in this folder gives these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")
"""From nothing to say, over good to know and a score to doubt, to a score that means nothing."""
MOST_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Example:
    """A document in which something shows."""

    document: str
    seen: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in one cell."""

    check: str
    """Which check: boundary, bos, specials, …"""
    code: str
    """What it found, in a word that stays the same."""
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
    """The gravest; `ok` of none."""
    return max(severities, key=SEVERITIES.index, default="ok")


def first_examples(examples: Iterable[Example]) -> tuple[Example, ...]:
    """A few, of different documents."""
    found: dict[str, Example] = {}
    for example in examples:
        found.setdefault(example.document, example)
        if len(found) == MOST_EXAMPLES:
            break
    return tuple(found.values())
