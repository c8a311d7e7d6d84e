"""Stored runs as users name them: run folders, their result.json, or folders of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tenbin.analysis.leaderboard.models import COLUMNS, Source
from tenbin.errors import ResultError
from tenbin.report.serve.index import find_runs
from tenbin.results.folder import is_run
from tenbin.results.read import StoredRun, Watch, read_run


def read_runs(
    paths: Sequence[str | Path], watch: Watch | None = None
) -> tuple[list[tuple[str, StoredRun]], dict[str, str]]:
    """The runs with their names, and for those of a folder that cannot be read, why.

    Args:
        paths: Run folders, their result.json, or folders of runs.
        watch: Called with what is read whenever samples are.

    Raises:
        ResultError: A run that is named cannot be read, or there is none at all.
    """
    runs: list[tuple[str, StoredRun]] = []
    unread: dict[str, str] = {}
    for path in map(Path, paths):
        if not path.is_dir() or is_run(path):
            runs.append((str(path), read_run(path, watch)))
            continue
        for found in find_runs(path):
            name = str(path / found.name)
            if not found.finished:
                unread[name] = "it has not finished"
                continue
            try:
                runs.append((name, read_run(found.path, watch)))
            except ResultError as error:
                unread[name] = error.message
    if not runs:
        named = ", ".join(map(str, paths))
        why = "; ".join(f"{name}: {reason}" for name, reason in unread.items())
        raise ResultError(f"{named}: no stored run there", why or "name run folders or result.json")
    return runs, unread


def read_sources(paths: Sequence[str | Path]) -> tuple[list[Source], dict[str, str]]:
    """The same as sources of a leaderboard.

    Raises:
        ResultError: A run that is named cannot be read, or there is none at all.
    """
    runs, unread = read_runs(paths)
    return [source_of(name, run) for name, run in runs], unread


def source_of(name: str, run: StoredRun) -> Source:
    """A run whose samples are read when they are needed."""
    return Source(name, run.result, lambda: run.samples(COLUMNS))
