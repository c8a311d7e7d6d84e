"""Entry points: what other installed packages add to tenbin.

A package names its backends, metrics and tasks in its pyproject.toml:

    [project.entry-points."tenbin.metrics"]
    character_overlap = "my_package.metrics:character_overlap"

The names are read from the metadata of the installed packages; the code behind a name is imported
when the name is used for the first time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from tenbin.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BACKENDS, METRICS, TASKS = "tenbin.backends", "tenbin.metrics", "tenbin.tasks"
_GROUPS = (BACKENDS, METRICS, TASKS)
"""The groups of entry points that tenbin reads."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of an installed package."""

    group: str
    name: str
    target: str
    """`module:attribute`, as the package's pyproject.toml writes it."""
    package: str
    version: str
    entry_point: EntryPoint
    rival: str = ""
    """Another package that provides the same name."""

    @property
    def origin(self) -> str:
        """The package and its version, for messages and results: `my-package 1.0`."""
        return f"{self.package} {self.version}"

    def load(self) -> Any:
        """Import and return the object that the entry point names.

        Raises:
            PluginError: Its import fails, or another package provides the same name.
        """
        self.refuse_rival()
        try:
            return self.entry_point.load()
        except (Exception, SystemExit) as error:
            raise self.error(f"{type(error).__name__}: {error}") from error

    def error(self, reason: str) -> PluginError:
        """An error that names the package, the entry point and the reason."""
        return PluginError(
            f"{self.origin}: the entry point {self.name} = {self.target} of {self.group} cannot"
            f" be used: {reason}",
            f"mend, update or uninstall the package {self.package}",
        )

    def refuse_rival(self) -> None:
        """Refuse a name that two packages provide.

        Raises:
            PluginError: There is such another package.
        """
        if self.rival:
            raise PluginError(
                f"{self.origin} and {self.rival} both provide {self.name!r} in {self.group}",
                f"uninstall {self.package} or {self.rival.split()[0]}",
            )

    def refuse_clash(self, what: str) -> NoReturn:
        """Refuse a name that tenbin has itself; `what` is `metric`, `backend` or `task`.

        Raises:
            PluginError: Always.
        """
        raise PluginError(
            f"{self.origin} provides a {what} {self.name!r}, and tenbin has a {what} of that name",
            f"rename the entry point {self.name} = {self.target}, or uninstall {self.package}",
        )


def entry_points(group: str) -> Mapping[str, Plugin]:
    """The entry points of a group by name; nothing is imported.

    Args:
        group: `tenbin.backends`, `tenbin.metrics` or `tenbin.tasks`.
    """
    return installed()[group]


@lru_cache(maxsize=1)
def installed() -> Mapping[str, Mapping[str, Plugin]]:
    """The entry points of all groups; they are read at once, since that reads every package."""
    from importlib import metadata

    every = metadata.entry_points()
    return {group: _plugins(group, every.select(group=group)) for group in _GROUPS}


def _plugins(group: str, entries: Iterable[EntryPoint]) -> dict[str, Plugin]:
    found: dict[str, Plugin] = {}
    for entry in entries:
        package, version = ("unknown", "?") if entry.dist is None else _identity(entry.dist)
        rival = found[entry.name].origin if entry.name in found else ""
        found[entry.name] = Plugin(group, entry.name, entry.value, package, version, entry, rival)
    return found


def _identity(distribution: Any) -> tuple[str, str]:
    """Name and version of a package; damaged metadata may lack either."""
    described = distribution.metadata
    return str(described["Name"] or "unknown"), str(described["Version"] or "?")
