"""Lets the garbage collector rest while libraries are imported and weights are loaded.

Importing torch and transformers makes about a million objects, all of which stay; looking through
them again and again for garbage takes a quarter of the import's time. Knows no library.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting_collector() -> Iterator[None]:
    """Collect nothing inside.

    What the first import of torch brings is left alone for good. A later call leaves nothing
    alone: among what is there then could be a model that is waiting to be collected.
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
            # Libraries that count at the end what was not collected would complain at length.
            atexit.register(gc.unfreeze)
        gc.enable()
