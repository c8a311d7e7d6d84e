"""Lets modules of transformers be imported without libraries that a run may never use.

transformers imports torch's compiler and its distributed tensors at its start, a third of its
import, and where they are installed torchvision and scikit-learn, another half. It needs them only
where layers are compiled, a model is spread over processes, pictures are read, or a small model
drafts for a large one. Here its modules get names in their place that import the real thing when
they are first used, and become the real thing when anybody else imports it. A module that does more
with a name than that is imported as usual.
"""

from __future__ import annotations

import builtins
import functools
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

COMPILER = "torch._dynamo"
_PARALLEL = (
    "transformers.distributed.parallel_utils",
    "transformers.distributed.tensor_parallel",
    "transformers.distributed.expert_parallel",
)
"""They fill one table with placements of distributed tensors, so they are imported together; each
imports those before it."""
_DEFERRED = (
    f"{COMPILER}._trace_wrapped_higher_order_op",
    "torch.distributed._composable",
    "torch.distributed._functional_collectives",
    "torch.distributed.checkpoint",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "torchvision",
    "sklearn.metrics",
    *_PARALLEL,
)
_SHARD = ("torch.distributed.tensor.placement_types", "Shard")
_MEMBERS_OF = frozenset({("torchvision.transforms", "InterpolationMode"), _SHARD})
"""Modules of transformers put members of the first into tables while they are imported, and ask
whether the second has a method that it has since torch 2.10. Nothing is imported for that."""
MODULES = frozenset(
    f"transformers.{name}"
    for name in (
        "distributed.checkpoint",
        "distributed.expert_parallel",
        "distributed.fsdp",
        "distributed.mixin",
        "distributed.parallel_utils",
        "distributed.sharding_utils",
        "distributed.tensor_parallel",
        "distributed.utils",
        "generation.candidate_generator",
        "generation.continuous_batching.cache",
        "generation.utils",
        "image_utils",
        "integrations.deepgemm",
        "integrations.eager_paged",
        "integrations.finegrained_fp8",
        "integrations.flex_attention",
        "integrations.sonicmoe",
        "masking_utils",
        "modeling_utils",
        "video_utils",
    )
)
"""Modules of transformers that import these at their start."""
_ASKS = ("transformers.distributed.fsdp", "transformers.distributed.utils")
"""Ask of weights and models whether they are distributed; their functions go on deferring."""
_allowed_in_graph: list[Callable[..., Any]] = []
"""Functions that are to be made known to the compiler."""
_places: dict[str, list[Callable[[], None]]] = {}
"""Put things in the place of the names that stand for them, by the module that has the things."""


class _Later:
    """A class or function that is imported when it is used."""

    def __init__(self, module: str, name: str, member: str | None = None) -> None:
        self._module, self._name, self._member = module, name, member
        self._is_running = (module, name) in _MEMBERS_OF
        """Whether the module of transformers that has this name is still being imported."""
        if (module, name) == _SHARD and _torch_version() < (2, 10):
            self._is_running = False

    def _real(self) -> Any:
        whole = getattr(import_module(self._module), self._name)
        return whole if self._member is None else getattr(whole, self._member)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._real()(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if self._is_running and self._member is None:
            return _Later(self._module, self._name, name)
        return getattr(self._real(), name)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._real(),)

    def __instancecheck__(self, instance: Any) -> bool:
        # Nothing is of a class that nobody has imported.
        return self._module in sys.modules and isinstance(instance, self._real())

    def __subclasscheck__(self, other: type) -> bool:
        return self._module in sys.modules and issubclass(other, self._real())


def _torch_version() -> tuple[int, ...]:
    import torch

    return tuple(int(part) for part in re.findall(r"\d+", str(torch.__version__))[:2])


class _Names:
    """A module, to an import of some of its names."""

    def __init__(self, module: str) -> None:
        self.__module = module

    def __getattr__(self, name: str) -> _Later:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Later(self.__module, name)


@contextmanager
def deferring(module: ModuleType) -> Iterator[None]:
    """Run a module of transformers inside: its imports of what is deferred are."""
    names = {**vars(builtins), "__import__": _import}
    vars(module)["__builtins__"] = names
    try:
        with _deferred_marks():
            yield
    finally:
        if module.__name__ not in _ASKS:
            # Its functions keep this dictionary; what they import, they need.
            names["__import__"] = builtins.__import__
    for name, found in list(vars(module).items()):
        if isinstance(found, _Later):
            found._is_running = False
            _put(found, functools.partial(_replace, vars(module), name, found))
        elif type(found) is dict:
            for one in [*found, *found.values()]:
                if isinstance(one, _Later):
                    _put(one, functools.partial(_replace_in, found))
                    break
    _settle(module)


