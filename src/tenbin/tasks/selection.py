"""Which tasks an entry of `--tasks` stands for.

An entry is an id (`jnli-1.3-0.2`), a pattern (`jcommonsenseqa-1.1-*`), a group (`mlogiqa_mcq`), a
tag, a bare task (`jnli`, newest version, template from `--template`), or the path of a task file.
Names are found by summaries and indexes; a file is loaded when it is selected. Of a task of the
catalogue and one of an included folder with the same name, the folder's is meant, unless the id
names a version that the catalogue has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING

from tenbin.errors import TaskError
from tenbin.sandbox.printable import counted
from tenbin.tasks.formats import is_group, is_own
from tenbin.tasks.rotation import FORMAT, MARK, all_templates, split_rotation, with_template
from tenbin.tasks.summary import TaskSummary, summary_of

if TYPE_CHECKING:
    from tenbin.records import Group, Task
    from tenbin.tasks.lm_eval.grouping import Leaf
    from tenbin.tasks.lm_eval.index_cache import Entry
    from tenbin.tasks.lm_eval.reading import ReadFile
    from tenbin.tasks.registry import Registry

_SHOWN_ERRORS = 5
_MOST_COMPARED = 300


@dataclass(frozen=True, slots=True)
class Selected:
    """One task under one template, and the entry of `--tasks` that asked for it."""

    entry: str
    task: Task
    template: str
    named: bool = False
    """Whether the entry itself names the template."""
    group: Group | None = None
    """The group that the entry names, where it is one of lm-eval's with scores or groups of its
    own, or one of the catalogue's."""
    shots: int | None = None
    """Examples that the definition of a group or suite asks for."""
    chosen_by: tuple[tuple[str, str], ...] = ()
    """Option → who chose its value where the user did not: `profile NAME`, `group NAME`."""

    @property
    def full_id(self) -> str:
        """Task, version and template, all written out."""
        return f"{self.task.name}-{self.task.version}-{self.template}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The tasks of one entry, from all that a registry knows."""

    registry: Registry
    entry: str
    template: str | None
    """For tasks whose template the entry does not name; None: their default."""

    def tasks(self) -> list[Selected]:
        """What the entry stands for.

        Raises:
            TaskError: Nothing, or more than one thing; or a file that cannot be used.
        """
        if self.entry.endswith((".yaml", ".yml")):
            return self._from_file()
        if any(mark in self.entry for mark in "*?["):
            self.registry.add_installed()
            return self._matching()
        try:
            return self._named()
        except TaskError:
            if not self.registry.add_installed():
                raise
        return self._named()

    def tasks_of_group(self, read: ReadFile) -> list[Selected]:
        """The tasks of a group file, each with the group."""
        library = self.registry.library
        expanded = library.expand(read, tuple(self.registry.tasks))
        tasks = self._load(
            {
                name: partial(self._known, leaf)
                if leaf.entry is None and not leaf.inline
                else partial(library.load_leaf, leaf, read)
                for name, leaf in expanded.leaves.items()
            },
        )
        return [replace(self._alone(task), group=expanded.group) for task in tasks]

    def _named(self) -> list[Selected]:
        registry = self.registry
        name, version, wording = self._parse()
        if name is None:
            # Only now: no other name needs the definitions, and reading them takes time.
            from tenbin.tasks.groups import group_definitions

            if self.entry in group_definitions():
                return registry.expansion(self.template).group(self.entry, self.entry)
            raise TaskError(f"unknown task {self.entry!r}", closest(registry, self.entry))
        if name in registry.refused:
            raise registry.refused[name]
        own = registry.groups().get(name, [name] if name in registry.tasks else [])
        found = registry.library.lookup(name)
        if own and self._is_replaced(name, own, version):
            own = []
        if len(found) + bool(own) > 1 and not (own and version):
            raise self._ambiguous(name, own, found)
        if own:
            chosen = [self._choose(one, version, wording) for one in own]
        else:
            chosen = self._indexed(name, version, wording)
        return [replace(one, named=wording is not None) for one in chosen]

    def _is_replaced(self, name: str, own: Sequence[str], version: str | None) -> bool:
        """Whether a name of the catalogue stands for what an included folder calls so.

        Whoever includes a folder means its tasks. A version that the catalogue has still means the
        catalogue's task.
        """
        registry = self.registry
        if not all(registry.is_bundled(task) for task in own):
            return False
        if version is not None and any(
            registry.aliases.get((task, version), version) in registry.tasks[task] for task in own
        ):
            return False
        return bool(registry.library.lookup(name) or registry.library.tagged(name))

    def _ambiguous(self, name: str, own: Sequence[str], found: Sequence[Entry]) -> TaskError:
        newest = self.registry.newest_summary(own[0]) if own else None
        places = [newest.source or "tenbin's catalogue"] if newest else []
        places += [entry.path for entry in found]
        return TaskError(
            f"{name!r} is the name of {len(places)} tasks: {', '.join(places[:5])}",
            "name the file that you mean: --tasks PATH.yaml"
            + (f", or {newest.name}-{newest.version}" if newest else ""),
        )

    def _indexed(self, name: str, version: str | None, wording: str | None) -> list[Selected]:
        """A task, a group or a tag of an indexed folder."""
        library = self.registry.library
        found = library.lookup(name) or library.tagged(name)
        if found[0].kind == "group":
            return replace(self, template=wording or self.template).tasks_of_group(
                library.read(found[0])
            )
        tasks = self._load({one.name: partial(library.load, one) for one in found})
        return [self._alone(task, version, wording) for task in tasks]

    def _known(self, leaf: Leaf) -> Task:
        """A task of the catalogue, or in tenbin's own format, that a group names."""
        if leaf.overrides:
            raise TaskError(
                f"{leaf.name}: {min(leaf.overrides)}: a group can only change lm-eval's task files",
                "leave the key out, or write a task file of its own",
            )
        return self.registry.newest(leaf.name)

    def _load(self, loaders: Mapping[str, Callable[[], Task]]) -> list[Task]:
        """The tasks that the entry stands for; one that cannot be used is an error for all."""
        tasks, errors = [], {}
        for name, load in loaders.items():
            try:
                tasks.append(load())
            except TaskError as error:
                errors[name] = error
        if len(errors) == 1 == len(loaders):
            raise next(iter(errors.values()))
        if errors:
            shown = [f"{name}: {error.message}" for name, error in errors.items()][:_SHOWN_ERRORS]
            raise TaskError(
                f"{self.entry!r}: {len(errors)} of {len(loaders)} tasks cannot be used:\n"
                + "\n".join(shown),
                "name the others one by one, or with a pattern that leaves these out",
            )
        return tasks

    def _from_file(self) -> list[Selected]:
        from tenbin.tasks.lm_eval.reading import read_task_file
        from tenbin.tasks.registry import load_task_file

        registry, path = self.registry, Path(self.entry)
        read = read_task_file(path, registry.reach)
        if is_group(read.mapping):
            return self.tasks_of_group(read)
        loaded = load_task_file(path, registry.profile, registry.reach)
        if not is_own(read.mapping):
            return [self._alone(one.task) for one in loaded]
        for one in loaded:
            if registry.find(one.task.name, one.task.version) != one.task:
                registry.add(one)
        return [self._choose(name) for name in dict.fromkeys(one.task.name for one in loaded)]

    def _matching(self) -> list[Selected]:
        registry, library, pattern = self.registry, self.registry.library, self.entry
        names = [
            name
            for name in registry.tasks
            if fnmatchcase(name, pattern) and not self._is_replaced(name, [name], None)
        ]
        chosen = [self._choose(name) for name in names]
        found = library.matching(pattern)
        for group in [entry for entry in found if entry.kind == "group"]:
            chosen += self.tasks_of_group(library.read(group))
        found = [entry for entry in found if entry.kind != "group"]
        for name in [*names, *(entry.name for entry in found)]:
            rivals = library.lookup(name)
            if len(rivals) + (name in names) > 1:
                raise self._ambiguous(name, [name] if name in names else [], rivals)
        tasks = self._load({one.name: partial(library.load, one) for one in found})
        chosen += [self._alone(task) for task in tasks]
        return chosen or self._matching_ids()

    def _matching_ids(self) -> list[Selected]:
        chosen = [
            self._under(self.registry.task(one.name, one.version), wording, named=True)
            for one in self.registry.summaries()
            for wording in self._wordings(one)
            if self._matches(one, wording)
        ]
        if not chosen:
            hint = closest(self.registry, self.entry.strip("*-"))
            raise TaskError(f"no task matches {self.entry!r}", hint)
        return chosen

    def _wordings(self, task: TaskSummary) -> Sequence[str]:
        """The templates that the entry may mean; rotated ones only where it asks for them."""
        before, mark, _ = self.entry.rpartition(MARK)
        if not mark:
            return task.templates
        unrotated = replace(self, entry=before)
        if not any(unrotated._matches(task, wording) for wording in task.templates):
            return ()
        return all_templates(self.registry.task(task.name, task.version))

    def _under(self, task: Task, wording: str, named: bool = False) -> Selected:
        return Selected(self.entry, with_template(task, wording), wording, named)

    def _matches(self, task: TaskSummary, wording: str) -> bool:
        aliases = self.registry.aliases.items()
        also = [alias for (name, alias), meant in aliases if (name, meant) == task[:2]]
        return any(
            fnmatchcase(f"{task.name}-{version}-{wording}", self.entry)
            for version in (task.version, *also)
        )

    def _parse(self) -> tuple[str | None, str | None, str | None]:
        """Split an id at the longest task, group or tag name it begins with."""
        registry, entry = self.registry, self.entry
        own = {*registry.tasks, *registry.groups(), *registry.refused}
        cuts = [at for at, mark in enumerate(entry) if mark == "-"]
        for cut in [len(entry), *reversed(cuts)]:
            name = entry[:cut]
            if name in own or registry.library.lookup(name) or registry.library.tagged(name):
                version, _, wording = entry[cut + 1 :].partition("-")
                return name, version or None, wording or None
        return None, None, None

    def _choose(
        self, name: str, version: str | None = None, wording: str | None = None
    ) -> Selected:
        """A task that is known by its summary; loaded once version and template are right."""
        registry = self.registry
        if version is None:
            chosen = registry.newest_summary(name)
        else:
            version = registry.aliases.get((name, version), version)
            chosen = self._of_version(name, registry.tasks[name], version)
        template = self._template(chosen, wording)
        selected = self._under(registry.task(name, chosen.version), template)
        if wording or self.template or registry.profile is None:
            return selected
        return self._preferred(selected, registry.profile)

    def _preferred(self, selected: Selected, profile: str) -> Selected:
        """The task under the template that a profile takes where the user names none."""
        from tenbin.config.profiles import find_profile

        for wording in find_profile(profile).templates:
            if wording in selected.task.templates:
                by = (("template", f"profile {profile}"),)
                return replace(selected, template=wording, chosen_by=by)
        return selected

    def _alone(
        self, task: Task, version: str | None = None, wording: str | None = None
    ) -> Selected:
        """A task whose file has it in one version."""
        summary = summary_of(task)
        if version is not None:
            self._of_version(task.name, {task.version: summary}, version)
        return self._under(task, self._template(summary, wording))

    def _of_version(
        self, name: str, versions: Mapping[str, TaskSummary], version: str
    ) -> TaskSummary:
        if version not in versions:
            raise TaskError(
                f"{self.entry!r}: {name} has no version {version!r}",
                f"versions of {name}: {', '.join(versions)}",
            )
        return versions[version]

    def _template(self, task: TaskSummary, wording: str | None) -> str:
        chosen = wording or self.template or task.default_template
        base = split_rotation(chosen)[0]
        if base not in task.templates and not base.startswith(FORMAT):
            raise TaskError(
                f"{self.entry!r}: {task.name} {task.version} has no template {chosen!r}",
                f"templates of {task.name} {task.version}: {', '.join(task.templates)}",
            )
        return chosen


