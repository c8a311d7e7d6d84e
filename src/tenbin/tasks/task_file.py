"""Task files from disk: YAML with includes, and one clear error for anything malformed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tenbin.errors import TaskError
from tenbin.files.allowed_paths import HINT, OutsideError, Reach
from tenbin.files.yaml_text import YamlError, read_yaml

_CATALOG = Path(__file__).parents[1] / "catalog" / "tasks"
MOST_FILES = 100
"""That one task file includes, directly or not."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _TaskLoader(_Loader):  # type: ignore[misc]
    """Safe YAML, with an error of its own for lm-eval's `!function` tag."""


def _refuse_function(loader: Any, node: Any) -> None:
    raise TaskError(
        f"{node.start_mark.name}, line {node.start_mark.line + 1}: `!function {node.value}` "
        "would run Python from a task file",
        "write the prompt in Jinja; filters and metrics are named in filter_list and metric_list",
    )


_TaskLoader.add_constructor("!function", _refuse_function)


def read_mapping(path: Path, reach: Reach | None = None) -> dict[str, Any]:
    """The keys of one task file, with what it includes underneath.

    Args:
        path: The file, named by the user.
        reach: Where the files that it includes may lie, besides its own folder and the catalogue.

    Raises:
        TaskError: Naming the file.
    """
    within = (reach or Reach()).with_folders(path.parent, _CATALOG)
    return _Reading(within).mapping(path, ())


class _Reading:
    """Counts the files that are read for one task file."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._files = 0

    def mapping(self, path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
        if path in seen:
            circle = " → ".join(p.name for p in (*seen, path))
            raise TaskError(f"task files include each other: {circle}")
        self._files += 1
        if self._files > MOST_FILES:
            raise TaskError(f"{seen[0]}: includes more than {MOST_FILES} files")
        try:
            loaded = _load(path)
        except TaskError as error:
            if not seen:
                raise
            raise TaskError(f"{seen[-1]}: include: {error.message}", error.hint) from error
        below: dict[str, Any] = {}
        for name in _included(path, loaded.pop("include", [])):
            below.update(self.mapping(self._reachable(path, name), (*seen, path)))
        return {**below, **loaded}

    def _reachable(self, path: Path, name: str) -> Path:
        included = path.parent / name
        try:
            self._reach.check(included)
        except OutsideError as error:
            raise TaskError(f"{path}: include: {error}", HINT) from error
        return included


def _load(path: Path) -> dict[str, Any]:
    try:
        loaded = read_yaml(path, _TaskLoader)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from error
    except YamlError as error:
        raise TaskError(f"{path}: {error}") from error
    if not isinstance(loaded, dict):
        raise TaskError(f"{path}: a task file is a mapping of keys, not a {type(loaded).__name__}")
    return loaded


def _included(path: Path, value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise TaskError(
            f"{path}: include: names a file, or a list of files, not {str(value)[:80]!r}"
        )
    return names
