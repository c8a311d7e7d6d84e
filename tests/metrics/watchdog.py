"""End a test that hangs: far more time than it needs, so that a busy machine fails nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def watchdog(seconds: int = 60) -> Iterator[None]:
    """Raise TimeoutError in the test after so many seconds."""

    def bark(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