def closest(registry: Registry, entry: str) -> str:
    """A hint for a name that there is not."""
    from tenbin.tasks.groups import group_definitions

    ids = [f"{one.name}-{one.version}-{w}" for one in registry.summaries() for w in one.templates]
    defined = group_definitions()
    known = [*registry.tasks, *registry.groups(), *defined, *ids, *registry.library.names()]
    close = get_close_matches(entry.lower(), alike(entry, known), n=5, cutoff=0.5)
    listing = "`tenbin tasks` lists everything"
    if not registry.library.indexes:
        listing += "; --include_path lm_eval adds the tasks of lm-eval"
    unread = [one for one in registry.library.entries() if one.kind == "refused"]
    if unread:
        listing += (
            f"; {counted(len(unread), 'file')} of --include_path could not be read, such as "
            f"{unread[0].path}: `tenbin validate --include_path …` says why"
        )
    return f"did you mean {', '.join(close)}? {listing}" if close else listing


def alike(text: str, names: Sequence[str]) -> Sequence[str]:
    """The names that share most with a text: all if there are few, for a slower comparison."""
    if len(names) <= _MOST_COMPARED:
        return names
    parts = {text[at : at + 3].lower() for at in range(max(len(text) - 2, 1))}
    shared = [(sum(part in name for part in parts) / (len(name) + 5), name) for name in names]
    return [name for _, name in nlargest(_MOST_COMPARED, shared)]
