"""Ends vLLM's processes when this one is gone without having ended them.

A process that is killed ends none of its children, and an engine that is left behind keeps its
GPU. So a small shell waits for the end of a pipe that only this process holds. Knows process ids;
knows no engine.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress

_WAIT_THEN_END = 'read word && exit 0; kill -TERM "$@"; sleep 10; kill -KILL "$@"'
"""A word means that all is well; the pipe's end without one that nobody is there to say it."""


class Guard:
    """Waits for the end of this process."""

    def __init__(self, pids: Sequence[int]) -> None:
        """Begin to wait.

        Args:
            pids: The processes that may not stay behind.
        """
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT_THEN_END, "sh", *map(str, pids)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # What is sent to all processes of a terminal or a job must not reach it.
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """The processes have been ended: nothing is left to wait for."""
        assert self._shell.stdin is not None
        with suppress(BrokenPipeError):
            self._shell.stdin.write(b"done\n")
            self._shell.stdin.close()
        self._shell.wait()
