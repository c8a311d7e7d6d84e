"""All tasks, and which of them a name on the command line selects.

A name is an id (`jnli-1.3-0.2`), a pattern (`jcommonsenseqa-1.1-*`), a group (`mlogiqa_mcq`), a
bare task (`jnli`, newest version, template from `--template`), or the path of a task file.

Tasks come from the catalogue, from `--include_path`, and from installed packages. The packages are
only looked for when a name is not among the others or a pattern is given, which keeps start-up
quick; so that the order does not matter, a package's tasks need names and groups of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from tenbin.errors import TaskError
from tenbin.files.allowed_paths import Reach
from tenbin.records import Group, Task
from tenbin.tasks.installed import TaskPackage, installed_packages
from tenbin.tasks.loader import LoadedTask, load_file

CATALOG = Path(__file__).parent.parent / "catalog" / "tasks"


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
        paths = _task_files(package.folder)
        if not paths:
            raise TaskError(
                f"the installed package {package.name} has no task files in {package.folder}",
                f"install {package.name} again, or uninstall it",
            )
        for path in paths:
            for loaded in load_file(path, self.profile, Reach((package.folder,))):
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
            raise TaskError(f"unknown task {entry!r}", self._closest(entry))
        names = self.groups().get(name, [name])
        chosen = [self._choose(entry, n, version, wording or template) for n in names]
        return [replace(one, named=wording is not None) for one in chosen]

    def _from_file(self, entry: str, template: str | None) -> list[Selected]:
        loaded = load_file(Path(entry), self.profile, self.reach)
        for one in loaded:
            known = self.tasks.get(one.task.name, {}).get(one.task.version)
            if known != one.task:
                self.add(one)
        names = dict.fromkeys(one.task.name for one in loaded)
        return [self._choose(entry, name, None, template) for name in names]

    def _matching(self, pattern: str, template: str | None) -> list[Selected]:
        names = [name for name in self.tasks if fnmatchcase(name, pattern)]
        if names:
            return [self._choose(pattern, name, None, template) for name in names]
        chosen = [
            Selected(pattern, task, wording, named=True)
            for task in self._all()
            for wording in task.templates
            if self._matches(task, wording, pattern)
        ]
        if not chosen:
            raise TaskError(f"no task matches {pattern!r}", self._closest(pattern.strip("*-")))
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
        """Split an id at the longest task or group name it begins with."""
        known = [*self.tasks, *self.groups()]
        if entry in known:
            return entry, None, None
        for name in sorted(known, key=len, reverse=True):
            if entry.startswith(f"{name}-"):
                version, _, wording = entry[len(name) + 1 :].partition("-")
                return name, version, wording or None
        return None, None, None

    def _choose(self, entry: str, name: str, version: str | None, template: str | None) -> Selected:
        versions = self.tasks[name]
        if version is None:
            task = self.newest(name)
        else:
            version = self.aliases.get((name, version), version)
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

    def _closest(self, entry: str) -> str:
        ids = [f"{t.name}-{t.version}-{w}" for t in self._all() for w in t.templates]
        known = [*self.tasks, *self.groups(), *ids]
        close = get_close_matches(entry.lower(), known, n=5, cutoff=0.5)
        listing = "`tenbin tasks` lists everything"
        return f"did you mean {', '.join(close)}? {listing}" if close else listing


def _version_key(version: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (int(part), "") if part.isdecimal() and len(part) < 20 else (-1, part)
        for part in version.split(".")
    )


def load_registry(
    include: Iterable[str | Path] = (), profile: str | None = None, reach: Reach | None = None
) -> Registry:
    """The bundled tasks and those of the user's own files and folders.

    Args:
        include: Task files, or folders searched for them.
        profile: A reproduction profile whose wordings apply where a task has them.
        reach: Where the files that task files include may lie, besides their own folders; None:
            below the folders of `include`.
    """
    places = [Path(place) for place in include]
    if reach is None:
        reach = Reach(tuple(place for place in places if place.is_dir()))
    registry = Registry(profile=profile, reach=reach)
    for path in sorted(CATALOG.glob("*.yaml")):
        for loaded in load_file(path, profile):
            registry.add(loaded)
    for place in places:
        for path in _task_files(place):
            for loaded in load_file(path, profile, reach):
                registry.add(loaded)
    return registry


def _task_files(place: Path) -> list[Path]:
    if place.is_dir():
        # A leading underscore marks a file that others include; a run's folder holds a run.yaml.
        found = sorted([*place.rglob("*.yaml"), *place.rglob("*.yml")])
        return [
            path
            for path in found
            if not path.name.startswith("_")
            if path.name != "run.yaml" or not (path.parent / "result.json").exists()
        ]
    if place.is_file():
        return [place]
    raise TaskError(f"--include_path {place}: no such file or folder")
