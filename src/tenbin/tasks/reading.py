"""Task files from disk: YAML, includes, and one clear error for anything malformed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tenbin.errors import TaskError
from tenbin.yaml_files import YamlError, read_yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _TaskLoader(_Loader):  # type: ignore[misc]
    """Safe YAML that knows lm-eval's `!function` tag well enough to refuse it by name."""


def _refuse_function(loader: Any, node: Any) -> None:
    raise TaskError(
        f"{node.start_mark.name}, line {node.start_mark.line + 1}: `!function {node.value}` "
        "runs Python from a task file",
        "write the prompt in Jinja; filters and metrics are named in filter_list and metric_list",
    )


_TaskLoader.add_constructor("!function", _refuse_function)


def read_mapping(path: Path, seen: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The keys of one task file, with what it includes underneath.

    Args:
        path: The file.
        seen: Files that led here, to refuse a circle.
    """
    if path in seen:
        circle = " → ".join(p.name for p in (*seen, path))
        raise TaskError(f"task files include each other: {circle}")
    try:
        loaded = read_yaml(path, _TaskLoader)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from error
    except YamlError as error:
        raise TaskError(f"{path}: {error}") from error
    if not isinstance(loaded, dict):
        raise TaskError(f"{path}: a task file is a mapping of keys, not a {type(loaded).__name__}")
    included = loaded.pop("include", [])
    below: dict[str, Any] = {}
    names = [included] if isinstance(included, str) else included
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TaskError(f"{path}: include: names a file, or a list of files")
    for name in names:
        below.update(read_mapping(path.parent / name, (*seen, path)))
    return {**below, **loaded}
