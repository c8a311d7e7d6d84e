"""sha256 hashes of files, kept between runs.

A file whose path, size, times and inode are unchanged is not read again. A large file of the hub's
cache need not be read at all: its name there is the hash that the hub publishes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from tenbin.errors import BackendError
from tenbin.files.atomic import write_atomically

_BLOCK = 1 << 22
_READERS = 8
"""Files read at a time: one core hashes about as fast as one disk reads."""
_SETTLED = 2 * 10**9
"""Nanoseconds after which another change would show in a file's times, on any file system."""
_FIRST_WORD, _NEXT_WORD = 2.0, 10.0
"""Seconds until the first progress message, and between further ones."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file's metadata."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    """Changes with every write, even if the modification time was restored afterwards."""
    inode: int


class FileHashes:
    """Hashes files, and remembers their hashes."""

    def __init__(
        self, folder: Path | None = None, notify: Callable[[str], None] | None = None
    ) -> None:
        """Name a folder; nothing is read yet.

        Args:
            folder: Where hashes are stored; None to store none.
            notify: Called with the progress, if hashing takes long.
        """
        self._folder = folder
        self._notify = notify
        self._known: dict[Stamp, str] = {}

    def of(self, files: Sequence[Path]) -> list[str]:
        """Return the sha256 of each file.

        Raises:
            BackendError: One cannot be read, or changes while it is.
        """
        found: dict[Path, str] = {}
        unknown: dict[Path, Stamp] = {}
        for file in dict.fromkeys(files):
            known = published_hash(file)
            if known is None:
                stamp = _stamp(file)
                known = self._known.get(stamp) or self._stored(stamp)
                if known is None:
                    unknown[file] = stamp
            if known is not None:
                found[file] = known
        if unknown:
            found |= self._read(unknown)
        return [found[file] for file in files]

    def _read(self, files: dict[Path, Stamp]) -> dict[Path, str]:
        """Hash files in parallel: hashlib releases the interpreter lock."""
        progress = _Progress(sum(stamp.size for stamp in files.values()), self._notify)
        count = min(_READERS, os.cpu_count() or 1, len(files))
        # The largest first, so that no thread is left with it alone.
        order = sorted(files, key=lambda file: -files[file].size)
        with ThreadPoolExecutor(count, "tenbin-digest") as readers:
            try:
                waiting = {readers.submit(_hashed, file, progress): file for file in order}
                left = set(waiting)
                while left:
                    _, left = wait(left, progress.patience())
                    progress.report()
                found = {file: future.result() for future, file in waiting.items()}
            finally:
                # Ctrl-C must not wait for the end of a large file.
                progress.stopped.set()
        for file, stamp in files.items():
            if _stamp(file) != stamp:
                raise BackendError(
                    f"{file} changed while it was read", "run again once it is complete"
                )
            self._known[stamp] = found[file]
            self._store(stamp, found[file])
        return found

    def _place(self, stamp: Stamp) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / f"{_sha256(stamp.path)[:32]}.json"

    def _stored(self, stamp: Stamp) -> str | None:
        place = self._place(stamp)
        if place is None:
            return None
        try:
            kept = json.loads(place.read_bytes())
            digest = kept["sha256"]
            if kept["stamp"] != asdict(stamp) or kept["check"] != _check(stamp, digest):
                return None
            return str(digest)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            # Whatever a damaged file holds: the weights are hashed again, and it is replaced.
            return None

    def _store(self, stamp: Stamp, digest: str) -> None:
        """Store a hash, one file each and replaced atomically, so that writers cannot clash."""
        place = self._place(stamp)
        if place is None or abs(time.time_ns() - stamp.mtime_ns) < _SETTLED:
            return
        kept = {"stamp": asdict(stamp), "sha256": digest, "check": _check(stamp, digest)}
        # If the folder cannot be written, the next start hashes the file again.
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, json.dumps(kept, indent=1) + "\n")


def published_hash(file: Path) -> str | None:
    """Return the hash under which the hub stores a large file, or None.

    The hub's cache holds links to files named by their hashes: large ones by their sha256, small
    ones by a shorter hash of git's, which is another kind.
    """
    if not file.is_symlink():
        return None
    target = file.resolve()
    is_blob = target.parent.name == "blobs" and target.is_file()
    return target.name if is_blob and _SHA256.fullmatch(target.name) else None


class _Progress:
    """How many bytes have been hashed of how many."""

    def __init__(self, total: int, notify: Callable[[str], None] | None) -> None:
        self.done = 0
        self.stopped = Event()
        self._total = total
        self._notify = notify
        self._next = time.monotonic() + _FIRST_WORD

    def patience(self) -> float:
        """Seconds until the next message is due."""
        return max(0.01, self._next - time.monotonic())

    def report(self) -> None:
        """Report the progress, if that is due."""
        if time.monotonic() < self._next or self._notify is None:
            return
        self._next = time.monotonic() + _NEXT_WORD
        done, total = self.done / 1e9, self._total / 1e9
        self._notify(f"hashing the model's weights, once: {done:.1f} of {total:.1f} GB")


def _hashed(file: Path, progress: _Progress) -> str:
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK))
    try:
        with file.open("rb", buffering=0) as stream:
            while (count := stream.readinto(block)) and not progress.stopped.is_set():
                digest.update(block[:count])
                # Threads may overwrite each other's sum: it is only for the message.
                progress.done += count
    except OSError as error:
        raise BackendError(f"{file} cannot be read: {error}", "check the model's files") from error
    return digest.hexdigest()


def _stamp(file: Path) -> Stamp:
    try:
        path = file.resolve()
        seen = path.stat()
    except OSError as error:
        raise BackendError(f"{file} cannot be read: {error}", "check the model's files") from error
    return Stamp(str(path), seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)


def _check(stamp: Stamp, digest: str) -> str:
    return _sha256(json.dumps([asdict(stamp), digest], sort_keys=True))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
