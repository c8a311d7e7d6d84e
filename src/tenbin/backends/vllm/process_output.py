"""Where vLLM's processes write: into a file, from which the cause of a failure is read.

vLLM starts processes of its own, which write to the terminal as they please, and when one of them
fails the error that reaches us says only to look above. Knows file descriptors and log lines;
knows no engine.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from pathlib import Path
from typing import TextIO

_CAUSE = re.compile(r"\b(\w*(?:Error|Exception|OutOfMemory\w*)): (.+)")
_EMPTY = ("Engine core initialization failed", "EngineCore encountered", "WorkerProc init")
"""Errors that only say that there was another one."""
_QUIET = "ERROR"
_HEARD = os.environ.get("VLLM_LOGGING_LEVEL", _QUIET) != _QUIET
"""Whether somebody asked vLLM to speak; a process of ours hands its own wish for quiet on."""
_PIECE = 1 << 18
"""Bytes from the end of a log that are searched."""


@contextmanager
def quiet_import() -> Iterator[None]:
    """Let vLLM be imported without a word; whoever sets VLLM_LOGGING_LEVEL lower hears it."""
    # Its processes read this too: what is an error is still written down.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", _QUIET)
    with nullcontext() if _HEARD else redirect_stderr(io.StringIO()):
        yield


@contextmanager
def children_write_to(log: Path) -> Iterator[None]:
    """Give processes that are started inside this file as their output.

    This process goes on writing where it did: its own streams are laid on copies of the
    descriptors, since a progress bar may be drawn meanwhile.
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
    """What went wrong in one line: what the error says, or what its process wrote before it."""
    said = str(error).strip()
    if not said or any(words in said for words in _EMPTY):
        found = [match for match in _CAUSE.finditer(_end_of(log)) if _tells(match[0])]
        # The first of the last traceback's errors is the one that the others follow from.
        return found[0][0].strip() if found else said or type(error).__name__
    value = re.search(r"Value error, (.+?)(?: \[type=|$)", said)
    return value[1] if value else said.splitlines()[0]


def _tells(line: str) -> bool:
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
