"""What a folder of task files holds: names, kinds, tags and paths, without loading a task.

The index of a folder is kept in the cache. A file is read again when its time or size changed, or
those of a file that it includes, so that a warm index costs one look at the folder. A file that
cannot be read, or that says nothing useful, is an entry with its reason and hinders no other.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tenbin.errors import TaskError
from tenbin.tasks.lm_eval.index_cache import (
    Entry,
    Record,
    Stamp,
    cache_file,
    read_cache,
    stamp_of,
    write_cache,
)

_SKIPPED_FOLDERS = frozenset({"__pycache__", ".ipynb_checkpoints"})
_NOWHERE: Stamp = (0, -1)
"""Of a link that leads nowhere, or a folder that cannot be listed; reading it says so."""

Report = Callable[[int, int], None]
"""Called with the files read so far, and how many there are to read."""


@dataclass(frozen=True)
class FolderIndex:
    """All task files of a folder and of the folders below, in the order of their paths."""

    folder: Path
    entries: tuple[Entry, ...]

    @cached_property
    def names(self) -> Mapping[str, tuple[Entry, ...]]:
        """Entries by name; several where files use one name."""
        found: dict[str, tuple[Entry, ...]] = {}
        for entry in self.entries:
            found[entry.name] = (*found.get(entry.name, ()), entry)
        return found

    @cached_property
    def tags(self) -> Mapping[str, tuple[str, ...]]:
        """Names of tasks by tag, in alphabetical order."""
        found: dict[str, set[str]] = {}
        for entry in self.entries:
            if entry.kind in ("task", "python"):
                for tag in entry.tags:
                    found.setdefault(tag, set()).add(entry.name)
        return {tag: tuple(sorted(names)) for tag, names in sorted(found.items())}


def index_folder(folder: Path, report: Report | None = None) -> FolderIndex:
    """The index of a folder, from the cache as far as files are unchanged.

    Raises:
        TaskError: The folder itself cannot be listed.
    """
    with _collection_paused():
        return _index_folder(folder, report)


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Pause the garbage collector, which would look through thousands of new records in vain."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _index_folder(folder: Path, report: Report | None) -> FolderIndex:
    root = os.path.realpath(folder)
    started = time.time_ns()
    try:
        stamps = _task_files(root)
    except OSError as error:
        raise TaskError(f"{folder}: cannot be listed: {error.strerror}") from error
    place = cache_file(root)
    known, includes = read_cache(place, root)
    changed = {path for path, stamp in includes.items() if stamp_of(path) != stamp}
    kept = {
        path: record
        for path, record in known.items()
        if stamps.get(path) == record.stamp and changed.isdisjoint(record.includes)
    }
    missing = [path for path in stamps if path not in kept]
    records = kept
    if missing or len(known) != len(kept):
        read, included = _read_entries(root, {path: stamps[path] for path in missing}, report)
        # What stays of the cache has its includes there too.
        used = {path: includes[path] for record in kept.values() for path in record.includes}
        records = kept | read
        write_cache(place, root, records, used | included, started)
    entries = [record.entry for _, record in sorted(records.items()) if record.entry]
    if root != str(folder):
        shown = "" if str(folder) == "." else f"{folder}{os.sep}"
        entries = [_shown(entry, root, shown) for entry in entries]
    return FolderIndex(folder, tuple(entries))


def _read_entries(
    root: str, missing: Mapping[str, Stamp], report: Report | None
) -> tuple[dict[str, Record], dict[str, Stamp | None]]:
    """Records of files that the cache does not have, and the stamps of what they include."""
    if not missing:
        return {}, {}
    # A warm index does without the YAML library.
    from tenbin.tasks.lm_eval.file_entry import EntryReader

    reader = EntryReader(root)
    records = {}
    for number, (path, stamp) in enumerate(missing.items()):
        records[path] = reader.record(path, stamp)
        if report is not None:
            report(number + 1, len(missing))
    return records, reader.stamps


def _shown(entry: Entry, root: str, folder: str) -> Entry:
    """The entry with its path as the user writes the folder."""
    path = folder + entry.path[len(root) :].lstrip(os.sep)
    return entry._replace(path=path, reason=entry.reason.replace(entry.path, path))


def _task_files(root: str) -> dict[str, Stamp]:
    """Paths and stamps of all YAML files; links to folders are not followed.

    A folder below that cannot be listed stands there itself, so that its entry says why.
    """
    stamps: dict[str, Stamp] = {}
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            listed = os.scandir(folder)
        except OSError:
            if folder == root:
                raise
            stamps[folder] = _NOWHERE
            continue
        with listed:
            for entry in listed:
                if entry.name.endswith((".yaml", ".yml")) and not _is_folder(entry):
                    stamps[entry.path] = stamp_of(entry.path) or _NOWHERE
                elif entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED_FOLDERS:
                    folders.append(entry.path)
        # A run's folder holds its configuration, which is no task.
        run = os.path.join(folder, "run.yaml")  # noqa: PTH118
        if run in stamps and Path(folder, "result.json").exists():
            del stamps[run]
    return stamps


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder, or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link to itself
