"""Formats that a reader vetoes: by id, by level, or by a file of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenbin.errors import TaskError
from tenbin.records import Task
from tenbin.tasks.prompt_formats.dimensions import BY_NAME, NOT_APPLICABLE
from tenbin.tasks.prompt_formats.format_id import PromptFormat, is_format
from tenbin.tasks.prompt_formats.grammar import require_grammar
from tenbin.tasks.rotation import FORMAT

_FLAG = "--exclude_formats"
_NEITHER = "neither the id of a prompt format nor a level"
_HINT = "name an id (f-…), a level (language=english), or a text file with one on each line"


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
            f"{_FLAG} {path}: {_NEITHER}, nor a file that can be read", _HINT
        ) from error
    entries = [line.partition("#")[0].strip() for line in lines]
    for number, entry in enumerate(entries, 1):
        if entry and "=" not in entry and not is_format(_id(entry)):
            raise TaskError(f"{_FLAG} {path}, line {number}: {entry!r} is {_NEITHER}", _HINT)
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
    """The exclusions that are about a task; ids in full may name others."""
    own = f"{task.name}-{task.version}-"
    ids = {_id(one) for one in written if one.removeprefix(own) == _id(one)}
    levels = {(name, level) for name, equals, level in _parted(written) if equals}
    return Exclusions(frozenset(ids), frozenset(levels))


def check_exclusions(tasks: Sequence[Task], written: Collection[str]) -> None:
    """Refuse an exclusion that is about none of the tasks.

    Raises:
        TaskError: An entry names no dimension, or a level that no task has, or is no id.
    """
    grammars = [require_grammar(task) for task in tasks]
    for name, equals, level in _parted(written):
        if not equals:
            if not is_format(_id(name)):
                raise TaskError(f"{_FLAG} {name}: {_NEITHER}", _HINT)
            continue
        if name not in BY_NAME:
            raise TaskError(
                f"{_FLAG} {name}={level}: there is no dimension {name!r}",
                f"dimensions: {', '.join(BY_NAME)}",
            )
        known = dict.fromkeys(one for grammar in grammars for one in BY_NAME[name].levels(grammar))
        if level not in known:
            raise TaskError(
                f"{_FLAG} {name}={level}: {name} has no level {level!r}",
                f"levels: {', '.join(known)}",
            )


def _parted(written: Iterable[str]) -> list[tuple[str, str, str]]:
    return [one.partition("=") for one in written]
