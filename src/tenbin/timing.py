"""Where the time of a command goes: seconds on the clock, by stage.

    with timed() as timing:
        with stage("data"):
            ...
    timing.seconds  # {"other": 0.1, "data": 2.5}

A stage inside another one is counted by itself, so that the stages add up to the whole. Code that
runs outside `timed`, or in another thread, is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Literal, ParamSpec, TypeAlias, TypeVar, get_args

_P = ParamSpec("_P")
_T = TypeVar("_T")

Stage: TypeAlias = Literal[
    "start", "tasks", "data", "model files", "prompts", "model load", "probe", "scoring",
    "generation", "model", "journal", "judging", "statistics", "writing", "other",
]  # fmt: skip
"""The stages, in the order in which a run comes to them."""
_OTHER: Stage = "other"
_command_began: float | None = None


class Timing:
    """The seconds of each stage so far."""

    def __init__(self) -> None:
        self._seconds: dict[Stage, float] = {}
        self._current, self._since = _OTHER, time.perf_counter()

    def change(self, to: Stage) -> Stage:
        """Count for another stage from now on; return the one that was counted for."""
        now, before = time.perf_counter(), self._current
        self._seconds[before] = self._seconds.get(before, 0.0) + now - self._since
        self._current, self._since = to, now
        return before

    def add(self, name: Stage, seconds: float) -> None:
        """Count time that has passed already."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by stage, to the millisecond; stages that took no time are left out."""
        self.change(self._current)
        rounded = {name: round(self._seconds[name], 3) for name in self._seconds}
        return {name: rounded[name] for name in _ORDER if rounded.get(name)}


_ORDER: tuple[Stage, ...] = get_args(Stage)
_timing: ContextVar[Timing | None] = ContextVar("timing", default=None)


@contextmanager
def counting_from(began: float) -> Iterator[None]:
    """The first `timed` inside counts the time since a command began, on `perf_counter`."""
    global _command_began
    _command_began = began
    try:
        yield
    finally:
        _command_began = None


@contextmanager
def timed() -> Iterator[Timing]:
    """Count the stages of what runs inside; inside another `timed`, in that one's `Timing`."""
    global _command_began
    if (outer := _timing.get()) is not None:
        yield outer
        return
    timing = Timing()
    if _command_began is not None:
        timing.add("start", time.perf_counter() - _command_began)
        _command_began = None
    token = _timing.set(timing)
    try:
        yield timing
    finally:
        timing.change(_OTHER)
        _timing.reset(token)


class _StageBlock:
    """One pass through a stage."""

    __slots__ = ("_before", "_name", "_timing")

    def __init__(self, name: Stage) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._timing = _timing.get()
        if self._timing is not None:
            self._before = self._timing.change(self._name)

    def __exit__(self, *error: object) -> None:
        if self._timing is not None:
            self._timing.change(self._before)

    def __call__(self, function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def counted(*arguments: _P.args, **options: _P.kwargs) -> _T:
            with stage(self._name):
                return function(*arguments, **options)

        return counted


def stage(name: Stage) -> _StageBlock:
    """Count what runs inside, or each call of the function below, for a stage."""
    return _StageBlock(name)
