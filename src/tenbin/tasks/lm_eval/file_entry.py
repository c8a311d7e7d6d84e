"""What one task file is: its name, kind and tags, from the few keys that say so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tenbin.errors import TaskError
from tenbin.files.yaml_text import Loader, YamlError, parse_yaml, read_yaml_bytes, why_unread
from tenbin.tasks.formats import OWN_KEYS, is_own
from tenbin.tasks.lm_eval.index_cache import Entry, Record, Stamp, stamp_of
from tenbin.tasks.lm_eval.reading import MOST_FILES, included_names, keys_of

_NAMING_KEYS = ("class", "group", "include", "tag", "task")
_READ_KEYS = OWN_KEYS.union(_NAMING_KEYS)
_TELLING_KEYS = frozenset({"<<", "label", "name", "sampler"})
"""Keys within `fewshot_config` and `metric_list` without which `is_own` need not look at them."""
_LONGEST_REASON = 400


class _IndexLoader(Loader):
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


@dataclass
class EntryReader:
    """Reads files, and every included file once."""

    root: str
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    """Of the included files; None for those that are not there."""
    _keys: dict[str, Mapping[str, Any] | TaskError] = field(default_factory=dict)
    _places: dict[tuple[str, str], str] = field(default_factory=dict)

    def record(self, path: str, stamp: Stamp) -> Record:
        """What the cache keeps of a file; one that cannot be read is an entry with its reason."""
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
        try:
            own = dict(self._included(path) if above else _naming_keys(path))
        except TaskError as error:
            if not above:
                raise
            raise TaskError(f"{above[-1]}: include: {error.message}", error.hint) from error
        below: dict[str, Any] = {}
        for name in included_names(path, own.pop("include", [])):
            place = self._place(path.rpartition(os.sep)[0], name)
            # What lies outside is not read before the task is selected, and then checked.
            if place.startswith(self.root + os.sep):
                includes[place] = None
                if place not in self.stamps:
                    self.stamps[place] = stamp_of(place)
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
    except (OSError, YamlError) as error:
        raise TaskError(f"{path}: {why_unread(error)}") from error
    loaded = keys_of(path, loaded)
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
