"""All tasks, and which of them a name on the command line selects.

A name is an id (`jnli-1.3-0.2`), a pattern (`jcommonsenseqa-1.1-*`), a group (`mlogiqa_mcq`), a
tag, a bare task (`jnli`, newest version, template from `--template`), or the path of a task file.

Tasks come from the catalogue, from `--include_path`, and from installed packages. Folders of
lm-eval's task files are indexed, and a file is translated when it is selected: one that cannot be
used, or that has the name of another, is an error only then. Of a task of the catalogue and one of
an included folder with the same name, the folder's is meant, unless the id names a version that
the catalogue has. The packages are only looked for when
a name is not among the others or a pattern is given, which keeps start-up quick; so that the order
does not matter, a package's tasks need names and groups of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from heapq import nlargest
from pathlib import Path

from tenbin.errors import TaskError
from tenbin.files.allowed_paths import Reach
from tenbin.records import Group, Task
from tenbin.tasks.installed import (
    TaskPackage,
    included_place,
    installed_packages,
    package_label,
)
from tenbin.tasks.lm_eval.grouping import Leaf
from tenbin.tasks.lm_eval.index import FolderIndex, Report, index_folder, is_own
from tenbin.tasks.lm_eval.index_cache import Entry
from tenbin.tasks.lm_eval.library import Library, is_group
from tenbin.tasks.lm_eval.reading import ReadFile, read_task_file
from tenbin.tasks.loader import LoadedTask, load_file

CATALOG = Path(__file__).parent.parent / "catalog" / "tasks"
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
    own."""

    @property
    def full_id(self) -> str:
        """Task, version and template, all written out."""
        return f"{self.task.name}-{self.task.version}-{self.template}"


