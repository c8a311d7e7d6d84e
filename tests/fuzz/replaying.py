"""Inputs that were findings once, kept so that they never are again."""

from __future__ import annotations

from pathlib import Path

CASES = Path(__file__).parent / "cases"


def kept_cases() -> list[tuple[str, Path]]:
    """Target and file of each."""
    return [(path.parent.name, path) for path in sorted(CASES.glob("*/*"))]
