"""Formats that a reader vetoes: by id, by level, or by a file of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenbin.errors import TaskError
from tenbin.records import Task
from tenbin.tasks.prompt_formats.dimensions import BY_NAME, NOT_APPLICABLE
from tenbin.tasks.prompt_formats.format_id import PromptFormat, is_format, require_grammar
from tenbin.tasks.rotation import FORMAT

_FLAG = "--exclude_formats"


def excluded_formats(written: Sequence[str]) -> tuple[str, ...]:
    """What `--exclude_formats` names, with the lines of files in place of their paths.

    In a file, `#` begins a comment, and empty lines count for nothing.

    Raises:
        TaskError: A name is neither an id, a level nor a file.
    """
    found: list[str] = []
    for one in written:
        if "=" in one or is_format(_id(one)):
            found.append(one)
        else:
            found += _lines(one)
    return tuple(found)


def _id(written: str) -> str:
    """The id in an entry that may name its task too, such as `jnli-1.3-f-…`."""
    return FORMAT + written.rpartition(f"-{FORMAT}")[2] if f"-{FORMAT}" in written else written


def _lines(path: str) -> list[str]:
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise TaskError(
            f"{_FLAG} {path}: neither the id of a prompt format nor a file that can be read",
            "name an id (f-…), a level (language=english), or a text file with one on each line",
        ) from error
    entries = [line.partition("#")[0].strip() for line in lines]
    for number, entry in enumerate(entries, 1):
        if entry and "=" not in entry and not is_format(_id(entry)):
            raise TaskError(
                f"{_FLAG} {path}, line {number}: {entry!r} is neither an id (f-…) nor a level "
                "(dimension=level)"
            )
    return [entry for entry in entries if entry]


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Which formats of one task are left out."""

    ids: frozenset[str]
    levels: frozenset[tuple[str, str]]

    def exclude(self, format: PromptFormat) -> bool:
        """Whether a format is left out."""
        return format.id in self.ids or any(
            pair in self.levels and format.levels.get(pair[0]) != NOT_APPLICABLE
            for pair in format.choices.items()
        )


def read_exclusions(task: Task, written: Collection[str]) -> Exclusions:
    """The exclusions that are about a task: an id that names another task is not.

    Raises:
        TaskError: An entry names no dimension or level, or is no id.
    """
    ids = {_id(one) for one in written if "=" not in one and _is_about(task, one)}
    return Exclusions(frozenset(ids), frozenset(_levels(task, written)))


def _is_about(task: Task, written: str) -> bool:
    id = _id(written)
    if not is_format(id):
        raise TaskError(
            f"{_FLAG} {written}: neither the id of a prompt format nor a level",
            "name an id (f-…), or a level as dimension=level, such as language=english",
        )
    return written in (id, f"{task.name}-{task.version}-{id}")


def _levels(task: Task, written: Iterable[str]) -> Iterable[tuple[str, str]]:
    grammar = require_grammar(task)
    for one in written:
        name, equals, level = one.partition("=")
        if not equals:
            continue
        if name not in BY_NAME:
            raise TaskError(
                f"{_FLAG} {one}: there is no dimension {name!r}",
                f"dimensions: {', '.join(BY_NAME)}",
            )
        known = BY_NAME[name].levels(grammar)
        if level not in known:
            raise TaskError(
                f"{_FLAG} {one}: {name} has no level {level!r} in {task.name}",
                f"levels: {', '.join(known)}",
            )
        yield name, level
