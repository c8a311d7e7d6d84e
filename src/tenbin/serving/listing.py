"""A folder → the runs in it, finished and going on. Reads result.json and progress.json only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tenbin.errors import ConfigError
from tenbin.results.folder import RESULT
from tenbin.results.progress import PROGRESS, read_progress

_DEPTH = 4
_SILENT_SECONDS = 90
"""A run that has said nothing for so long is not shown as going on."""


@dataclass(frozen=True, slots=True)
class Found:
    """A run in the folder."""

    name: str
    """Its place below the folder: how addresses name it."""
    path: Path
    finished: bool


def find_runs(root: Path) -> list[Found]:
    """Every run below a folder.

    Raises:
        ConfigError: There is no such folder.
    """
    if not root.is_dir():
        raise ConfigError(f"{root}: no such folder", "name the folder that runs are written to")
    found = []
    for folder in _folders(root, 0):
        finished = (folder / RESULT).is_file()
        if finished or (folder / PROGRESS).is_file():
            found.append(Found(folder.relative_to(root).as_posix(), folder, finished))
    return sorted(found, key=lambda one: one.name)


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    yield folder
    if depth == _DEPTH:
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        # A link could lead out of the folder that was given.
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _folders(Path(entry.path), depth + 1)


def list_runs(root: Path) -> list[dict[str, Any]]:
    """What the page of runs shows of each, the newest first."""
    rows = [row for found in find_runs(root) for row in _row(found)]
    return sorted(rows, key=lambda row: str(row["date"]), reverse=True)


def _row(found: Found) -> list[dict[str, Any]]:
    progress = read_progress(found.path)
    if progress is not None:
        return [_going(found, progress)]
    try:
        document = json.loads((found.path / RESULT).read_text(encoding="utf-8"))
        return [
            {
                "name": found.name,
                "state": "finished",
                "model": str((document.get("model") or {}).get("model", "")),
                "date": document.get("date"),
                "seconds": document.get("total_evaluation_time_seconds"),
                "tasks": len(document["configs"]),
                "documents": sum(n["effective"] for n in document["n-samples"].values()),
                "failed": sum(sum(r.values()) for r in document.get("failures", {}).values()),
            }
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # A file of another program, or one that is being written: it is no run to show.
        return []


def _going(found: Found, progress: dict[str, Any]) -> dict[str, Any]:
    state = progress.get("state")
    if state != "stopped" and _age(progress.get("updated")) > _SILENT_SECONDS:
        state = "silent"
    return {
        "name": found.name,
        "state": state,
        "model": str(progress.get("model", "")),
        "date": progress.get("started"),
        "updated": progress.get("updated"),
        "requests": progress.get("requests"),
        "answered": progress.get("answered"),
        "cells": progress.get("cells", []),
    }


def _age(moment: Any) -> float:
    try:
        then = datetime.fromisoformat(str(moment))
        # A moment that is yet to come is as far from now as one that is long over: somebody has
        # set the clock, and a run that lives writes by the new time within seconds.
        return abs((datetime.now(timezone.utc) - then).total_seconds())
    except (ValueError, TypeError):
        return float("inf")
