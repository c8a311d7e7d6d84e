"""One YAML file as a mapping, merged with the files that it includes.

Nothing that a file names is imported: `!function utils.process` becomes a `TaskFunction`, which
says where the function is and cannot be called before `trust` has loaded it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tenbin.errors import TaskError
from tenbin.files.allowed_paths import HINT, OutsideError, Reach
from tenbin.files.yaml_text import Loader, YamlError, parse_yaml, read_yaml_bytes, why_unread
from tenbin.records import TaskFunction

CATALOG = Path(__file__).parents[2] / "catalog" / "tasks"
MOST_FILES = 100
"""That one task file includes, directly or not."""


class _TaskLoader(Loader):
    """Safe YAML, in which `!function` makes an inert record."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A task file with all that it includes."""

    path: Path
    mapping: Mapping[str, Any]
    """Its keys, over those of the files it includes; without `include`."""
    sha256: str
    """Of the file's bytes and those of every file that it includes."""
    includes: tuple[Path, ...] = ()
    """Every included file, directly or not, in the order of reading."""


@dataclass(frozen=True, slots=True)
class _Parsed:
    """One file by itself."""

    mapping: Mapping[str, Any]
    sha256: str


_parsed: dict[str, tuple[tuple[int, int], _Parsed]] = {}
"""Included files by path, with time and size: thousands of tasks share a few of them."""


def read_task_file(path: Path, reach: Reach | None = None) -> ReadFile:
    """The keys of one task file, with what it includes underneath.

    Args:
        path: The file, named by the user or found below a folder that the user named.
        reach: Where the files that it includes may lie, besides its own folder and the catalogue.

    Raises:
        TaskError: Naming the file, and the line where it is no YAML.
    """
    within = (reach or Reach()).with_folders(path.parent, CATALOG)
    reading = _Reading(within)
    mapping = reading.mapping(path, ())
    digest = hashlib.sha256("".join(one.sha256 for one in reading.parts).encode())
    return ReadFile(path, mapping, digest.hexdigest(), tuple(reading.paths[1:]))


class _Reading:
    """Collects the files that are read for one task file."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._open: list[tuple[int, int] | None] = []
        self.paths: list[Path] = []
        self.parts: list[_Parsed] = []

    def mapping(self, path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
        # Not by its path: `../x/a.yaml` may lead back to the same file in ever new words.
        identity = _identity(path)
        if identity in self._open:
            circle = " → ".join(p.name for p in (*above, path))
            raise TaskError(f"task files include each other: {circle}")
        if len(self.paths) > MOST_FILES:
            raise TaskError(f"{above[0]}: includes more than {MOST_FILES} files")
        try:
            parsed = _read_include(path) if above else _read_one(path)
        except TaskError as error:
            if not above:
                raise
            raise TaskError(f"{above[-1]}: include: {error.message}", error.hint) from error
        self.paths.append(path)
        self.parts.append(parsed)
        self._open.append(identity)
        own = dict(parsed.mapping)
        below: dict[str, Any] = {}
        for name in included_names(path, own.pop("include", [])):
            inner = self.mapping(self._reachable(path, name), (*above, path))
            # lm-eval: a list of tasks belongs to the file that writes it.
            inner.pop("task_list", None)
            below.update(inner)
        self._open.pop()
        return {**below, **own}

    def _reachable(self, path: Path, name: str) -> Path:
        included = path.parent / name
        try:
            self._reach.check(included)
        except OutsideError as error:
            raise TaskError(f"{path}: include: {error}", HINT) from error
        return included


def _identity(path: Path) -> tuple[int, int] | None:
    """What identifies a file; None for one that is not there, which is read next."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _read_include(path: Path) -> _Parsed:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return _read_one(path)  # which says why
    stamp = (found.st_mtime_ns, found.st_size)
    known = _parsed.get(str(path))
    if known is None or known[0] != stamp:
        known = (stamp, _read_one(path))
        _parsed[str(path)] = known
    return known[1]


def _read_one(path: Path) -> _Parsed:
    try:
        content = read_yaml_bytes(path)
        loaded = parse_yaml(content, _TaskLoader, str(path))
    except (OSError, YamlError) as error:
        raise TaskError(f"{path}: {why_unread(error)}") from error
    return _Parsed(keys_of(path, loaded), hashlib.sha256(content).hexdigest())


def keys_of(path: str | Path, loaded: Any) -> dict[Any, Any]:
    """What a file's YAML holds, which must be a mapping of keys.

    Raises:
        TaskError: It is something else, or nothing.
    """
    if loaded is None:
        raise TaskError(f"{path}: is empty: a task file is a mapping of keys")
    if not isinstance(loaded, dict):
        raise TaskError(f"{path}: a task file is a mapping of keys, not a {type(loaded).__name__}")
    return loaded


def included_names(path: str | Path, value: Any) -> list[str]:
    """The files that an `include:` names, as written.

    Raises:
        TaskError: It is neither a name nor a list of names.
    """
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise TaskError(
            f"{path}: include: names a file, or a list of files, not {str(value)[:80]!r}"
        )
    return names


def _make_function(loader: Any, node: Any) -> TaskFunction:
    file = Path(node.start_mark.name)
    written = node.value if isinstance(node, yaml.ScalarNode) else ""
    module, _, name = written.strip().rpartition(".")
    # `..utils.process` and `utils.process(1)` name nothing in lm-eval either.
    if not all(module.split(".")) or not name.isidentifier():
        raise TaskError(
            f"{file}, line {node.start_mark.line + 1}: `!function {written}` names no function",
            "write !function MODULE.FUNCTION, for MODULE.py beside the task file",
        )
    beside = Path(os.path.realpath(file.parent / f"{module.replace('.', '/')}.py"))
    return TaskFunction(str(beside) if beside.is_file() else module, name)


_TaskLoader.add_constructor("!function", _make_function)
