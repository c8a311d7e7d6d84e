"""Frozen records that are made by the million: the same records, made in a third of the time."""

from __future__ import annotations

from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any, TypeVar

_T = TypeVar("_T")


def quick(record: type[_T]) -> type[_T]:
    """Give a frozen data class with slots another `__init__`, and a short way to be pickled.

    The `__init__` of a frozen data class sets every field by its name, through
    `object.__setattr__`; this one calls the slots themselves. Pickled, a record is its values in
    order. To be written above `@dataclass(frozen=True, slots=True)`.
    """
    parameters, steps = [], []
    scope: dict[str, Any] = {}
    for one in fields(record):  # type: ignore[arg-type]
        assert one.default_factory is MISSING, f"{record.__name__}.{one.name} has a factory"
        scope[f"_set_{one.name}"] = getattr(record, one.name).__set__
        scope[f"_default_{one.name}"] = one.default
        given = one.default is MISSING
        parameters.append(one.name if given else f"{one.name}=_default_{one.name}")
        steps.append(f"_set_{one.name}(self, {one.name})")
    source = f"def __init__(self, {', '.join(parameters)}):\n    " + "\n    ".join(steps)
    # As `dataclass` itself does: only names of fields are in it.
    exec(source, scope)
    made = scope["__init__"]
    made.__qualname__ = f"{record.__qualname__}.__init__"
    made.__annotations__ = record.__init__.__annotations__
    values = attrgetter(*(one.name for one in fields(record)))  # type: ignore[arg-type]
    record.__init__ = made  # type: ignore[method-assign]
    record.__reduce__ = lambda self: (record, values(self))  # type: ignore[method-assign]
    return record