@dataclass(slots=True)
class Registry:
    """Tasks by name and version, in the order they were read."""

    tasks: dict[str, dict[str, Task]] = field(default_factory=dict)
    aliases: dict[tuple[str, str], str] = field(default_factory=dict)
    profile: str | None = None
    reach: Reach = field(default_factory=Reach)
    """Where the files that task files include may lie, besides their own folders."""
    library: Library = field(default_factory=Library)
    """Folders of lm-eval's task files."""
    refused: dict[str, TaskError] = field(default_factory=dict)
    """Names that files of included folders cannot have, or use wrongly, and why."""
    _has_installed: bool = False

    def add(self, loaded: LoadedTask) -> None:
        """Add a task; a second one with the same name and version is refused."""
        task = loaded.task
        versions = self.tasks.setdefault(task.name, {})
        if task.version in versions:
            raise TaskError(
                f"{loaded.path}: task {task.name!r} version {task.version} is known already",
                "give your task a name of its own",
            )
        versions[task.version] = task
        for written, meant in loaded.version_aliases.items():
            self.aliases[task.name, written] = meant

    def add_file(self, path: Path) -> None:
        """Add a file that the user names.

        Raises:
            TaskError: It cannot be used.
        """
        read = read_task_file(path, self.reach)
        if is_group(read.mapping):
            entry = Entry(str(read.mapping["group"]), "group", str(path))
            self.library.indexes.append(FolderIndex(path.parent, (entry,)))
            return
        for loaded in load_task_file(path, self.profile, self.reach):
            self.add(loaded)

    def add_folder(self, index: FolderIndex) -> None:
        """Add an indexed folder; its files in tenbin's own format are loaded, others when asked."""
        self.library.indexes.append(index)
        for entry in index.entries:
            if entry.kind == "own":
                try:
                    for loaded in load_file(Path(entry.path), self.profile, self.reach):
                        self.add(loaded)
                except TaskError as error:
                    self.refused[entry.name] = error

    def newest(self, name: str) -> Task:
        """The task's highest version."""
        versions = self.tasks[name]
        return versions[max(versions, key=_version_key)]

    def add_installed(self) -> bool:
        """Take in the tasks of installed packages, once; return whether there are any.

        Raises:
            TaskError: A package's task is malformed, or is called like another task or group.
        """
        if self._has_installed:
            return False
        self._has_installed = True
        before = len(self.tasks)
        for package in installed_packages():
            self._add_package(package)
        return len(self.tasks) > before

    def _add_package(self, package: TaskPackage) -> None:
        taken = {*self.tasks, *self.groups()}
        entries = index_folder(package.folder).entries
        if not entries:
            raise TaskError(
                f"the installed package {package.name} has no task files in {package.folder}",
                f"install {package.name} again, or uninstall it",
            )
        groups = tuple(entry for entry in entries if entry.kind == "group")
        if groups:
            self.library.indexes.append(FolderIndex(package.folder, groups))
        for path in (Path(entry.path) for entry in entries if entry.kind != "group"):
            for loaded in load_task_file(path, self.profile, Reach((package.folder,))):
                clash = {loaded.task.name, loaded.task.group} & taken
                if clash:
                    raise TaskError(
                        f"{path}: the name {min(filter(None, clash))!r} is taken by another task "
                        f"or group, so that the installed package {package.name} cannot use it",
                        f"uninstall {package.name}, or rename your own task where it clashes",
                    )
                self.add(loaded)

    def all(self) -> list[Task]:
        """Every version of every task, those of installed packages included."""
        self.add_installed()
        return self._all()

    def _all(self) -> list[Task]:
        return [task for versions in self.tasks.values() for task in versions.values()]

    def groups(self) -> dict[str, list[str]]:
        """Group names and their members."""
        members: dict[str, list[str]] = {}
        for name in self.tasks:
            group = self.newest(name).group
            if group:
                members.setdefault(group, []).append(name)
        return members

    def select(self, entries: Sequence[str], template: str | None = None) -> list[Selected]:
        """What the entries of `--tasks` stand for, in the order written."""
        return [chosen for entry in entries for chosen in self._expand(entry, template)]

    def _expand(self, entry: str, template: str | None) -> list[Selected]:
        if entry.endswith((".yaml", ".yml")):
            return self._from_file(entry, template)
        if any(mark in entry for mark in "*?["):
            self.add_installed()
            return self._matching(entry, template)
        try:
            return self._named(entry, template)
        except TaskError:
            if not self.add_installed():
                raise
        return self._named(entry, template)

    def _named(self, entry: str, template: str | None) -> list[Selected]:
        name, version, wording = self._parse(entry)
        if name is None:
            raise TaskError(f"unknown task {entry!r}", self.closest(entry))
        if name in self.refused:
            raise self.refused[name]
        own = self.groups().get(name, [name] if name in self.tasks else [])
        found = self.library.lookup(name)
        if own and self._is_replaced(name, own, version):
            own = []
        if len(found) + bool(own) > 1 and not (own and version):
            raise self._ambiguous(name, own, found)
        if own:
            chosen = [self._choose(entry, n, version, wording or template) for n in own]
        else:
            chosen = self._indexed(entry, name, version, wording or template)
        return [replace(one, named=wording is not None) for one in chosen]

    def _is_replaced(self, name: str, own: list[str], version: str | None) -> bool:
        """Whether a name of the catalogue stands for what an included folder calls so.

        Whoever includes a folder means its tasks. A version that the catalogue has still means the
        catalogue's task.
        """
        if not all(self._is_bundled(task) for task in own):
            return False
        if version is not None and any(
            self.aliases.get((task, version), version) in self.tasks[task] for task in own
        ):
            return False
        return bool(self.library.lookup(name) or self.library.tagged(name))

    def _is_bundled(self, name: str) -> bool:
        """Whether every version of a task comes from the catalogue."""
        return all(Path(task.source).parent == CATALOG for task in self.tasks[name].values())

    def _ambiguous(self, name: str, own: list[str], found: list[Entry]) -> TaskError:
        places = [self.newest(own[0]).source or "tenbin's catalogue"] if own else []
        places += [entry.path for entry in found]
        return TaskError(
            f"{name!r} is the name of {len(places)} tasks: {', '.join(places[:5])}",
            "name the file that you mean: --tasks PATH.yaml"
            + (f", or {own[0]}-{self.newest(own[0]).version}" if own else ""),
        )

    def _indexed(
        self, entry: str, name: str, version: str | None, template: str | None
    ) -> list[Selected]:
        """A task, a group or a tag of an indexed folder."""
        found = self.library.lookup(name) or self.library.tagged(name)
        if found[0].kind == "group":
            return self._group(entry, self.library.read(found[0]), template)
        tasks = self._load(entry, {one.name: partial(self.library.load, one) for one in found})
        return [_choose_from({t.version: t}, entry, t.name, version, template) for t in tasks]

    def _group(self, entry: str, read: ReadFile, template: str | None) -> list[Selected]:
        expanded = self.library.expand(read, tuple(self.tasks))
        tasks = self._load(
            entry,
            {
                name: partial(self._known, leaf)
                if leaf.entry is None and not leaf.inline
                else partial(self.library.load_leaf, leaf, read)
                for name, leaf in expanded.leaves.items()
            },
        )
        chosen = (_choose_from({t.version: t}, entry, t.name, None, template) for t in tasks)
        return [replace(one, group=expanded.group) for one in chosen]

    def _known(self, leaf: Leaf) -> Task:
        """A task of the catalogue, or in tenbin's own format, that a group names."""
        if leaf.overrides:
            raise TaskError(
                f"{leaf.name}: {min(leaf.overrides)}: a group can only change lm-eval's task files",
                "leave the key out, or write a task file of its own",
            )
        return self.newest(leaf.name)

    def _load(self, entry: str, loaders: Mapping[str, Callable[[], Task]]) -> list[Task]:
        """The tasks that an entry stands for; one that cannot be used is an error for the entry."""
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
                f"{entry!r}: {len(errors)} of {len(loaders)} tasks cannot be used:\n"
                + "\n".join(shown),
                "name the others one by one, or with a pattern that leaves these out",
            )
        return tasks

    def tasks_of(self, path: Path) -> list[Task]:
        """Every task of a file, in all its versions; of a group's file, the group's tasks.

        Raises:
            TaskError: All that stands in the way of a task.
        """
        read = read_task_file(path, self.reach)
        if is_group(read.mapping):
            return [chosen.task for chosen in self._group(str(path), read, None)]
        return [loaded.task for loaded in load_task_file(path, self.profile, self.reach)]

    def _from_file(self, entry: str, template: str | None) -> list[Selected]:
        path = Path(entry)
        read = read_task_file(path, self.reach)
        if is_group(read.mapping):
            return self._group(entry, read, template)
        loaded = load_task_file(path, self.profile, self.reach)
        for one in loaded:
            known = self.tasks.get(one.task.name, {}).get(one.task.version)
            if known != one.task and is_own(read.mapping):
                self.add(one)
        if not is_own(read.mapping):
            return [
                _choose_from({one.task.version: one.task}, entry, one.task.name, None, template)
                for one in loaded
            ]
        names = dict.fromkeys(one.task.name for one in loaded)
        return [self._choose(entry, name, None, template) for name in names]

    def _matching(self, pattern: str, template: str | None) -> list[Selected]:
        names = [
            name
            for name in self.tasks
            if fnmatchcase(name, pattern) and not self._is_replaced(name, [name], None)
        ]
        chosen = [self._choose(pattern, name, None, template) for name in names]
        found = self.library.matching(pattern)
        for group in [entry for entry in found if entry.kind == "group"]:
            chosen += self._group(pattern, self.library.read(group), template)
        found = [entry for entry in found if entry.kind != "group"]
        for name in [*names, *(entry.name for entry in found)]:
            rivals = self.library.lookup(name)
            if len(rivals) + (name in names) > 1:
                raise self._ambiguous(name, [name] if name in names else [], rivals)
        tasks = self._load(pattern, {one.name: partial(self.library.load, one) for one in found})
        chosen += [_choose_from({t.version: t}, pattern, t.name, None, template) for t in tasks]
        if chosen:
            return chosen
        chosen = [
            Selected(pattern, task, wording, named=True)
            for task in self._all()
            for wording in task.templates
            if self._matches(task, wording, pattern)
        ]
        if not chosen:
            raise TaskError(f"no task matches {pattern!r}", self.closest(pattern.strip("*-")))
        return chosen

    def _matches(self, task: Task, wording: str, pattern: str) -> bool:
        written = [task.version]
        written += [
            alias
            for (name, alias), meant in self.aliases.items()
            if name == task.name and meant == task.version
        ]
        return any(fnmatchcase(f"{task.name}-{v}-{wording}", pattern) for v in written)

    def _parse(self, entry: str) -> tuple[str | None, str | None, str | None]:
        """Split an id at the longest task, group or tag name it begins with."""
        own = {*self.tasks, *self.groups(), *self.refused}
        cuts = [at for at, mark in enumerate(entry) if mark == "-"]
        for cut in [len(entry), *reversed(cuts)]:
            name = entry[:cut]
            if name in own or self.library.lookup(name) or self.library.tagged(name):
                version, _, wording = entry[cut + 1 :].partition("-")
                return name, version or None, wording or None
        return None, None, None

    def _choose(self, entry: str, name: str, version: str | None, template: str | None) -> Selected:
        if version is not None:
            version = self.aliases.get((name, version), version)
        return _choose_from(self.tasks[name], entry, name, version, template)

    def closest(self, entry: str) -> str:
        """A hint for a name that there is not."""
        ids = [f"{t.name}-{t.version}-{w}" for t in self._all() for w in t.templates]
        known = [*self.tasks, *self.groups(), *ids, *self.library.names()]
        close = get_close_matches(entry.lower(), alike(entry, known), n=5, cutoff=0.5)
        listing = "`tenbin tasks` lists everything"
        if not self.library.indexes:
            listing += "; --include_path lm_eval adds the tasks of lm-eval"
        return f"did you mean {', '.join(close)}? {listing}" if close else listing


