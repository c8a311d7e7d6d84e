"""The folder of a run: where it is, and the lock that keeps other runs out.

`--output_path result.json` writes that file and the folder `result.run` beside it; any other path
is a folder in which each run gets a folder of its own.

The operating system holds the lock, so that a killed process leaves none behind; the file says who
holds it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import socket
import weakref
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from glob import escape
from pathlib import Path, PurePath

from tenbin.errors import ConfigError
from tenbin.files.atomic import remove_abandoned
from tenbin.files.disk_errors import unwritten, writing

RESULT, SAMPLES, RUN_FILE = "result.json", "samples.parquet", "run.yaml"
REMEDY = "name another place with --output_path: all answers are kept in the journal"
BESIDE_RESULT = "result.run"
"""The folder of a run whose results were asked for as a file named result.json."""
_PARTIALS = ".*.partial"
_OF_ONE_RUN = ("sweep.json", "report.html")
"""Files that other commands put into the folder about the run that was there then."""
LOCK = ".lock"
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
"""What a file system says that cannot lock files."""


class FolderLock:
    """The right to write into a folder."""

    def __init__(self, folder: Path) -> None:
        """Take it.

        Raises:
            ConfigError: Another run has it, and lives.
            OSError: The folder cannot be written.
        """
        self._path = folder / LOCK
        self.supported = True
        """Whether the file system locks files; where it does not, nothing keeps others out."""
        self._handle: int | None = self._take()
        _held.add(self)

    def _take(self) -> int:
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _read(handle)
                os.close(handle)
                raise ConfigError(
                    f"{self._path.parent}: another run writes there{holder}",
                    "wait until it is over, stop it, or name another --output_path",
                ) from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    os.close(handle)
                    raise
                self.supported = False
            if self._is_current(handle):
                os.ftruncate(handle, 0)
                os.pwrite(handle, _signature(), 0)
                return handle
            os.close(handle)  # the run before has taken its file away: there is a new one by now

    def _is_current(self, handle: int) -> bool:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(handle)
        return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)

    def release(self) -> None:
        """Let others in; the file is taken away first, while nobody else can have it."""
        if self._handle is not None:
            with suppress(OSError):
                self._path.unlink()
            self.forget()

    def forget(self) -> None:
        """Close the file and leave it where it is."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


_held: weakref.WeakSet[FolderLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A forked process shares the lock: a child that outlives its parent would keep it.
    for lock in list(_held):
        lock.forget()


os.register_at_fork(after_in_child=_forget_in_child)


def _signature() -> bytes:
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    return json.dumps(owner).encode()


def _read(handle: int) -> str:
    """Who holds it, as far as the file says."""
    try:
        owner = json.loads(os.pread(handle, 1000, 0))
        return f": process {owner['pid']} on {owner['host']}, since {owner['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    path: Path
    result_file: Path
    """Where the user asked for result.json; the folder has one too."""
    lock: FolderLock | None = None
    """Keeps other runs out; None: nobody was kept out."""


def run_name(path: str | PurePath) -> str:
    """What the user called a run: `small` for small.json, small.run and small/result.json."""
    place = PurePath(path)
    place = place.parent if place.name in (RESULT, BESIDE_RESULT) else place
    return place.stem if place.suffix in (".json", ".run") else place.name


def numbered_names(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that several runs have."""
    counts, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if counts[name] > 1 else name)
    return found


def is_run(folder: Path) -> bool:
    """Whether a folder holds a finished run itself, and no mere copy of the result of one in it."""
    if not os.path.lexists(folder / RESULT):
        return False
    copied = os.path.lexists(folder / BESIDE_RESULT / RESULT)
    return not copied or os.path.lexists(folder / SAMPLES)


def choose_folder(output_path: str | None, model: str, stamp: str) -> RunFolder:
    """Decide where a run goes and take the place, before any work is done.

    What dead processes left there half written is taken away.

    Args:
        output_path: What the user said: a .json file, a folder, or nothing.
        model: Names a folder of its own among others.
        stamp: The run's time, as text.

    Raises:
        ConfigError: The place cannot be written, or another run writes there.
    """
    wanted = Path(output_path) if output_path else Path("runs")
    try:
        if wanted.suffix == ".json":
            path, result_file = wanted.with_suffix(".run"), wanted
            path.mkdir(parents=True, exist_ok=True)
        else:
            path = _own_folder(wanted, model, stamp)
            result_file = path / RESULT
        if result_file.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(result_file))
        lock = FolderLock(path)
        remove_abandoned(path, _PARTIALS)
        remove_abandoned(result_file.parent, f".{escape(result_file.name)}.*.partial")
    except OSError as error:
        failed = unwritten(wanted, error, "name another place with --output_path")
        raise ConfigError(f"--output_path: {failed.message}", failed.hint) from error
    return RunFolder(path, result_file, lock)


def _own_folder(place: Path, model: str, stamp: str) -> Path:
    """A new folder among others; two runs that begin in the same second get two."""
    name = re.sub(r"[^\w.-]+", "-", Path(model).name).strip("-") or "model"
    place.mkdir(parents=True, exist_ok=True)
    remove_abandoned(place, f"*/{_PARTIALS}")
    number = 1
    while True:
        path = place / (f"{stamp}-{name}" + (f"-{number}" if number > 1 else ""))
        try:
            path.mkdir()
            return path
        except FileExistsError:
            number += 1


def leave_folder(folder: RunFolder) -> None:
    """Let others in; a folder that holds nothing, because the run never began, is taken away."""
    if folder.lock is not None:
        folder.lock.release()
    with suppress(OSError):
        folder.path.rmdir()


def discard_reports(folder: RunFolder) -> None:
    """Take away what was made of another run that was kept here."""
    with writing(folder.path, REMEDY):
        for name in _OF_ONE_RUN:
            (folder.path / name).unlink(missing_ok=True)
