"""What task files may do: which files they may name, and whose functions may run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tenbin.config import RunConfig
from tenbin.files.allowed_paths import Reach
from tenbin.records import Task
from tenbin.tasks.installed import included_place

if TYPE_CHECKING:
    from tenbin.tasks.lm_eval.trust import Trust


def reach_of(config: RunConfig) -> Reach:
    """Where files that task files name may lie, besides their own folders."""
    named = [included_place(place) for place in config.include_path]
    folders = [place if place.is_dir() else place.parent for place in named]
    if config.data_dir:
        folders.append(Path(config.data_dir).expanduser())
    return Reach(tuple(folders), config.allow_outside_files)


def with_trust(task: Task, config: RunConfig) -> Task:
    """The task with its functions loaded, where it has any and the user trusts them.

    Raises:
        TaskError: It has functions that the user does not trust, or that cannot be loaded.
    """
    if task.origin is None or not task.origin.functions:
        return task
    from tenbin.tasks.lm_eval.trust import trusted

    return trusted(task, trust_of(config))


def trust_of(config: RunConfig) -> Trust:
    """Whose functions may run: by `--trust_tasks`, and by the user's configuration file."""
    from tenbin.config.user_file import read_user_settings
    from tenbin.tasks.lm_eval.trust import Trust

    if config.trust_tasks:
        return Trust(everything=True)
    settings = read_user_settings()
    return Trust(folders=settings.trust_tasks, settings=str(settings.path))
