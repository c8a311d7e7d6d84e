"""How many task files of a folder can be used, and what the others need: nothing of them is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tenbin.errors import TaskError, TenbinError
from tenbin.files.allowed_paths import Reach
from tenbin.metrics.registry import problems
from tenbin.pipeline.progress import Listener, ProgressCounter
from tenbin.records import Task
from tenbin.tasks.lm_eval.index import index_folder
from tenbin.tasks.lm_eval.index_cache import Entry
from tenbin.tasks.lm_eval.library import Library
from tenbin.tasks.lm_eval.python_imports import is_installed
from tenbin.tasks.lm_eval.reading import read_task_file
from tenbin.tasks.lm_eval.translate import Translation, translate
from tenbin.tasks.loader import load_file
from tenbin.tasks.sampling import check_repeats

_MEDIA = frozenset({"doc_to_image", "doc_to_audio"})
_MEND = "mend the file"
"""The remedy where a message has no hint, since it says all about what is wrong."""
_NUMBER = re.compile(r"\.\d+(?=\.|$)")


@dataclass(frozen=True, slots=True)
class Refused:
    """Tasks that are refused for one reason."""

    key: str
    reason: str
    remedy: str
    files: tuple[str, ...]
    """Each once, in the order of their paths."""

    @property
    def count(self) -> int:
        """How many files there are."""
        return len(self.files)

    @property
    def example(self) -> str:
        """The first of the files."""
        return self.files[0]

    def to_json(self) -> dict[str, Any]:
        """The reason with its files, counted, in types that JSON has."""
        return {**asdict(self), "example": self.example, "count": self.count}


@dataclass(frozen=True, slots=True)
class Census:
    """What folders of task files hold."""

    files: int
    groups: int
    tags: int
    malformed: int
    """Files that could not be read as task files."""
    classes: int
    """Tasks that are Python classes."""
    media: int
    """Tasks with images or audio."""
    text: int
    """Tasks that ask with text alone; the shares below are of these."""
    translated: int
    """Tasks whose whole file has a meaning here."""
    runnable: int
    """Tasks that run without running anybody's code."""
    with_trust: int
    """Tasks that run with trust in their functions, those above included."""
    with_packages: int
    """Tasks that run with trust once all packages are installed that functions import."""
    refused: tuple[Refused, ...]
    """Reasons by number of tasks, the most first."""
    missing: Mapping[str, int]
    """Packages that are not installed → tasks whose functions import them, the most first."""

    @property
    def tasks(self) -> int:
        """All tasks."""
        return self.classes + self.media + self.text

    def to_json(self) -> dict[str, Any]:
        """All counts, reasons and missing packages, in types that JSON has."""
        refused = [one.to_json() for one in self.refused]
        return {"tasks": self.tasks, **asdict(self), "refused": refused}


@dataclass(slots=True)
class _Counts:
    """A census that is being taken."""

    text: int = 0
    media: int = 0
    translated: int = 0
    runnable: int = 0
    with_trust: int = 0
    with_packages: int = 0
    refused: dict[tuple[str, str], tuple[str, dict[str, None]]] = field(default_factory=dict)
    """Key and reason → remedy and files."""
    missing: dict[str, int] = field(default_factory=dict)

    def refuse(self, key: str, reason: str, remedy: str, file: str) -> None:
        key = _NUMBER.sub("", key)
        remedy, files = self.refused.setdefault((key, reason), (remedy or _MEND, {}))
        files[file] = None  # once, though a file may be refused for one reason at several places

    def count(self, translation: Translation, file: str) -> None:
        """Count one task file of lm-eval's."""
        keys = {refusal.key for refusal in translation.refusals}
        media = bool(keys & _MEDIA)
        self.media += media
        self.text += not media
        for refusal in translation.refusals:
            self.refuse(refusal.key, refusal.reason, refusal.remedy, file)
        if translation.task is None:
            return
        self.translated += 1
        if not self._is_judged(translation.task, file):
            return
        self.with_packages += 1
        self.runnable += not translation.needs
        missing = [
            need.what
            for need in translation.needs
            if need.kind == "package" and not is_installed(need.what)
        ]
        for package in missing:
            self.missing[package] = self.missing.get(package, 0) + 1
        self.with_trust += not missing

    def _is_judged(self, task: Task, file: str) -> bool:
        """Whether its metrics and filters exist here."""
        errors = problems(task)
        try:
            check_repeats(task)
        except TaskError as error:
            errors.append(error)
        for one in errors:
            reason = one.message.removeprefix(f"{file}: ").removeprefix(f"{task.name}: ")
            self.refuse("metric_list, filter_list", reason, one.hint, file)
        return not errors


