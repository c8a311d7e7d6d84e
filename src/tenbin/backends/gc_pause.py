"""Pauses the garbage collector while libraries are imported and weights are loaded.

Importing torch and transformers makes about a million objects, all of which stay; searching them
for garbage again and again takes a quarter of the import's time.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_gc() -> Iterator[None]:
    """Collect no garbage inside.

    Objects of the first import of torch are never collected afterwards. A later call freezes
    nothing: a model that waits to be collected could be among the objects then.
    """
    if not gc.isenabled():
        yield
        return
    is_first = "torch" not in sys.modules
    gc.disable()
    try:
        yield
    finally:
        if is_first and "torch" in sys.modules:
            gc.freeze()
            # At exit some libraries complain about every object that was not collected.
            atexit.register(gc.unfreeze)
        gc.enable()
