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
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tenbin.errors import TaskError
from tenbin.files.yaml_text import YamlError, parse_yaml, read_yaml_bytes
from tenbin.tasks.lm_eval.index_cache import (
    Entry,
    Record,
    Stamp,
    cache_file,
    read_cache,
    write_cache,
)
from tenbin.tasks.lm_eval.reading import MOST_FILES, included_names

OWN_KEYS = frozenset(
    {
        "dataset",
        "default_template",
        "example_target",
        "family",
        "labels",
        "language",
        "languages",
        "num_choices",
        "parallel",
        "references",
        "system_prompt",
        "templates",
        "title",
        "variants",
        "version_aliases",
        "versions",
    }
)
"""Keys that only tenbin's own task files have."""


def is_own(mapping: Mapping[str, Any]) -> bool:
    """Whether a file is in tenbin's own format, by keys that lm-eval does not know."""
    if not OWN_KEYS.isdisjoint(mapping):
        return True
    examples, metrics = mapping.get("fewshot_config"), mapping.get("metric_list")
    if isinstance(examples, dict) and (
        "label" in examples or examples.get("sampler") == "stratified"
    ):
        return True
    return isinstance(metrics, list) and any(
        isinstance(metric, dict) and "name" in metric for metric in metrics
    )


_NAMING_KEYS = ("class", "group", "include", "tag", "task")
_READ_KEYS = OWN_KEYS.union(_NAMING_KEYS)
_TELLING_KEYS = frozenset({"<<", "label", "name", "sampler"})
"""Keys within `fewshot_config` and `metric_list` without which `is_own` need not look at them."""
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".ipynb_checkpoints"})
_LONGEST_REASON = 400

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Report = Callable[[int, int], None]
"""Called with the files read so far, and how many there are to read."""


class _IndexLoader(_Loader):  # type: ignore[misc]
    """Safe YAML, in which a function is a mere mark."""


_IndexLoader.add_constructor("!function", lambda loader, node: "!function")


def _is_needed(key: str, node: yaml.Node) -> bool:
    """Whether a key says what a file is; most lists of metrics need not be made for that."""
    if key in ("fewshot_config", "metric_list"):
        mappings = node.value if isinstance(node, yaml.SequenceNode) else [node]
        return any(
            inner.value in _TELLING_KEYS
            for mapping in mappings
            if isinstance(mapping, yaml.MappingNode)
            for inner, _ in mapping.value
            if isinstance(inner, yaml.ScalarNode)
        )
    return key in _READ_KEYS


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
    changed = {path for path, stamp in includes.items() if _stamp(path) != stamp}
    kept = {
        path: record
        for path, record in known.items()
        if stamps.get(path) == record.stamp and changed.isdisjoint(record.includes)
    }
    indexing = _Indexing(root)
    records = dict(kept)
    missing = [path for path in stamps if path not in kept]
    for number, path in enumerate(missing):
        records[path] = indexing.record(path, stamps[path])
        if report is not None:
            report(number + 1, len(missing))
    if missing or len(known) != len(records):
        # What stays of the cache has its includes there too.
        used = {path: includes[path] for record in kept.values() for path in record.includes}
        write_cache(place, root, records, {**used, **indexing.stamps}, started)
    entries = (record.entry for _, record in sorted(records.items()))
    return FolderIndex(folder, tuple(_shown(entry, root, folder) for entry in entries if entry))


def _shown(entry: Entry, root: str, folder: Path) -> Entry:
    """The entry with its path as the user writes the folder."""
    if root == str(folder):
        return entry
    path = str(folder / entry.path[len(root) :].lstrip(os.sep))
    return entry._replace(path=path, reason=entry.reason.replace(entry.path, path))


def _task_files(root: str) -> dict[str, Stamp]:
    """Paths and stamps of all YAML files; links to folders are not followed."""
    stamps: dict[str, Stamp] = {}
    folders = [root]
    while folders:
        folder = folders.pop()
        with os.scandir(folder) as listed:
            for entry in listed:
                if entry.name.endswith((".yaml", ".yml")) and not entry.is_dir():
                    try:
                        status = entry.stat()
                    except OSError:  # a link that leads nowhere
                        continue
                    stamps[entry.path] = (status.st_mtime_ns, status.st_size)
                elif entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED_FOLDERS:
                    folders.append(entry.path)
        # A run's folder holds its configuration, which is no task.
        run = os.path.join(folder, "run.yaml")  # noqa: PTH118
        if run in stamps and Path(folder, "result.json").exists():
            del stamps[run]
    return stamps


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


