"""vLLM's processes: where they write, why they failed, and that none is left behind.

vLLM starts processes of its own. They would write to the terminal, so their output goes to a file,
from which the cause of a failure is read: the error that reaches this process only says to look
above. A process that is killed neither removes its file nor ends its children, so the next start
removes files that no process holds, and a guard ends an engine whose parent is gone.
"""

from __future__ import annotations

import fcntl
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from pathlib import Path
from typing import TextIO

_CAUSE = re.compile(r"\b(\w*(?:Error|Exception|OutOfMemory\w*)): (.+)")
_EMPTY = ("Engine core initialization failed", "EngineCore encountered", "WorkerProc init")
"""Messages that only say that there was another error."""
_QUIET = "ERROR"
_VERBOSE = os.environ.get("VLLM_LOGGING_LEVEL", _QUIET) != _QUIET
"""Whether the user asked vLLM for its log; a parent process of ours passes its own level on."""
_PIECE = 1 << 18
"""Bytes from the end of a log that are searched."""


@contextmanager
def quiet_import() -> Iterator[None]:
    """Import vLLM without output, unless the user set VLLM_LOGGING_LEVEL."""
    # Its processes read this too: errors are still written to their log.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", _QUIET)
    with nullcontext() if _VERBOSE else redirect_stderr(io.StringIO()):
        yield


@contextmanager
def children_write_to(log: Path) -> Iterator[None]:
    """Send the output of processes that are started in the block to a file.

    This process keeps its own output: its streams move to copies of the descriptors, since a
    progress bar may be drawn meanwhile.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    copies = {number: os.dup(number) for number in (1, 2)}
    streams = {"stdout": sys.stdout, "stderr": sys.stderr}
    moved: list[TextIO] = []
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for name, number in (("stdout", 1), ("stderr", 2)):
            if _is_on(streams[name], number):
                moved.append(os.fdopen(copies[number], "w", buffering=1, closefd=False))
                setattr(sys, name, moved[-1])
            os.dup2(file, number)
        yield
    finally:
        for stream in moved:
            stream.flush()
        sys.stdout, sys.stderr = streams["stdout"], streams["stderr"]
        for number, copy in copies.items():
            os.dup2(copy, number)
            os.close(copy)
        os.close(file)


def cause_of(error: BaseException, log: Path) -> str:
    """The cause of an error on one line: its own message, or what its process wrote before it."""
    said = str(error).strip()
    if not said or any(words in said for words in _EMPTY):
        found = [match for match in _CAUSE.finditer(_end_of(log)) if _is_cause(match[0])]
        # The first error is the one that the others follow from.
        return found[0][0].strip() if found else said or type(error).__name__
    value = re.search(r"Value error, (.+?)(?: \[type=|$)", said)
    return value[1] if value else said.splitlines()[0]


def _is_cause(line: str) -> bool:
    return not any(words in line for words in _EMPTY)


def _end_of(log: Path) -> str:
    with suppress(OSError), log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _PIECE))
        return stream.read().decode(errors="replace")
    return ""


def _is_on(stream: TextIO, number: int) -> bool:
    try:
        return stream.fileno() == number
    except (OSError, ValueError, AttributeError):
        return False


_PREFIX, _SUFFIX = "tenbin-vllm-", ".log"
_KEPT = f"{_PREFIX}failed-"


class Log:
    """The log file of one engine, locked while the process uses it."""

    def __init__(self) -> None:
        """Create the file, and remove those that killed processes of this user left behind."""
        remove_leftovers()
        while True:
            self._handle, name = tempfile.mkstemp(_SUFFIX, _PREFIX)
            self.path = Path(name)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            if self.path.exists():
                return
            # Another start removed it as a leftover before it was locked.
            os.close(self._handle)

    def keep(self) -> Path:
        """Keep the file for the user, under a name that no later start removes."""
        if not self.path.name.startswith(_KEPT):
            kept = self.path.with_name(_KEPT + self.path.name.removeprefix(_PREFIX))
            with suppress(OSError):
                self.path = self.path.rename(kept)
        return self.path

    def close(self) -> None:
        """Remove the file, unless it is kept."""
        if not self.path.name.startswith(_KEPT):
            self.path.unlink(missing_ok=True)
        os.close(self._handle)


def remove_leftovers() -> None:
    """Remove files that no process holds; kept ones stay."""
    for file in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_SUFFIX}"):
        if not file.name.startswith(_KEPT):
            # Another user's, already gone, or still in use.
            with suppress(OSError):
                _remove_unless_held(file)


def _remove_unless_held(file: Path) -> None:
    handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if os.fstat(handle).st_uid == os.getuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.unlink()
    finally:
        os.close(handle)


_WAIT_THEN_END = 'read word && exit 0; kill -TERM "$@"; sleep 10; kill -KILL "$@"'
"""Exits after a line from the parent; the end of the pipe without one means that it is gone."""


class Guard:
    """A shell that ends processes if this one ends without dismissing it.

    An engine that is left behind would keep its GPU. The shell waits for the end of a pipe that
    only this process holds.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        """Start the shell.

        Args:
            pids: The processes to end.
        """
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT_THEN_END, "sh", *map(str, pids)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Signals to all processes of a terminal or a job must not reach it.
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """End the shell: the processes have ended."""
        assert self._shell.stdin is not None
        with suppress(BrokenPipeError):
            self._shell.stdin.write(b"done\n")
            self._shell.stdin.close()
        self._shell.wait()
