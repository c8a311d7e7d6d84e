"""Stored runs of one model as one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tenbin.api.progress import choose_listener
from tenbin.api.run import Run, load_run
from tenbin.pipeline.progress import Listener


def merge(
    *runs: Run | str | Path,
    output_path: str | Path,
    include_path: str | Sequence[str] = (),
    listener: Listener | None = None,
    progress: bool | None = None,
) -> Run:
    """Join stored runs of one model: more tasks, more shots, more templates.

    Args:
        *runs: Runs that were stored, or their folders or result.json files.
        output_path: The result.json of the merged run, or a folder for runs.
        include_path: Task files that the runs were asked with, where they lie elsewhere now.
        listener: Receives the progress, instead of a progress bar.
        progress: Whether to show a progress bar; by default in notebooks and on terminals.

    Returns:
        The merged run, as it is stored.

    Raises:
        TenbinError: The runs are not parts of one; the message lists what differs.
    """
    from tenbin.config import split_list
    from tenbin.errors import ConfigError
    from tenbin.pipeline.merge.merge import merge_runs

    places: list[str | Path] = []
    for run in runs:
        place = run.path if isinstance(run, Run) else run
        if place is None:
            raise ConfigError(
                "a run that was not stored cannot be merged", "evaluate with write=True"
            )
        places.append(place)
    folders = [str(one) for one in split_list(include_path)]
    chosen = choose_listener(listener, progress)
    return load_run(merge_runs(places, output_path, chosen, folders).path)