def take_census(folders: Sequence[Path], reach: Reach, listener: Listener | None = None) -> Census:
    """Read and translate every task file of these folders.

    Args:
        folders: Where the task files lie.
        reach: Where files that they include may lie, besides their own folders.
        listener: Receives the progress.

    Raises:
        TaskError: A folder cannot be listed.
    """
    listener = listener or Listener()

    def report(what: str, done: int, total: int) -> None:
        listener.prepare(what, done, total, "files")

    indexes = [index_folder(folder, partial(report, "reading names")) for folder in folders]
    entries = [entry for index in indexes for entry in index.entries]
    library = Library(reach, indexes)
    own = [entry.name for entry in entries if entry.kind == "own"]
    counts = _Counts()
    counter = ProgressCounter(report, "translating", len(entries))
    for entry in counter.through(entries):
        if entry.kind == "group":
            _check_group(entry, library, own, counts)
        else:
            _count(entry, reach, counts)
    kinds = [entry.kind for entry in entries]
    refused = [
        Refused(*why, remedy, tuple(files)) for why, (remedy, files) in counts.refused.items()
    ]
    most = sorted(refused, key=lambda one: (-one.count, one.key))
    packages = sorted(counts.missing.items(), key=lambda one: (-one[1], one[0]))
    return Census(
        files=len(entries),
        groups=kinds.count("group"),
        tags=len({tag for index in indexes for tag in index.tags}),
        malformed=kinds.count("refused"),
        classes=kinds.count("python"),
        media=counts.media,
        text=counts.text,
        translated=counts.translated,
        runnable=counts.runnable,
        with_trust=counts.with_trust,
        with_packages=counts.with_packages,
        refused=tuple(most),
        missing=dict(packages),
    )


def _check_group(entry: Entry, library: Library, own: list[str], counts: _Counts) -> None:
    try:
        library.expand(library.read(entry), own)
    except TaskError as error:
        reason = error.message.removeprefix(f"{entry.path}: ")
        remedy = error.hint or "correct the group, or name its tasks one by one"
        counts.refuse("the group", reason, remedy, entry.path)


def _count(entry: Entry, reach: Reach, counts: _Counts) -> None:
    path = Path(entry.path)
    if entry.kind == "refused":
        counts.refuse("the file", entry.reason.removeprefix(f"{path}: "), _MEND, entry.path)
    elif entry.kind == "own":
        _count_own(path, reach, counts)
    elif entry.kind in ("task", "python"):
        try:
            read = read_task_file(path, reach)
        except TaskError as error:
            counts.text += 1
            counts.refuse(
                "the file", error.message.removeprefix(f"{path}: "), error.hint, str(path)
            )
            return
        translation = translate(read.mapping, path, sha256=read.sha256)
        if entry.kind == "task":
            counts.count(translation, str(path))
            return
        for refusal in translation.refusals:
            counts.refuse(refusal.key, refusal.reason, refusal.remedy, str(path))


def _count_own(path: Path, reach: Reach, counts: _Counts) -> None:
    """Count the tasks of a file in tenbin's own format, which needs nobody's code."""
    try:
        tasks: Iterable[Task] = [loaded.task for loaded in load_file(path, reach=reach)]
    except TenbinError as error:
        counts.text += 1
        counts.refuse("the file", error.message.removeprefix(f"{path}: "), error.hint, str(path))
        return
    for task in tasks:
        counts.count(Translation(task), str(path))
