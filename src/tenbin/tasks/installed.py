"""Task files that installed packages bring: entry points of `tenbin.tasks`, and lm_eval's.

An entry point names a package or a module; the YAML files in its folder, and in the folders below,
are tasks. The package is found but not imported, except for the parents of a dotted name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tenbin import plugins
from tenbin.errors import PluginError, TaskError


@dataclass(frozen=True, slots=True)
class TaskPackage:
    """A folder of task files that an installed package brings."""

    plugin: plugins.Plugin
    folder: Path

    @property
    def name(self) -> str:
        """The package's name, for messages."""
        return self.plugin.package


def installed_packages() -> Iterator[TaskPackage]:
    """Yield the folders that installed packages name, in the order of the entry points' names.

    Raises:
        PluginError: An entry point names nothing that has a folder, or two packages use one name.
    """
    for _, plugin in sorted(plugins.entry_points(plugins.TASKS).items()):
        plugin.refuse_rival()
        yield TaskPackage(plugin, _folder(plugin))


def package_of(source: str) -> plugins.Plugin | None:
    """The package that brought a task file; None for the catalogue and for files of the user."""
    for plugin in plugins.entry_points(plugins.TASKS).values():
        # What cannot be used has brought nothing, and a run that is over must not fail for it.
        with suppress(PluginError):
            if _folder(plugin) in Path(source).parents:
                return plugin
    return None


def _folder(plugin: plugins.Plugin) -> Path:
    try:
        spec = find_spec(plugin.target)
    # Importing a dotted name's parents runs the package's own code, which may raise anything.
    except Exception as error:
        raise plugin.error(f"{type(error).__name__}: {error}") from error
    if spec is None:
        raise plugin.error("there is no such module")
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    if not places and spec.origin is not None:
        places = [Path(spec.origin).parent]
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise plugin.error("it has no folder")
    return folder


LM_EVAL = "lm_eval"
"""As a place of `--include_path`: the task files of the installed package of this name."""


def included_place(place: str | Path) -> Path:
    """The file or folder that an entry of `--include_path` means.

    Raises:
        TaskError: It is `lm_eval`, which is not installed.
    """
    if str(place) != LM_EVAL:
        return Path(place)
    folder = _lm_eval_folder()
    if folder is None and not Path(place).is_dir():
        raise TaskError(
            f"--include_path {LM_EVAL}: the package lm_eval is not installed in this environment",
            "pip install lm_eval, or name a folder of task files",
        )
    return folder or Path(place)


@cache
def _lm_eval_folder() -> Path | None:
    """The folder of lm_eval's task files; the package is found, not imported."""
    with suppress(ImportError, ValueError):
        spec = find_spec(LM_EVAL)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if (Path(place) / "tasks").is_dir():
                return Path(place) / "tasks"
    return None


@cache
def _lm_eval_label() -> str:
    from importlib import metadata

    try:
        return f"{LM_EVAL} {metadata.version(LM_EVAL)}"
    except metadata.PackageNotFoundError:
        return LM_EVAL


def package_label(path: Path) -> str | None:
    """The installed lm_eval, with its version, where it brings a task file; None elsewhere."""
    folder = _lm_eval_folder()
    return _lm_eval_label() if folder is not None and folder in path.parents else None
