"""Functions that task files name: loaded here alone, and only where the user trusts them.

A task file with `!function` is a program. It is read, listed, searched and validated without
running any of it; a run needs the user's word, for this command (`--trust_tasks`) or for a folder
once and for all (`trust_tasks:` in the user's configuration).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import Task, TaskFunction
from tenbin.tasks.lm_eval.functions import named_functions, replace_functions
from tenbin.tasks.lm_eval.python_imports import (
    file_of,
    files_of,
    is_installed,
    packages_of,
    pip_name,
)

_ROOT = "tenbin_task_functions"
"""The package under which the modules of task files are imported: no name of theirs can clash."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose functions may run."""

    everything: bool = False
    """Whether the user has said so for all chosen tasks."""
    folders: tuple[str, ...] = ()
    """Folders whose files may run, and names of installed packages."""
    settings: str = "~/.config/tenbin/config.yaml"
    """Where such folders are listed, for messages."""

    def covers(self, function: TaskFunction) -> bool:
        """Whether a function may run."""
        if self.everything:
            return True
        file = file_of(function)
        if file is None:
            return False
        real = Path(os.path.realpath(file))
        return any(
            real.is_relative_to(folder) for folder in map(_real_folder, self.folders) if folder
        )


def trusted(task: Task, trust: Trust) -> Task:
    """The task with all its functions loaded; a task without functions as it is.

    Raises:
        TaskError: Functions are not trusted, packages are missing, or a file cannot be imported.
    """
    functions = named_functions(task)
    if not functions:
        return task
    _refuse_untrusted(task, functions, trust)
    _refuse_missing(task, functions)
    loaded: dict[tuple[str, str], TaskFunction] = {}

    def load(function: TaskFunction) -> TaskFunction:
        known = loaded.get((function.file, function.name))
        if known is None:
            known = loaded[function.file, function.name] = _load(task, function)
        return known

    changed: Task = replace_functions(task, load)
    return changed


def missing_packages(functions: list[tuple[str, TaskFunction]]) -> dict[str, str]:
    """Packages that functions need and that are not installed → a file that imports them."""
    missing: dict[str, str] = {}
    for _, function in functions:
        for package in sorted(packages_of(function)):
            if not is_installed(package):
                missing.setdefault(package, function.file)
    return missing


def _refuse_untrusted(task: Task, functions: list[tuple[str, TaskFunction]], trust: Trust) -> None:
    strange = [(key, one) for key, one in functions if not trust.covers(one)]
    if not strange:
        return
    listed = "\n".join(f"  {key}: {one}" for key, one in strange)
    place = _place(task, strange[0][1])
    raise TaskError(
        f"{task.name}: {task.source} names Python functions, which run only if you trust "
        f"them:\n{listed}",
        "read them, then add --trust_tasks for this command; or list "
        f"{place} under trust_tasks: in {trust.settings}",
    )


def _place(task: Task, function: TaskFunction) -> str:
    """What to list for a function: the package that brings the task file, or the folder."""
    if task.origin is not None and task.origin.package:
        return task.origin.package.split()[0]
    if function.file.endswith(".py"):
        return str(Path(function.file).parent)
    return function.file.partition(".")[0]


def _refuse_missing(task: Task, functions: list[tuple[str, TaskFunction]]) -> None:
    missing = missing_packages(functions)
    if missing:
        needed = "; ".join(f"{package} (imported by {file})" for package, file in missing.items())
        raise TaskError(
            f"{task.name}: its functions need packages that are not installed: {needed}",
            f"pip install {' '.join(pip_name(package) for package in missing)}",
        )


def _load(task: Task, function: TaskFunction) -> TaskFunction:
    """The function with its code and the hash of all files that it consists of."""
    where = f"{task.name}: {function.file}"
    try:
        module = _imported(function.file)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or is_installed(package):
            raise _failed(where, error) from error
        raise TaskError(
            f"{where}: needs the package {package}, which is not installed",
            f"pip install {pip_name(package)}",
        ) from error
    # Whatever a file does while it is imported, it must end as one message.
    except (Exception, SystemExit) as error:
        raise _failed(where, error) from error
    call: Any = getattr(module, function.name, None)
    if not callable(call):
        what = "is no function" if hasattr(module, function.name) else "is not there"
        raise TaskError(
            f"{where}: the function {function.name} that {task.source} names {what}",
            "correct the name, or get the file that belongs to the task file",
        )
    return replace(function, call=call, sha256=_sha256(function))


def _failed(where: str, error: BaseException) -> TaskError:
    version = isinstance(error, ImportError)
    return TaskError(
        f"{where}: cannot be imported: {type(error).__name__}: {error}",
        "the file may need another version of that package; mend it, or leave the task out"
        if version
        else "mend the file, or leave the task out",
    )


def _imported(file: str) -> ModuleType:
    """The module of a file, imported once per process, or an installed module by its name."""
    if not file.endswith(".py"):
        return importlib.import_module(file)
    path = Path(os.path.realpath(file))
    name = _module_name(path)
    known = sys.modules.get(name)
    if known is not None:
        return known
    _add_packages(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _module_name(path: Path) -> str:
    """A name of its own for every file: hundreds of them are called utils.py."""
    return ".".join((_ROOT, *map(_part, path.with_suffix("").parts)))


def _part(name: str) -> str:
    return re.sub(r"[./\\]", "_", name) or "_"


def _add_packages(folder: Path) -> None:
    """Packages for a folder and those above it, so that `from .other import x` finds its files.

    They run no `__init__.py`: the file that is asked for is all that is loaded.
    """
    parts = folder.parts
    name = _ROOT
    for depth in range(len(parts) + 1):
        if depth:
            name = f"{name}.{_part(parts[depth - 1])}"
        if name in sys.modules:
            continue
        package = ModuleType(name)
        package.__path__ = [str(Path(*parts[:depth]))] if depth else []
        sys.modules[name] = package


def _sha256(function: TaskFunction) -> str:
    """Of the function's file; with files that it imports from beside it, of all their hashes."""
    files = files_of(function) or tuple(filter(None, [file_of(function)]))
    digests = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _real_folder(written: str) -> Path | None:
    """A trusted folder as it really is: an installed package's own for a bare name."""
    if os.sep in written or "/" in written:
        return Path(os.path.realpath(written))
    try:
        spec = importlib.util.find_spec(written)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(os.path.realpath(places[0])) if places else None
