"""Lists the runs of a folder: finished, partial, in progress and damaged.

Reads only result.json and progress.json, and trusts neither: a run that cannot be shown is listed
as damaged with the reason, and never keeps others from being listed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

from tenbin.errors import ConfigError, ResultError
from tenbin.report.serve.headlines import headlines, tags
from tenbin.report.serve.served_files import (
    DamagedError,
    check_plain,
    count,
    mapping,
    number,
    read_json,
    text,
)
from tenbin.results.folder import RESULT, is_run
from tenbin.results.progress import PROGRESS
from tenbin.results.read import check_schema

_DEPTH = 4
_SILENT_SECONDS = 90
"""A run without an update for this long is not shown as in progress."""
_MOST_PROGRESS = 8 << 20
_STATES = ("loading", "asking", "writing", "stopped")


@dataclass(frozen=True, slots=True)
class Found:
    """A run in the folder."""

    name: str
    """Its path below the folder, by which addresses name it."""
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
        finished = is_run(folder)
        if finished or os.path.lexists(folder / PROGRESS):
            # File names need not be valid UTF-8.
            name = folder.relative_to(root).as_posix().encode("utf-8", "backslashreplace").decode()
            found.append(Found(name, folder, finished))
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


def list_runs(root: Path, watch: Callable[[int, int], None] | None = None) -> list[dict[str, Any]]:
    """Return what the list of runs shows of each, newest first.

    Args:
        root: The folder.
        watch: Called with how many runs were read, of how many.
    """
    rows, found = [], find_runs(root)
    for done, one in enumerate(found, 1):
        rows.append(_row(one))
        if watch is not None:
            watch(done, len(found))
    return sorted(rows, key=lambda row: str(row["date"]), reverse=True)


def _row(found: Found) -> dict[str, Any]:
    try:
        if os.path.lexists(found.path / PROGRESS):
            running = _in_progress(found.name, read_json(found.path / PROGRESS, _MOST_PROGRESS))
            return {**running, "has_result": found.finished}
    except DamagedError as error:
        # If there is a result, it is shown instead.
        if not found.finished:
            return _damaged(found.name, error)
    try:
        status = check_plain(found.path / RESULT)
        signature = (status.st_mtime_ns, status.st_size, status.st_ino)
        return {"name": found.name, **_finished(found.path / RESULT, signature)}
    except ResultError as error:
        return _damaged(found.name, error)


def _damaged(name: str, error: ResultError) -> dict[str, Any]:
    return {"name": name, "state": "damaged", "reason": error.message, "date": None}


@lru_cache(maxsize=10_000)
def _finished(file: Path, signature: tuple[int, ...]) -> dict[str, Any]:
    """Return the row of a result, cached until the file changes."""
    document = mapping(read_json(file), "result")
    check_schema(document, Path(file.name))
    failures = mapping(document.get("failures", {}), "failures")
    samples = mapping(document.get("n-samples"), "n-samples")
    model = mapping(document.get("model") or {}, "model")
    asked = _asked(document, samples)
    return {
        "state": "finished" if asked is None else "partial",
        "asked": asked,
        "model": text(model.get("model"), "model"),
        "date": text(document.get("date"), "date"),
        "seconds": number(document.get("total_evaluation_time_seconds"), "time"),
        "tasks": len(mapping(document.get("configs"), "configs")),
        "documents": sum(
            count(mapping(one, "n-samples").get("effective"), "n-samples")
            for one in samples.values()
        ),
        "failed": sum(
            count(n, "failures")
            for one in failures.values()
            for n in mapping(one, "failures").values()
        ),
        "tags": tags(document),
        "note": text(document.get("note"), "note"),
        "scores": headlines(document),
    }


def _asked(document: dict[str, Any], samples: dict[str, Any]) -> int | None:
    """Return the documents that a partial run was to answer; None for a complete run."""
    partial = document.get("partial", False)
    if not isinstance(partial, bool):
        raise DamagedError("its mark of a partial run is not true or false")
    if not partial:
        return None
    return sum(
        count(mapping(one, "n-samples").get("asked"), "n-samples") for one in samples.values()
    )


def _in_progress(name: str, found: Any) -> dict[str, Any]:
    progress = mapping(found, "progress")
    state = progress.get("state")
    silent = _age(progress.get("updated")) > _SILENT_SECONDS
    if state not in _STATES or (state != "stopped" and silent):
        state = "silent"
    cells = progress.get("cells", [])
    if not isinstance(cells, list):
        raise DamagedError("its cells are not a list")
    return {
        "name": name,
        "state": state,
        "model": text(progress.get("model"), "model"),
        "date": text(progress.get("started"), "date"),
        "updated": text(progress.get("updated"), "date"),
        "requests": count(progress.get("requests", 0), "requests"),
        "answered": count(progress.get("answered", 0), "answered"),
        "cells": [_cell(mapping(cell, "cells")) for cell in cells],
    }


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    scores = mapping(cell.get("scores", {}), "scores")
    return {
        "id": text(cell.get("id"), "task"),
        "documents": count(cell.get("documents", 0), "documents"),
        "answered": count(cell.get("answered", 0), "answered"),
        "scores": {
            text(name, "metric"): _score(mapping(one, "scores")) for name, one in scores.items()
        },
    }


def _score(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "value": number(entry.get("value"), "value"),
        "stderr": number(entry.get("stderr"), "error"),
        "n": count(entry.get("n", 0), "n"),
        "failed": count(entry.get("failed", 0), "failed"),
        "unit": text(entry.get("unit"), "unit"),
        "sequence": _sequence(entry.get("sequence")),
    }


def _sequence(found: Any) -> dict[str, Any] | None:
    """Return the confidence sequence of a score; None where there is none."""
    if found is None:
        return None
    entry = mapping(found, "sequence")
    ends = {name: number(entry.get(name), "sequence") for name in ("low", "high")}
    return {**ends, "n": count(entry.get("n", 0), "sequence")}


def _age(moment: Any) -> float:
    try:
        then = datetime.fromisoformat(str(moment))
        # A time in the future counts as old too: the clock was set back, and a live run writes
        # the new time within seconds.
        return abs((datetime.now(timezone.utc) - then).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return float("inf")
