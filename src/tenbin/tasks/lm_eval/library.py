"""Folders of lm-eval's task files: an index answers names, a file is read when it is selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenbin.errors import TaskError
from tenbin.files.allowed_paths import Reach
from tenbin.tasks.installed import package_label
from tenbin.tasks.lm_eval.index import FolderIndex
from tenbin.tasks.lm_eval.index_cache import Entry

if TYPE_CHECKING:
    from tenbin.records import Task
    from tenbin.tasks.lm_eval.grouping import Expanded, Found, Leaf
    from tenbin.tasks.lm_eval.reading import ReadFile
    from tenbin.tasks.lm_eval.translate import Translation


@dataclass(slots=True)
class Library:
    """The indexes of `--include_path`."""

    reach: Reach = field(default_factory=Reach)
    """Where the files that task files include may lie, besides their own folders."""
    indexes: list[FolderIndex] = field(default_factory=list)

    def entries(self) -> Iterator[Entry]:
        """Every file of every folder, apart from those in tenbin's own format."""
        for index in self.indexes:
            yield from (entry for entry in index.entries if entry.kind != "own")

    def lookup(self, name: str) -> list[Entry]:
        """Files that use a name; several where it is not clear which one is meant."""
        found = (entry for index in self.indexes for entry in index.names.get(name, ()))
        return [entry for entry in found if entry.kind != "own"]

    def tagged(self, tag: str) -> list[Entry]:
        """Tasks that have a tag, in alphabetical order."""
        found: dict[str, Entry] = {}
        for index in self.indexes:
            for name in index.tags.get(tag, ()):
                found[name] = index.names[name][0]
        return [found[name] for name in sorted(found)]

    def matching(self, pattern: str) -> list[Entry]:
        """Tasks whose names match, else groups whose names do, else the tasks of such tags."""
        found = [entry for entry in self.entries() if fnmatchcase(entry.name, pattern)]
        tasks = [entry for entry in found if entry.kind != "group"]
        if found:
            return tasks or found
        tags = (tag for index in self.indexes for tag in index.tags if fnmatchcase(tag, pattern))
        tagged = {entry.name: entry for tag in tags for entry in self.tagged(tag)}
        return list(tagged.values())

    def names(self) -> list[str]:
        """All names of tasks, groups and tags."""
        tags = (tag for index in self.indexes for tag in index.tags)
        return list(dict.fromkeys([*(entry.name for entry in self.entries()), *tags]))

    def read(self, entry: Entry) -> ReadFile:
        """A file with all that it includes.

        Raises:
            TaskError: It cannot be read.
        """
        if entry.kind == "refused":
            raise TaskError(entry.reason)
        # Lists of names need neither the YAML library nor what translating imports.
        from tenbin.tasks.lm_eval.reading import read_task_file

        return read_task_file(Path(entry.path), self.reach)

    def load(self, entry: Entry, overrides: Mapping[str, Any] | None = None) -> Task:
        """The task of a file, with keys that a group changes.

        Raises:
            TaskError: All that stands in its way.
        """
        return self.translation(entry, overrides).require()

    def translation(self, entry: Entry, overrides: Mapping[str, Any] | None = None) -> Translation:
        """The task of a file with all needs and refusals.

        Raises:
            TaskError: The file cannot be read.
        """
        read = self.read(entry)
        return self._translate(read, {**read.mapping, **(overrides or {})})

    def load_leaf(self, leaf: Leaf, group: ReadFile) -> Task:
        """The task of a group's member.

        Raises:
            TaskError: All that stands in its way.
        """
        if leaf.entry is not None:
            return self.load(leaf.entry, leaf.overrides)
        return self._translate(group, leaf.overrides).require()

    def expand(self, read: ReadFile, catalogue: Sequence[str] = ()) -> Expanded:
        """What a group file stands for.

        Args:
            read: The group file.
            catalogue: Tasks that are known by other ways, which it may name too.

        Raises:
            TaskError: It names what there is not, or two files have a name that it uses.
        """
        from tenbin.tasks.lm_eval.grouping import expand_group

        near = [index for index in self.indexes if index.folder in read.path.parents]

        def find(name: str) -> Found:
            # A group means the tasks of its own folder, whatever other folders hold.
            for library in (Library(self.reach, near), self):
                found = library.lookup(name)
                if len(found) > 1:
                    raise TaskError(f"{name!r} is the name of {found[0].path} and {found[1].path}")
                if found or (tagged := library.tagged(name)):
                    return found[0] if found else tagged
            return name if name in catalogue else None

        return expand_group(read, find, self.read)

    def _translate(self, read: ReadFile, mapping: Mapping[str, Any]) -> Translation:
        from tenbin.tasks.lm_eval.translate import translate

        label = package_label(read.path)
        return translate(mapping, read.path, sha256=read.sha256, package=label)
