"""Lets modules of transformers be imported without torch's compiler and its distributed tensors.

transformers imports both for itself at its start, a third of its import, and needs them only where
layers are compiled or a model is spread over processes. Here its modules get names in their place
that import the real thing when they are first used, and become the real thing when anybody else
imports it. A module that does more with a name than that is imported as usual.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
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
    *_PARALLEL,
)
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
        "generation.continuous_batching.cache",
        "generation.utils",
        "integrations.deepgemm",
        "integrations.eager_paged",
        "integrations.finegrained_fp8",
        "integrations.flex_attention",
        "integrations.sonicmoe",
        "masking_utils",
        "modeling_utils",
    )
)
"""Modules of transformers that import these at their start."""
_ASKS = ("transformers.distributed.fsdp", "transformers.distributed.utils")
"""Ask of weights and models whether they are distributed; their functions go on deferring."""
_allowed_in_graph: list[Callable[..., Any]] = []
"""Functions that are to be made known to the compiler."""
_places: dict[str, list[tuple[dict[str, Any], str, _Later]]] = {}
"""Where names stand for things that are not imported, by the module that has them."""


class _Later:
    """A class or function that is imported when it is used."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _real(self) -> Any:
        return getattr(import_module(self._module), self._name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._real()(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return getattr(self._real(), name)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._real(),)

    def __instancecheck__(self, instance: Any) -> bool:
        # Nothing is of a class that nobody has imported.
        return self._module in sys.modules and isinstance(instance, self._real())

    def __subclasscheck__(self, other: type) -> bool:
        return self._module in sys.modules and issubclass(other, self._real())


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
        if not isinstance(found, _Later):
            continue
        there = sys.modules.get(found._module)
        if there is not None and found._name in vars(there):
            vars(module)[name] = vars(there)[found._name]  # imported while the module ran
        else:
            _places.setdefault(found._module, []).append((vars(module), name, found))
    _settle(module)


def is_awaited(name: str) -> bool:
    """Whether `settling` is to be around the import of a module."""
    return name == COMPILER or name in _places


@contextmanager
def settling(module: ModuleType) -> Iterator[None]:
    """Run a module inside; then its names are put where others stand for them."""
    yield
    _settle(module)


def _settle(module: ModuleType) -> None:
    for names, name, later in _places.pop(module.__name__, ()):
        if names.get(name) is later:
            names[name] = getattr(module, later._name)
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
    path = Path(sys.modules[first].__file__ or "").parent.joinpath(*parts)
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
