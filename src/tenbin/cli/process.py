"""The command `tenbin` as a process: runs it, and ends without taking everything apart.

At its end Python frees every module and object of torch and transformers one by one, which takes
most of a second that nobody has a use for. So the process does all that others rely on at its end,
and leaves the memory to the system.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from tenbin.cli import main


def run() -> NoReturn:
    """Run the command that the process was started with, and end the process."""
    code = main()
    # In Python's own order. What is not there under this name is done by Python's own exit.
    ends: list[Callable[[], None] | None] = [
        getattr(threading, "_shutdown", None),
        getattr(atexit, "_run_exitfuncs", None),
    ]
    for end in ends:
        if end is None:
            sys.exit(code)
        end()
    try:
        for stream in (sys.stdout, sys.stderr):
            # None where there is no such stream, closed where nobody reads it any more.
            if stream is not None and not stream.closed:
                stream.flush()
    except OSError:
        # As Python itself does it: a pipe that was closed early, or a full disk.
        sys.exit(code)
    os._exit(code)
