"""Faults made on purpose: what shows that the fuzzer sees faults."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

from tenbin.errors import TenbinError
from tests.fuzz.target import Target

KINDS = ("fine", "raises", "long", "empty", "raw", "slow", "memory", "hangs", "dies")


class _UncleanError(TenbinError):
    """An error that goes around what every other one goes through."""

    def __init__(self, message: str) -> None:
        super().__init__("")
        self.message = message


def _make(rng: Random) -> bytes:
    return rng.choice(KINDS).encode() + b"." * rng.randrange(40)


def _check(data: bytes, folder: Path) -> None:
    text = data.decode()
    if "raises" in text:
        raise KeyError("planted")
    for kind, message in (("long", "long" * 9_000), ("empty", " "), ("raw", "a\x1b[0m")):
        if kind in text:
            raise _UncleanError(message)
    if "slow" in text:
        until = time.process_time() + 0.4
        while time.process_time() < until:
            pass
    if "memory" in text:  # every page of it is touched
        bytearray(400 << 20)[:: 1 << 12] = bytes((400 << 20) >> 12)
    if "hangs" in text:
        time.sleep(600)
    if "dies" in text:
        os.kill(os.getpid(), signal.SIGKILL)


TARGETS = (Target("planted", _make, _check, lambda: [b"fine"], seconds=0.3),)
