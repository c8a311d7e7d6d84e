"""How long explanations wait for patterns that may be slow.

An answer is judged once, and each may take a pattern's whole limit of time; explaining is for
readers, over every answer of a stored run, whose patterns may be anybody's. So a pattern that was
slow once is not tried again. Knows patterns and texts; knows no step.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tenbin.metrics.matching import UnjudgedError
from tenbin.sandbox.patterns import compile_pattern

SLOW_SECONDS = 1.0
"""Processor time of one call from which a pattern counts as slow."""
SECONDS_IN_ALL = 60.0
"""Processor time of all calls together: then no pattern that may be slow is tried."""


class Patience:
    """What the patterns of one report have taken so far."""

    def __init__(self) -> None:
        self._slow: set[str] = set()
        self._spent = 0.0

    def is_over(self, source: str) -> bool:
        """Whether a pattern is not to be tried again on texts that it may be slow on."""
        return source in self._slow or self._spent >= SECONDS_IN_ALL

    @contextmanager
    def watching(self, source: str) -> Iterator[None]:
        """Count the time that a pattern takes; one that runs out of it is slow."""
        begun = time.thread_time()
        try:
            yield
        except UnjudgedError:
            self._slow.add(source)
            raise
        finally:
            taken = time.thread_time() - begun
            self._spent += taken
            if taken > SLOW_SECONDS:
                self._slow.add(source)


def may_be_slow(source: str, text: str) -> bool:
    """Whether some text of this length can make a pattern slow."""
    return not compile_pattern(source, "pattern").is_surely_fast(text)