def _choose_from(
    versions: Mapping[str, Task], entry: str, name: str, version: str | None, template: str | None
) -> Selected:
    if version is None:
        version = max(versions, key=_version_key)
    if version not in versions:
        raise TaskError(
            f"{entry!r}: {name} has no version {version!r}",
            f"versions of {name}: {', '.join(versions)}",
        )
    task = versions[version]
    wording = template or task.default_template
    if wording not in task.templates:
        raise TaskError(
            f"{entry!r}: {name} {task.version} has no template {wording!r}",
            f"templates of {name} {task.version}: {', '.join(task.templates)}",
        )
    return Selected(entry, task, wording)


def alike(text: str, names: Sequence[str]) -> Sequence[str]:
    """The names that share most with a text: all if there are few, for a slower comparison."""
    if len(names) <= _MOST_COMPARED:
        return names
    parts = {text[at : at + 3].lower() for at in range(max(len(text) - 2, 1))}
    shared = [(sum(part in name for part in parts) / (len(name) + 5), name) for name in names]
    return [name for _, name in nlargest(_MOST_COMPARED, shared)]


def _version_key(version: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (int(part), "") if part.isdecimal() and len(part) < 20 else (-1, part)
        for part in version.split(".")
    )


def load_registry(
    include: Iterable[str | Path] = (),
    profile: str | None = None,
    reach: Reach | None = None,
    report: Report | None = None,
) -> Registry:
    """The bundled tasks and those of the user's own files and folders.

    Args:
        include: Task files, or folders searched for them; `lm_eval` stands for those of the
            installed package.
        profile: A reproduction profile whose wordings apply where a task has them.
        reach: Where the files that task files include may lie, besides their own folders; None:
            below the folders of `include`.
        report: Called while a folder is indexed.

    Raises:
        TaskError: A place does not exist, or a file that it names cannot be used. Files below a
            folder are errors only when they are selected.
    """
    places = [included_place(place) for place in include]
    if reach is None:
        reach = Reach(tuple(place for place in places if place.is_dir()))
    registry = Registry(profile=profile, reach=reach, library=Library(reach))
    for path in sorted(CATALOG.glob("*.yaml")):
        for loaded in load_file(path, profile):
            registry.add(loaded)
    for place in places:
        if place.is_dir():
            registry.add_folder(index_folder(place, report))
        elif place.is_file():
            registry.add_file(place)
        else:
            raise TaskError(f"--include_path {place}: no such file or folder")
    return registry


def load_task_file(path: Path, profile: str | None, reach: Reach) -> list[LoadedTask]:
    """All tasks of a file: several in tenbin's own format, one in lm-eval's.

    Raises:
        TaskError: All that stands in the way of a task.
    """
    read = read_task_file(path, reach)
    if is_own(read.mapping):
        return load_file(path, profile, reach)
    from tenbin.tasks.lm_eval.translate import translate

    label = package_label(path)
    task = translate(read.mapping, path, sha256=read.sha256, package=label).require()
    return [LoadedTask(task, {}, path)]
