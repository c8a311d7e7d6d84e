"""What is known of a task before its file is loaded, and of tenbin's own catalogue of tasks.

Listings and names on the command line need no more than summaries. Those of the catalogue are kept
in the cache, so that a command loads the file of the task that it was given and no other.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tenbin.files.home import cache_directory
from tenbin.files.sealed import read_sealed, write_sealed

if TYPE_CHECKING:
    from tenbin.records import Kind, Task

CATALOG = str(Path(__file__).parents[1] / "catalog" / "tasks")
_DATA_SETS = str(Path(__file__).parents[1] / "catalog" / "datasets")
_GROUPS = str(Path(__file__).parents[1] / "catalog" / "groups")
_FORMAT = 2
_RECENT = 2_000_000_000
"""Nanoseconds: a file changed so shortly ago may change again within the same tick of the clock."""


class TaskSummary(NamedTuple):
    """A task in one version; a tuple, since hundreds are made at every start."""

    name: str
    version: str
    language: str
    kind: Kind
    group: str | None
    templates: tuple[str, ...]
    default_template: str
    data: str
    """What its data set is called."""
    documents: int | None
    """Published rows of the split that is scored, where they are known."""
    source: str
    """The path of its file."""


class CatalogueEntry(NamedTuple):
    """A task of the catalogue, and how users may also write its version."""

    summary: TaskSummary
    version_aliases: dict[str, str]


class AverageSummary(NamedTuple):
    """A group of the catalogue: an average that people quote."""

    name: str
    members: tuple[str, ...]
    """Tasks, as its definition writes them."""
    lacks_members: bool
    """Whether it is refused, because members are not among tenbin's tasks."""


def summary_of(task: Task) -> TaskSummary:
    """The summary of a loaded task."""
    return TaskSummary(
        task.name,
        task.version,
        task.language,
        task.kind,
        task.group,
        tuple(task.templates),
        task.default_template,
        *_data_of(task),
        task.source,
    )


def _data_of(task: Task) -> tuple[str, int | None]:
    """Title and size of a task's data set."""
    described = _data_sets().get(task.dataset.name) if task.dataset.pinned else None
    if described is None:
        return task.dataset.name, None
    # Newer data versions only add splits; the oldest is what a run reads by default.
    oldest = next(iter(described["versions"].values()))
    rows = oldest["splits"].get(task.split, {}).get("rows")
    if isinstance(rows, dict):  # they differ by part of the set
        rows = rows.get(task.dataset.config)
    return described["title"], None if task.dataset.where else rows


@lru_cache(maxsize=1)
def _data_sets() -> dict[str, Any]:
    """The data sets of the catalogue as its files write them."""
    from tenbin.files.yaml_text import read_yaml

    found: dict[str, Any] = {}
    for file in sorted(Path(_DATA_SETS).glob("*.yaml")):
        found |= read_yaml(file)
    return found


Stamps = tuple[tuple[str, int, int], ...]
"""Paths of files, with the time of their last change and their size."""


def catalogue() -> tuple[CatalogueEntry, ...]:
    """The tasks that come with tenbin, in the order of their files.

    Raises:
        TaskError: One of its files cannot be used.
    """
    # The code that reads the files counts too: a new version may make other tasks of them.
    code = str(Path(__file__).parent)
    stamps = [(CATALOG, ".yaml"), (_DATA_SETS, ".yaml"), (code, ".py")]
    return _catalogue(CATALOG, tuple(_stamps(folder, suffix) for folder, suffix in stamps))


def _stamps(folder: str, suffix: str) -> Stamps:
    with os.scandir(folder) as listed:
        found = [(one.path, one.stat()) for one in listed if one.name.endswith(suffix)]
    return tuple((path, at.st_mtime_ns, at.st_size) for path, at in sorted(found))


@lru_cache(maxsize=1)
def _catalogue(folder: str, stamps: tuple[Stamps, ...]) -> tuple[CatalogueEntry, ...]:
    entries = _cached("catalogue", folder, stamps, lambda: _read(path for path, *_ in stamps[0]))
    return tuple(CatalogueEntry(_stored(one), aliases) for one, aliases in entries)


def averages() -> tuple[AverageSummary, ...]:
    """The averages of the catalogue, in the order of their files."""
    code = str(Path(__file__).parent)
    return _averages(_GROUPS, (_stamps(_GROUPS, ".yaml"), _stamps(code, ".py")))


@lru_cache(maxsize=1)
def _averages(folder: str, stamps: tuple[Stamps, ...]) -> tuple[AverageSummary, ...]:
    found = _cached("averages", folder, stamps, _read_averages)
    return tuple(AverageSummary(name, tuple(members), lacks) for name, members, lacks in found)


def _read_averages() -> Iterator[AverageSummary]:
    from tenbin.tasks.groups import all_members, group_definitions

    for name, block in group_definitions().items():
        members = tuple(str(member.task) for member in all_members(name))
        yield AverageSummary(name, members, bool(block.missing))


def _cached(
    what: str, folder: str, stamps: tuple[Stamps, ...], make: Callable[[], Iterable[Any]]
) -> list[Any]:
    """What the cache has of a folder, made anew when a file that it rests on has changed.

    Args:
        what: The name of the file in the cache.
        folder: Of the catalogue.
        stamps: Of all that the entries are made of.
        make: Gives the entries, tuples that JSON can hold.
    """
    place = _place(what, folder)
    seal = f"{_FORMAT} {stamps}"
    text = read_sealed(place, seal) if place else None
    if text is not None:
        return list(json.loads(text))
    started = time.time_ns()
    entries = list(make())
    if place and all(one[1] < started - _RECENT for group in stamps for one in group):
        write_sealed(place, seal, json.dumps(entries, ensure_ascii=False, separators=(",", ":")))
    return entries


def _place(what: str, folder: str) -> Path | None:
    """Where the summaries lie; None where there is no home."""
    with suppress(RuntimeError):
        digest = hashlib.sha256(os.fsencode(folder)).hexdigest()
        return cache_directory() / "task-index" / f"{what}-{digest[:32]}.json"
    return None


def _stored(values: list[Any]) -> TaskSummary:
    found = TaskSummary(*values)
    return found._replace(templates=tuple(found.templates))


def _read(paths: Iterable[str]) -> Iterator[CatalogueEntry]:
    from tenbin.tasks.loader import load_file

    for path in map(Path, paths):
        # A leading underscore marks a file that others include.
        for loaded in [] if path.name.startswith("_") else load_file(path):
            yield CatalogueEntry(summary_of(loaded.task), dict(loaded.version_aliases))
