"""Paths that users write with `~`."""

from __future__ import annotations

from pathlib import Path


def expanded(path: str | Path) -> Path:
    """A path with `~` as the user's folder; `~name` of no user stays as it is written."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
