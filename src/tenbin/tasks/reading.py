"""Task files from disk: YAML, includes, and one clear error for anything malformed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tenbin.errors import TaskError

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
        with path.open(encoding="utf-8") as stream:
            loaded = yaml.load(stream, Loader=_TaskLoader)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: not UTF-8 text: {error}") from error
    except yaml.YAMLError as error:
        raise TaskError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(loaded, dict):
        raise TaskError(f"{path}: a task file is a mapping of keys, not a {type(loaded).__name__}")
    included = loaded.pop("include", [])
    below: dict[str, Any] = {}
    for name in [included] if isinstance(included, str) else included:
        below.update(read_mapping(path.parent / name, (*seen, path)))
    return {**below, **loaded}
