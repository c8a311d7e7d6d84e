"""Task files that installed packages bring: entry points of the group `tenbin.tasks`.

An entry point names a package or a module; the YAML files in its folder, and in the folders below,
are tasks. The package is found but not imported, except for the parents of a dotted name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tenbin.errors import TaskError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "tenbin.tasks"


@dataclass(frozen=True, slots=True)
class TaskPackage:
    """A folder of task files that an installed package brings."""

    name: str
    """The distribution's name, for messages."""
    folder: Path


def installed_packages() -> Iterator[TaskPackage]:
    """Yield the folders that installed packages name, in the order of the entry points' names.

    Raises:
        TaskError: An entry point names nothing that has a folder.
    """
    # Reading the metadata of every installed package takes some 20 ms.
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        name = point.dist.name if point.dist else point.name
        yield TaskPackage(name, _folder(point, name))


def _folder(point: EntryPoint, package: str) -> Path:
    try:
        spec = find_spec(point.value)
    # Importing a dotted name's parents runs the package's own code, which may raise anything.
    except Exception as error:
        raise _unusable(point, package, f"{type(error).__name__}: {error}") from error
    if spec is None:
        raise _unusable(point, package, "there is no such module")
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    if not places and spec.origin is not None:
        places = [Path(spec.origin).parent]
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise _unusable(point, package, "it has no folder")
    return folder


def _unusable(point: EntryPoint, package: str, why: str) -> TaskError:
    return TaskError(
        f"the installed package {package} names {point.value!r} as its tasks (entry point "
        f"{point.name!r} of {GROUP}): {why}",
        f"install {package} again, or uninstall it",
    )
