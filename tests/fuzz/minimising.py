"""Make the input of a finding shorter, as long as it leads to the same place."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.target import Target
from tests.fuzz.verdict import Verdict, judge

_SECONDS = 3.0
_COSTLY = ("slow", "memory")
"""Findings whose every further try costs what made them findings."""


def minimised(
    target: Target, data: bytes, verdict: Verdict, folder: Path, note: Callable[[], None]
) -> bytes:
    """Leave out what is not needed: halves, quarters, down to single bytes.

    Args:
        target: What reads the input.
        data: The input.
        verdict: The finding.
        folder: An empty folder.
        note: Called before each try, so that a long search is not taken for a hang.
    """
    if verdict.place in _COSTLY:
        return data
    until = time.monotonic() + _SECONDS
    size = len(data) // 2
    while size >= 1:
        at = 0
        while at < len(data):
            if time.monotonic() > until:
                return data
            note()
            shorter = data[:at] + data[at + size :]
            if judge(target, shorter, folder).place == verdict.place:
                data = shorter
            else:
                at += size
        size //= 2
    return data