@dataclass
class _Indexing:
    """Reads files, and every included file once."""

    root: str
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    """Of the included files; None for those that are not there."""
    _keys: dict[str, Mapping[str, Any] | TaskError] = field(default_factory=dict)
    _places: dict[tuple[str, str], str] = field(default_factory=dict)

    def record(self, path: str, stamp: Stamp) -> Record:
        includes: dict[str, None] = {}
        try:
            keys = self._merged(path, (), includes)
            entry = _entry_of(keys, path)
        except TaskError as error:
            reason = str(error.message)[:_LONGEST_REASON]
            entry = Entry(Path(path).stem, "refused", path, reason=reason)
        return Record(stamp, tuple(includes), entry)

    def _merged(
        self, path: str, above: tuple[str, ...], includes: dict[str, None]
    ) -> dict[str, Any]:
        if path in above:
            circle = " → ".join(Path(p).name for p in (*above, path))
            raise TaskError(f"{above[0]}: task files include each other: {circle}")
        if len(includes) > MOST_FILES:
            raise TaskError(f"{above[0]}: includes more than {MOST_FILES} files")
        own = dict(self._included(path) if above else _naming_keys(path))
        below: dict[str, Any] = {}
        for name in included_names(path, own.pop("include", [])):
            place = self._place(path.rpartition(os.sep)[0], name)
            # What lies outside is not read before the task is selected, and then checked.
            if place.startswith(self.root + os.sep):
                includes[place] = None
                if place not in self.stamps:
                    self.stamps[place] = _stamp(place)
                below.update(self._merged(place, (*above, path), includes))
        return {**below, **own}

    def _included(self, path: str) -> Mapping[str, Any]:
        if path not in self._keys:
            try:
                self._keys[path] = _naming_keys(path)
            except TaskError as error:
                self._keys[path] = error
        known = self._keys[path]
        if isinstance(known, TaskError):
            raise known
        return known

    def _place(self, folder: str, name: str) -> str:
        if (folder, name) not in self._places:
            self._places[folder, name] = os.path.realpath(os.path.join(folder, name))  # noqa: PTH118
        return self._places[folder, name]


def _naming_keys(path: str) -> dict[str, Any]:
    """The keys of one file that say what it is, and `own` for keys of tenbin's format.

    Raises:
        TaskError: The file cannot be read.
    """
    try:
        loaded = parse_yaml(read_yaml_bytes(path), _IndexLoader, path, _is_needed)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from error
    except YamlError as error:
        raise TaskError(f"{path}: {error}") from error
    if not isinstance(loaded, dict):
        raise TaskError(f"{path}: a task file is a mapping of keys, not a {type(loaded).__name__}")
    keys = {key: loaded[key] for key in _NAMING_KEYS if key in loaded}
    if is_own(loaded):
        keys["own"] = True
    return keys


def _entry_of(keys: Mapping[str, Any], path: str) -> Entry | None:
    """What a file with these keys is; None for one that others include.

    Raises:
        TaskError: Its name is none.
    """
    task, group = keys.get("task"), keys.get("group")
    tags = _texts(keys.get("tag"))
    if "task" not in keys:
        return None
    if "own" in keys:
        # In this format, a leading underscore marks a file that others include.
        included = path.rpartition(os.sep)[2].startswith("_")
        return None if included else Entry(_name(task, "task", path), "own", path, tags)
    if "class" in keys:
        return Entry(_name(task, "task", path), "python", path, (*_texts(group), *tags))
    if "group" in keys and not isinstance(task, str):
        listed = map(_member, task if isinstance(task, list) else [])
        members = tuple(filter(None, listed))
        return Entry(_name(group, "group", path), "group", path, members=members)
    # A group in a task's own file is what tags were called before.
    return Entry(_name(task, "task", path), "task", path, (*_texts(group), *tags))


def _name(value: Any, key: str, path: str) -> str:
    if isinstance(value, str) and value:
        return value
    hint = "write it in quotes" if isinstance(value, bool | int | float) else ""
    raise TaskError(f"{path}: {key}: names it with a text, not {value!r:.80}", hint)


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(one for one in values if isinstance(one, str)))


def _member(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("group") or value.get("task")
    return value if isinstance(value, str) else None
