"""Functions of scipy.special, without the rest of that package where it is not loaded yet."""

from __future__ import annotations

import sys
import threading
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

_PACKAGE = "scipy.special"
_OURS = ("tenbin-stop", "tenbin-prepare")
"""Threads that wait for a signal or the time, and import this package through here only."""
_lock = threading.Lock()


def special() -> Any:
    """The module that holds `stdtrit`, `ndtr`, `ndtri`, `fdtrc` and the like."""
    with _lock:
        return _module()


@lru_cache(maxsize=1)
def _module() -> Any:
    """The compiled module alone; the package where it is loaded, or might be by another thread.

    The package imports numpy.ma, numpy.f2py and numpy.testing: 0.2 s, a fifth of a short command.
    The compiled module loads in a tenth of that. Meanwhile its package stands in `sys.modules`
    without content, which another thread must not meet. Whoever imports the package afterwards gets
    it whole, with the same functions.
    """
    here = threading.current_thread()
    alone = all(thread is here or thread.name in _OURS for thread in threading.enumerate())
    spec = find_spec(_PACKAGE) if alone and _PACKAGE not in sys.modules else None
    if spec is not None:
        sys.modules[_PACKAGE] = module_from_spec(spec)
        try:
            return import_module(f"{_PACKAGE}._ufuncs")
        except ImportError:
            pass  # a version of scipy that keeps them elsewhere
        finally:
            del sys.modules[_PACKAGE]
    return import_module(_PACKAGE)
