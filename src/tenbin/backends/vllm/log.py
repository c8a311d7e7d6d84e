"""The file that vLLM's processes write to: there while it is of use, kept where they failed.

A process that is killed cannot remove its own, so the next start does. Whoever uses a file holds a
lock on it, which ends with the process, however it ends and whatever number it had. Knows no
engine.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX, _SUFFIX = "tenbin-vllm-", ".log"
_KEPT = f"{_PREFIX}failed-"


class Log:
    """One run's file."""

    def __init__(self) -> None:
        """Make the file, and remove those that killed processes of this user left behind."""
        remove_leftovers()
        while True:
            self._handle, name = tempfile.mkstemp(_SUFFIX, _PREFIX)
            self.path = Path(name)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            if self.path.exists():
                return
            # Another start took it for a leftover before it was locked.
            os.close(self._handle)

    def keep(self) -> Path:
        """Leave the file to the user, under a name that no later start removes."""
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
    """Remove files that nobody holds any more; kept ones stay."""
    for file in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_SUFFIX}"):
        if not file.name.startswith(_KEPT):
            # Of another user, gone meanwhile, or still in use: none of these is ours to remove.
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
