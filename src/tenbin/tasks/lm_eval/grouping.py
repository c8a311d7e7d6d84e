"""Groups of tasks: which tasks a group file stands for, with which changes, and its scores.

A group lists names of tasks, of further groups and of tags, tasks with keys that differ here
(`{task: x, num_fewshot: 5}`), and whole tasks and groups written in place. Keys of a group file
that are not a group's own hold for all tasks below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tenbin.errors import TaskError
from tenbin.records import Group, GroupMetric, TaskFunction
from tenbin.tasks.lm_eval.index_cache import Entry
from tenbin.tasks.lm_eval.reading import ReadFile

_GROUP_KEYS = frozenset({"group", "group_alias", "task", "aggregate_metric_list", "metadata"})
_NO_OVERRIDES = frozenset({"task", "group", "tag", "task_list"})
_MOST_TASKS = 20_000
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Leaf:
    """A task of a group, with what the groups around it change."""

    name: str
    entry: Entry | None = None
    """None: the group writes the task itself, or it is one of the catalogue."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    inline: bool = False
    """Whether `overrides` is the whole task."""


Found: TypeAlias = "Entry | Sequence[Entry] | str | None"
"""What a name stands for: a file, the files of a tag, a task of the catalogue, or nothing."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A group, and the tasks that it and the groups below stand for."""

    group: Group
    leaves: Mapping[str, Leaf]


def expand_group(
    read: ReadFile, find: Callable[[str], Found], read_entry: Callable[[Entry], ReadFile]
) -> Expanded:
    """What a group file stands for.

    Args:
        read: The group file.
        find: What a name stands for.
        read_entry: Reads the file of an entry.

    Raises:
        TaskError: Naming the file and what is wrong with it.
    """
    expanding = _Expanding(find, read_entry)
    try:
        group = expanding.group(str(read.mapping["group"]), read.mapping, {}, ())
    except TaskError as error:
        raise TaskError(f"{read.path}: {error.message}", error.hint) from error
    return Expanded(group, expanding.leaves)


@dataclass
class _Expanding:
    find: Callable[[str], Found]
    read_entry: Callable[[Entry], ReadFile]
    leaves: dict[str, Leaf] = field(default_factory=dict)

    def group(
        self, name: str, keys: Mapping[str, Any], overrides: Mapping[str, Any], above: Sequence[str]
    ) -> Group:
        if name in above or len(above) > _DEEPEST:
            raise TaskError(
                f"groups contain each other: {' → '.join([*above, name])}",
                "take one of them out of the other's task:",
            )
        listed = keys.get("task")
        if not isinstance(listed, list):
            raise TaskError(
                f"group {name!r}: task: is a list of tasks and groups", "write task: [NAME, NAME]"
            )
        if not listed:
            raise TaskError(f"group {name!r}: task: lists nothing", "name the group's tasks there")
        own = {key: value for key, value in keys.items() if key not in _GROUP_KEYS}
        # What surrounds a group wins over what it says itself.
        given = {**own, **overrides}
        members: dict[str, str | Group] = {}
        for item in listed:
            for member in self._members(item, name, given, (*above, name)):
                members[member if isinstance(member, str) else member.name] = member
        if len(self.leaves) > _MOST_TASKS:
            raise TaskError(f"group {name!r}: stands for more than {_MOST_TASKS:,} tasks")
        alias = keys.get("group_alias")
        title = alias if isinstance(alias, str) and alias else name
        return Group(name, title, tuple(members.values()), _metrics(name, keys))

    def _members(
        self, item: Any, group: str, overrides: Mapping[str, Any], above: Sequence[str]
    ) -> list[str | Group]:
        if isinstance(item, str):
            return self._named(item, group, overrides, above)
        if not isinstance(item, Mapping) or not ("group" in item or "task" in item):
            raise TaskError(
                f"group {group!r}: task: holds names, or mappings with `task:` or `group:`, "
                f"not {item!r:.80}",
                "name the task of this entry",
            )
        name = item.get("group") or item.get("task")
        if not isinstance(name, str):
            raise TaskError(f"group {group!r}: a name is a text, not {name!r:.80}")
        changed = {**overrides, **item}
        if "group" not in item or self.find(name) is not None:
            return self._named(name, group, changed, above)
        return [self.group(f"{group}::{name}", item, overrides, above)]

    def _named(
        self, name: str, group: str, overrides: Mapping[str, Any], above: Sequence[str]
    ) -> list[str | Group]:
        found = self.find(name)
        changed = {key: value for key, value in overrides.items() if key not in _NO_OVERRIDES}
        if isinstance(found, str):
            return [self._add(Leaf(found, None, changed))]
        if found is None:
            return [self._add(self._inline(name, group, changed))]
        entries = [found] if isinstance(found, Entry) else found
        members: list[str | Group] = []
        for entry in entries:
            if entry.kind == "group":
                keys = self.read_entry(entry).mapping
                members.append(self.group(entry.name, keys, changed, above))
            else:
                members.append(self._add(Leaf(entry.name, entry, changed)))
        return members

    def _inline(self, name: str, group: str, keys: Mapping[str, Any]) -> Leaf:
        if not {"dataset_path", "custom_dataset"} & keys.keys():
            raise TaskError(
                f"group {group!r}: there is no task, group or tag {name!r}",
                "name the folder that holds it with --include_path too",
            )
        inner = f"{group}::{name}"
        return Leaf(inner, None, {**keys, "task": inner}, inline=True)

    def _add(self, leaf: Leaf) -> str:
        # As in lm-eval, a task that is listed twice is what the last one says.
        self.leaves[leaf.name] = leaf
        return leaf.name


def _metrics(name: str, keys: Mapping[str, Any]) -> tuple[GroupMetric, ...]:
    given = keys.get("aggregate_metric_list")
    listed = given if isinstance(given, list) else [] if given is None else [given]
    return tuple(_metric(name, one) for one in listed)


def _metric(name: str, keys: Any) -> GroupMetric:
    where = f"group {name!r}: aggregate_metric_list"
    metric = keys.get("metric") if isinstance(keys, Mapping) else None
    if isinstance(metric, TaskFunction):
        metric = metric.name
    if not isinstance(metric, str):
        raise TaskError(
            f"{where}: each entry is a mapping with `metric:` and a metric's name, "
            f"not {str(keys)[:80]!r}",
            "write one entry for each metric",
        )
    unknown = keys.keys() - {"metric", "aggregation", "weight_by_size", "filter_list"}
    if unknown:
        raise TaskError(
            f"{where}: unknown key {min(map(str, unknown))!r}",
            "an entry has metric, aggregation, weight_by_size and filter_list",
        )
    aggregation = keys.get("aggregation", "mean")
    # lm-eval takes a function there and never calls it: the score is the mean.
    if aggregation != "mean" and not isinstance(aggregation, TaskFunction):
        raise TaskError(
            f"{where}: aggregation: {aggregation!s:.80}: only `mean` is possible",
            "leave the entry out: the group's tasks have scores of their own",
        )
    weighted = bool(keys.get("weight_by_size", True))
    filters = keys.get("filter_list")
    if filters is None:
        return GroupMetric(metric, weighted)
    names = [filters] if isinstance(filters, str) else filters
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise TaskError(f"{where}: filter_list: is a list of names", "write [NAME, NAME]")
    return GroupMetric(metric, weighted, tuple(names))
