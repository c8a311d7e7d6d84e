"""The user's folders: paths written with `~`, and where caches lie."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """A path with `~` as the user's folder; `~name` of no user stays as it is written."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def cache_directory() -> Path:
    """Return the folder that caches are kept in: $TENBIN_CACHE, else ~/.cache/tenbin."""
    chosen = os.environ.get("TENBIN_CACHE")
    return expanded(chosen) if chosen else Path.home() / ".cache" / "tenbin"
