"""The data sets of tasks: what a run will look for where, and fetching it beforehand.

No code of task files runs here: tasks are selected and not trusted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.config import RunConfig
from tenbin.data.fetch import FetchedSplit, fetch
from tenbin.data.inventory import SplitPlace, locate
from tenbin.errors import DataError
from tenbin.pipeline.prepare import data_choice
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.task_files import reach_of
from tenbin.records import Task
from tenbin.tasks.registry import load_registry


@dataclass(frozen=True, slots=True)
class TaskSplit:
    """A split that a task reads."""

    task: str
    role: Literal["score", "fewshot"]
    """Whether its rows are scored or shown as examples."""
    place: SplitPlace


def list_data(config: RunConfig) -> list[TaskSplit]:
    """The splits that the chosen tasks read, and where they are; nothing is read or downloaded.

    Raises:
        TaskError: A name is unknown, or a task file cannot be used.
    """
    registry = load_registry(config.include_path, config.profile, reach_of(config))
    tasks = {chosen.task.name: chosen.task for chosen in registry.select(config.tasks)}
    choice = data_choice(config)
    return [
        TaskSplit(task.name, role, locate(task.dataset, split, choice))
        for task in tasks.values()
        for role, split in _splits(task)
    ]


def _splits(task: Task) -> Iterator[tuple[Literal["score", "fewshot"], str]]:
    yield "score", task.split
    if task.fewshot.split is not None and task.fewshot.split != task.split:
        yield "fewshot", task.fewshot.split


def fetch_data(
    config: RunConfig, wanted: Sequence[TaskSplit], listener: Listener
) -> Iterator[FetchedSplit]:
    """Fetch every split once, and say how it goes; those that are there are read and kept.

    A split that cannot be had does not keep the others from being fetched.

    Raises:
        DataError: There is no network.
        ConfigError: A folder has to be named.
    """
    choice = data_choice(config)
    places = {_key(one.place): one.place for one in wanted}
    began, fetched = time.monotonic(), 0
    missing = sum(not place.found and place.origin != "function" for place in places.values())
    for place in places.values():
        if not place.found and place.origin != "function":
            name = f"{place.dataset.name} {place.dataset.config or ''}".strip()
            left = (time.monotonic() - began) / fetched * (missing - fetched) if fetched else None
            estimate = f", about {left:.0f} s left" if left is not None else ""
            listener.message(
                f"fetching {name} {place.split} ({fetched + 1} of {missing}{estimate})"
            )
            fetched += 1
        try:
            done = fetch(place, choice, listener.transfer)
        except DataError as error:
            if choice.forbids_network or isinstance(error.__cause__, ConnectionError):
                raise
            done = FetchedSplit(place, "failed", problem=str(error))
        yield done


def _key(place: SplitPlace) -> tuple[object, ...]:
    """What makes two splits one: tasks share data sets and differ in their functions."""
    dataset = place.dataset
    options = repr(sorted(dataset.options.items()))
    function = repr(dataset.custom_dataset)
    return dataset.name, dataset.config, options, function, place.split, place.places
