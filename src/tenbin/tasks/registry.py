"""All tasks: those of the catalogue, of `--include_path`, and of installed packages.

The catalogue's tasks are known by their summaries, folders of lm-eval's task files by their index;
a file is loaded when one of its tasks is selected. One that cannot be used, or that has the name of
another, is an error only then. Installed packages are only looked for when a name is not among the
others or a pattern is given, which keeps start-up quick; so that the order does not matter, a
package's tasks need names and groups of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tenbin.errors import TaskError
from tenbin.files.allowed_paths import Reach
from tenbin.tasks.formats import is_group, is_own
from tenbin.tasks.installed import (
    TaskPackage,
    included_place,
    installed_packages,
    package_label,
)
from tenbin.tasks.lm_eval.index import FolderIndex, Report, index_folder
from tenbin.tasks.lm_eval.index_cache import Entry
from tenbin.tasks.lm_eval.library import Library
from tenbin.tasks.selection import Selected, Selection
from tenbin.tasks.summary import CATALOG, TaskSummary, catalogue, summary_of

if TYPE_CHECKING:
    from tenbin.records import Task
    from tenbin.tasks.expansion import Expansion
    from tenbin.tasks.loader import LoadedTask


@dataclass(slots=True)
class Registry:
    """Tasks by name and version, in the order they were read."""

    tasks: dict[str, dict[str, TaskSummary]] = field(default_factory=dict)
    aliases: dict[tuple[str, str], str] = field(default_factory=dict)
    profile: str | None = None
    reach: Reach = field(default_factory=Reach)
    """Where the files that task files include may lie, besides their own folders."""
    library: Library = field(default_factory=Library)
    """Folders of lm-eval's task files."""
    refused: dict[str, TaskError] = field(default_factory=dict)
    """Names that files of included folders cannot have, or use wrongly, and why."""
    _loaded: dict[tuple[str, str], Task] = field(default_factory=dict)
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
        versions[task.version] = summary_of(task)
        self._loaded[task.name, task.version] = task
        for written, meant in loaded.version_aliases.items():
            self.aliases[task.name, written] = meant

    def add_catalogue(self) -> None:
        """Add the tasks that come with tenbin."""
        for task, aliases in catalogue():
            self.tasks.setdefault(task.name, {})[task.version] = task
            for written, meant in aliases.items():
                self.aliases[task.name, written] = meant

    def add_file(self, path: Path) -> None:
        """Add a file that the user names.

        Raises:
            TaskError: It cannot be used.
        """
        from tenbin.tasks.lm_eval.reading import read_task_file

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
                from tenbin.tasks.loader import load_file

                try:
                    for loaded in load_file(Path(entry.path), self.profile, self.reach):
                        self.add(loaded)
                except TaskError as error:
                    self.refused[entry.name] = error

    def find(self, name: str, version: str) -> Task | None:
        """A task that is known; None if it is not."""
        return self.task(name, version) if version in self.tasks.get(name, ()) else None

    def task(self, name: str, version: str) -> Task:
        """A known task, from its file when it is asked for the first time.

        Raises:
            TaskError: Its file cannot be used.
        """
        if (name, version) not in self._loaded:
            from tenbin.tasks.loader import load_file

            for loaded in load_file(Path(self.tasks[name][version].source), self.profile):
                self._loaded.setdefault((loaded.task.name, loaded.task.version), loaded.task)
        return self._loaded[name, version]

    def newest(self, name: str) -> Task:
        """The task's highest version."""
        return self.task(name, self.newest_summary(name).version)

    def newest_summary(self, name: str) -> TaskSummary:
        """What is known of the task's highest version."""
        versions = self.tasks[name]
        return versions[max(versions, key=_version_key)]

    def is_bundled(self, name: str) -> bool:
        """Whether every version of a task comes from the catalogue."""
        return all(
            task.source.rpartition(os.sep)[0] == CATALOG for task in self.tasks[name].values()
        )

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
        return [self.task(one.name, one.version) for one in self.summaries()]

    def summaries(self) -> Iterator[TaskSummary]:
        """Every version of every task that is known so far."""
        for versions in self.tasks.values():
            yield from versions.values()

    def groups(self) -> dict[str, list[str]]:
        """Group names and their members."""
        members: dict[str, list[str]] = {}
        for name in self.tasks:
            group = self.newest_summary(name).group
            if group:
                members.setdefault(group, []).append(name)
        return members

    def select(self, entries: Sequence[str], template: str | None = None) -> list[Selected]:
        """What the entries of `--tasks` stand for, in the order written.

        Raises:
            TaskError: An entry names nothing, or more than one thing, or what cannot be used.
        """
        return [one for entry in entries for one in Selection(self, entry, template).tasks()]

    def expansion(self, template: str | None) -> Expansion:
        """What expands groups and suites of the catalogue."""
        from tenbin.config.profiles import find_profile
        from tenbin.tasks.expansion import Expansion

        return Expansion(self, find_profile(self.profile), template)

    def tasks_of(self, path: Path) -> list[Task]:
        """Every task of a file, in all its versions; of a group's file, the group's tasks.

        Raises:
            TaskError: All that stands in the way of a task.
        """
        from tenbin.tasks.lm_eval.reading import read_task_file

        read = read_task_file(path, self.reach)
        if is_group(read.mapping):
            chosen = Selection(self, str(path), None).tasks_of_group(read)
            return [one.task for one in chosen]
        return [loaded.task for loaded in load_task_file(path, self.profile, self.reach)]


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
    registry.add_catalogue()
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
    from tenbin.tasks.lm_eval.reading import read_task_file
    from tenbin.tasks.lm_eval.translate import translate
    from tenbin.tasks.loader import LoadedTask, load_file

    read = read_task_file(path, reach)
    if is_own(read.mapping):
        return load_file(path, profile, reach)

    label = package_label(path)
    task = translate(read.mapping, path, sha256=read.sha256, package=label).require()
    return [LoadedTask(task, {}, path)]
