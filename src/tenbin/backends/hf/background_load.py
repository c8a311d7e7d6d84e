"""Loads a model in a thread of its own, while prompts are made and encoded.

A load cannot be broken off: while it goes on, transformers has changed settings of the whole
process. One that nobody waits for any more is therefore left to end by itself, its model is
dropped, and no other model is opened before that. At the end of the process nothing is kept in
order any more, and it is ended where it stands.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections.abc import Callable
from typing import Any

from tenbin.backends.hf.model.memory import input_device, release_memory

_SECONDS_TO_END = 2.0
"""At the end of the process, for a load to come out of the library it is in."""
_running: set[BackgroundLoad] = set()


class _ProcessEnds(BaseException):
    """Raised in a load by the end of the process."""


class BackgroundLoad:
    """A model on its way."""

    def __init__(self, load: Callable[[], Any]) -> None:
        """Begin to load.

        Args:
            load: Returns the model.
        """
        self._load = load
        self._model: Any = None
        self._error: BaseException | None = None
        self._is_abandoned = False
        self._deciding = threading.Lock()
        """Held by whoever decides what becomes of the model."""
        wait_for_abandoned()
        # A daemon: for any other thread the interpreter would wait without end, before `_end`.
        self._thread = threading.Thread(target=self._run, name="tenbin-load", daemon=True)
        _running.add(self)
        atexit.register(self._end)
        self._thread.start()

    def is_over(self) -> bool:
        """Whether the model is there, or an error."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until it is over."""
        self._thread.join()

    def take(self) -> Any:
        """The model, once it is over; what loading raised is raised here."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        model, self._model = self._model, None
        return model

    def abandon(self) -> None:
        """Have the model dropped, now or when it is there; waits for nothing."""
        with self._deciding:
            self._is_abandoned = True
            self._drop()

    def _drop(self) -> None:
        model, self._model = self._model, None
        if model is not None:
            device = input_device(model)
            del model
            release_memory(device)

    def _run(self) -> None:
        try:
            self._model = self._load()
        except BaseException as error:
            # Of any kind: it is raised again where the model is wanted.
            self._error = error
        finally:
            with self._deciding:
                if self._is_abandoned:
                    self._drop()
            _running.discard(self)
            atexit.unregister(self._end)

    def _end(self) -> None:
        """At exit: the interpreter must not be taken away from a library that computes."""
        if self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident), ctypes.py_object(_ProcessEnds)
            )
        self._thread.join(_SECONDS_TO_END)


def wait_for_abandoned() -> None:
    """Wait for loads that nobody waits for; to be called before another model is opened."""
    for one in list(_running):
        if one._is_abandoned:
            one._thread.join()