def is_awaited(name: str) -> bool:
    """Whether `settling` is to be around the import of a module."""
    return name == COMPILER or name in _places


@contextmanager
def settling(module: ModuleType) -> Iterator[None]:
    """Run a module inside; then its names are put where others stand for them."""
    yield
    _settle(module)


def _put(later: _Later, into_place: Callable[[], None]) -> None:
    """Put the real thing into its place, now if it is there, or when it is imported."""
    there = sys.modules.get(later._module)
    if there is not None and later._name in vars(there):
        into_place()  # imported while the module ran
    else:
        _places.setdefault(later._module, []).append(into_place)


def _replace(names: dict[str, Any], name: str, later: _Later) -> None:
    if names.get(name) is later:
        names[name] = later._real()


def _replace_in(table: dict[Any, Any]) -> None:
    """Replace keys and values of a table, in their order."""
    for key, value in [(key, table.pop(key)) for key in list(table)]:
        real = [one._real() if isinstance(one, _Later) else one for one in (key, value)]
        table[real[0]] = real[1]


def _settle(module: ModuleType) -> None:
    for into_place in _places.pop(module.__name__, ()):
        into_place()
    if module.__name__ in _PARALLEL:
        # The next in order, which imports those before it; unless one that waits for this one runs.
        after = _PARALLEL[_PARALLEL.index(module.__name__) + 1 :]
        if after and not any(name in sys.modules for name in after):
            import_module(after[0])
    if module.__name__ == COMPILER:
        while _allowed_in_graph:
            vars(module)["allow_in_graph"](_allowed_in_graph.pop())


def _import(name: str, *how: Any, **more: Any) -> Any:
    """`__import__` of a module that runs in `deferring`."""
    variables, _, names, level = (*how, *(None,) * 4)[:4]
    whole = resolve_name("." * level + name, variables["__package__"]) if level else name
    is_deferred = any(whole == one or whole.startswith(f"{one}.") for one in _DEFERRED)
    if whole in _PARALLEL and variables["__name__"] in _PARALLEL:
        is_deferred = False  # they fill the table while they are imported
    if is_deferred and names and "*" not in names and whole not in sys.modules and _exists(whole):
        return _Names(whole)
    return builtins.__import__(name, *how, **more)


def _exists(name: str) -> bool:
    """Whether there is such a module; found without importing those that it is in."""
    first, *parts = name.split(".")
    spec = sys.modules[first].__spec__ if first in sys.modules else PathFinder.find_spec(first)
    if spec is None or spec.origin is None:
        return False
    path = Path(spec.origin).parent.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").is_file()


@contextmanager
def _deferred_marks() -> Iterator[None]:
    """Functions that are marked for the compiler inside are known to it once it is imported."""
    import torch

    if "_dynamo" in vars(torch) or COMPILER in sys.modules:
        yield  # it is there, or an import around this one sees to it
        return
    compiler: Any = torch.compiler
    real = compiler.disable, compiler.allow_in_graph
    stand_in = SimpleNamespace(
        allow_in_graph=_allow_in_graph, assume_constant_result=_assume_constant
    )
    compiler.disable, compiler.allow_in_graph = _disabled(real[0]), _allow_in_graph
    vars(torch)["_dynamo"] = stand_in
    try:
        yield
    finally:
        compiler.disable, compiler.allow_in_graph = real
        if vars(torch).get("_dynamo") is stand_in:
            del vars(torch)["_dynamo"]


def _allow_in_graph(function: Any) -> Any:
    if COMPILER in sys.modules:
        return sys.modules[COMPILER].allow_in_graph(function)
    _allowed_in_graph.append(function)
    return function


def _assume_constant(function: Any) -> Any:
    function._dynamo_marked_constant = True
    return function


def _disabled(real: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.compiler.disable`; the function is wrapped when there is a compiler."""

    def disable(function: Any = None, recursive: bool = True, **options: Any) -> Any:
        if function is None:
            return lambda one: disable(one, recursive, **options)
        made: list[Any] = []

        @functools.wraps(function)
        def called(*arguments: Any, **given: Any) -> Any:
            if COMPILER not in sys.modules:
                return function(*arguments, **given)
            if not made:
                made.append(real(function, recursive, **options))
            return made[0](*arguments, **given)

        return called

    return disable
