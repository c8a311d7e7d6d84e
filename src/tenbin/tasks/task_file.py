"""Task files in tenbin's own format: keys alone, and no Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import TaskFunction
from tenbin.tasks.lm_eval.reading import ReadFile


def plain_mapping(read: ReadFile) -> dict[str, Any]:
    """The keys of one task file, with what it includes underneath.

    Raises:
        TaskError: It names a Python function.
    """
    mapping = dict(read.mapping)
    for key, function in _functions(mapping):
        raise TaskError(
            f"{read.path}: {key}: `!function {Path(function.file).stem}.{function.name}` would run "
            "Python from a task file",
            "write the prompt in Jinja; filters and metrics are named in filter_list and "
            "metric_list",
        )
    return mapping


def _functions(value: Any, key: str = "") -> Iterator[tuple[str, TaskFunction]]:
    if isinstance(value, TaskFunction):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _functions(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _functions(inner, f"{key}.{number}")
