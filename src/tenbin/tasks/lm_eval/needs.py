"""What a run of a task needs first: trust in functions, and the packages that these import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tenbin.records import TaskFunction
from tenbin.tasks.lm_eval.python_imports import is_installed, packages_of
from tenbin.tasks.lm_eval.task_keys import Keys


@dataclass(frozen=True, slots=True)
class Need:
    """What a run of the task needs before it can begin."""

    kind: Literal["trust", "package"]
    key: str
    """The key of the task file that brings the need."""
    what: str
    """The function as `file: name`, or the package that the function's file imports."""
    function: TaskFunction | None = None


def refuse_missing_files(keys: Keys, functions: Iterable[tuple[str, TaskFunction]]) -> None:
    """Refuse `!function utils.f` without utils.py; a dotted module may be one of a package."""
    for key, function in functions:
        module = function.file
        if not module.endswith(".py") and "." not in module and not is_installed(module):
            keys.refuse(
                key,
                f"names {module}.{function.name}, and there is no {module}.py beside the file",
                f"get {module}.py, which belongs to the task file",
            )


def needs_of(functions: Iterable[tuple[str, TaskFunction]]) -> Iterator[Need]:
    """Trust in each function, and each package that their files import."""
    packages: dict[str, str] = {}
    for key, function in functions:
        yield Need("trust", key, str(function), function)
        for package in packages_of(function):
            packages.setdefault(package, key)
    for package, key in packages.items():
        yield Need("package", key, package)
