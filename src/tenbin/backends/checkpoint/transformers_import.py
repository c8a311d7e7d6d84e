"""Makes the first import of transformers quicker: a quarter of it is the same work every time.

Two things that it works out anew in every process are kept in the cache: which names the files of
its folder `models` export (it reads more than a thousand files), and which installed package each
module belongs to (it reads the file lists of all packages). scipy.optimize, which only losses of
object detection use, is imported when one of them is computed; torch's compiler and distributed
tensors, torchvision and scikit-learn are when they are used (`deferred_imports`). What others see
of transformers is the same; where its insides are not as expected, it is imported as usual.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from tenbin.backends.checkpoint.deferred_imports import (
    MODULES,
    deferring,
    is_awaited,
    settling,
)
from tenbin.files.home import cache_directory
from tenbin.files.sealed import read_sealed, write_sealed

_IMPORTS = "transformers.utils.import_utils"
_LOSSES = "transformers.loss."
_FOLDER = "imports"


def quicken_import() -> None:
    """Have transformers imported quickly, if it has not been imported yet."""
    if "transformers" not in sys.modules and not any(
        isinstance(finder, _Finder) for finder in sys.meta_path
    ):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the modules of transformers whose import is changed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        around = _around(name)
        if around is None:
            return None
        found = PathFinder.find_spec(name, path)
        if found is not None and found.loader is not None:
            found.loader = _Loader(found.loader, around)
        return found


def _around(name: str) -> Callable[[ModuleType], Any] | None:
    """The context in which a module runs; None for its own."""
    if name == _IMPORTS:
        return _quick
    if name.startswith(_LOSSES):
        return _without_scipy
    if name in MODULES:
        return deferring
    return settling if is_awaited(name) else None


class _Loader(Loader):
    """Runs a module inside a context that changes what it finds."""

    def __init__(self, inner: Any, around: Callable[[ModuleType], Any]) -> None:
        self._inner, self._around = inner, around

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        with self._around(module):
            self._inner.exec_module(module)


@contextmanager
def _quick(module: ModuleType) -> Iterator[None]:
    """transformers.utils.import_utils, with both tables from the cache."""
    read = importlib.metadata.packages_distributions
    importlib.metadata.packages_distributions = lambda: _packages(read)
    try:
        yield
    finally:
        importlib.metadata.packages_distributions = read
    make = getattr(module, "create_import_structure_from_path", None)
    if callable(make):
        structure: Callable[[Any], Any] = make
        module.create_import_structure_from_path = (  # type: ignore[attr-defined]
            lambda path: _structure(structure, Path(path))
        )


@contextmanager
def _without_scipy(module: ModuleType) -> Iterator[None]:
    """A module of losses, whose one function of scipy is imported when it is called."""
    utils: Any = sys.modules.get("transformers.utils")
    asked = getattr(utils, "is_scipy_available", None)
    # Modules of losses import each other.
    real = asked.real if isinstance(asked, _Hidden) else asked
    if real is None or not real():
        yield
        return
    utils.is_scipy_available = _Hidden(real)
    try:
        yield
    finally:
        utils.is_scipy_available = asked
    changed: Any = module
    if isinstance(getattr(module, "is_scipy_available", None), _Hidden):
        changed.is_scipy_available = real
        changed.linear_sum_assignment = _assignment


class _Hidden:
    """Says that scipy is not there, while a module of losses is imported."""

    def __init__(self, real: Callable[[], bool]) -> None:
        self.real = real

    def __call__(self) -> bool:
        return False


def _assignment(*arguments: Any, **options: Any) -> Any:
    """`scipy.optimize.linear_sum_assignment`."""
    from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

    return linear_sum_assignment(*arguments, **options)


def _packages(read: Callable[[], Mapping[str, list[str]]]) -> Mapping[str, list[str]]:
    """Module → names of packages, as `importlib.metadata.packages_distributions` gives it."""
    kept = (".dist-info", ".egg-info", ".egg-link")
    folders = [folder or os.curdir for folder in sys.path]
    listed = [entry for folder in folders for entry in _entries(folder) if entry[0].endswith(kept)]
    found: Mapping[str, list[str]] = _cached(
        "packages", listed, lambda: {name: list(packages) for name, packages in read().items()}
    )
    return found


def _structure(make: Callable[[Any], Any], path: Path) -> Any:
    """What transformers finds in a folder; that of all models comes from the cache."""
    folder = path.parent if path.is_file() else path
    if folder.name != "models":
        return make(path)
    files = [Path(sys.modules[_IMPORTS].__file__ or ""), folder]
    listed = [_stamp(str(file), file.stat()) for file in files]
    for root, _, _ in os.walk(folder):
        listed += _entries(root)

    def make_encoded() -> Any:
        made = make(path)
        encoded = _encoded(made)
        if _decoded(encoded) != made:
            raise _OtherShape(made)
        return encoded

    try:
        return _decoded(_cached("transformers", listed, make_encoded))
    except _OtherShape as other:
        return other.made


class _OtherShape(Exception):
    """The table is not as this module knows it: it is used, and not kept."""

    def __init__(self, made: Any) -> None:
        super().__init__()
        self.made = made


def _cached(what: str, listed: Iterable[tuple[str, int, int]], make: Callable[[], Any]) -> Any:
    """What the cache has under a name, if all files are still those that it was made of."""
    try:
        place = cache_directory() / _FOLDER / f"{what}.json"
    except RuntimeError:  # there is no home
        return make()
    seal = hashlib.sha256(repr((sys.version, sorted(listed))).encode(errors="replace")).hexdigest()
    text = read_sealed(place, seal)
    if text is not None:
        return json.loads(text)
    made = make()
    write_sealed(place, seal, json.dumps(made, separators=(",", ":")))
    return made


def _entries(folder: str) -> list[tuple[str, int, int]]:
    """Path, time of the last change and size of what lies in a folder, if it is one."""
    try:
        with os.scandir(folder) as listed:
            return [_stamp(one.path, one.stat()) for one in listed if one.name != "__pycache__"]
    except OSError:
        return []


def _stamp(path: str, state: os.stat_result) -> tuple[str, int, int]:
    return path, state.st_mtime_ns, state.st_size


def _encoded(structure: Any) -> Any:
    """A table of folders, sets of requirements and modules as JSON can hold it, in its order."""
    if isinstance(structure, Mapping):
        return [[_encoded(key), _encoded(value)] for key, value in structure.items()]
    return sorted(structure) if isinstance(structure, set | frozenset) else structure


def _decoded(pairs: Any) -> dict[Any, Any] | None:
    """The table again; None where it has another shape."""
    found: dict[Any, Any] = {}
    try:
        for key, value in pairs:
            if isinstance(key, str):
                found[key] = _decoded(value)
            else:
                found[frozenset(key)] = {module: set(names) for module, names in value}
    except (TypeError, ValueError):
        return None
    return found
