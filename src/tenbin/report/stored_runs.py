"""Stored runs as users name them: run folders, their result.json, or folders of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tenbin.analysis.leaderboard.models import COLUMNS, Source
from tenbin.errors import ResultError
from tenbin.report.serve.index import find_runs
from tenbin.results.folder import RESULT
from tenbin.results.read import StoredRun, read_run


def read_sources(paths: Sequence[str | Path]) -> tuple[list[Source], dict[str, str]]:
    """The runs, and for those of a folder that cannot be read, why.

    Raises:
        ResultError: A run that is named cannot be read, or there is none at all.
    """
    sources: list[Source] = []
    unread: dict[str, str] = {}
    for path in map(Path, paths):
        if not path.is_dir() or (path / RESULT).exists():
            sources.append(source_of(str(path), read_run(path)))
            continue
        for found in find_runs(path):
            name = str(path / found.name)
            if not found.finished:
                unread[name] = "it has not finished"
                continue
            try:
                sources.append(source_of(name, read_run(found.path)))
            except ResultError as error:
                unread[name] = error.message
    if not sources:
        named = ", ".join(map(str, paths))
        why = "; ".join(f"{name}: {reason}" for name, reason in unread.items())
        raise ResultError(f"{named}: no stored run there", why or "name run folders or result.json")
    return sources, unread


def source_of(name: str, run: StoredRun) -> Source:
    """A run whose samples are read when they are needed."""
    return Source(name, run.result, lambda: run.samples(COLUMNS))
