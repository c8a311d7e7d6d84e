"""The index of a folder of task files in the cache, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tenbin.files.home import cache_directory
from tenbin.files.sealed import read_sealed, write_sealed

EntryKind = Literal["task", "group", "python", "own", "refused"]
"""A task, a group of tasks, a class in Python, a task file in tenbin's own format, or neither."""
Stamp = tuple[int, int]
"""Time of the last change in nanoseconds, and size."""
_FORMAT = 3
"""Of the cached file; raised when it holds something else, or the same files mean another."""
_RECENT = 2_000_000_000
"""Nanoseconds: a file that was written so shortly before it was read may have been written again
within the same tick of the clock, so its time does not show that it is unchanged."""


class Entry(NamedTuple):
    """One task file of a folder; a tuple, since thousands are made at every start."""

    name: str
    """Of the task or group; of the file where it has none."""
    kind: EntryKind
    path: str
    tags: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    """What a group's file lists directly."""
    reason: str = ""
    """Why it is refused."""


class Record(NamedTuple):
    """What the cache knows about one file: its entry, and what that was made of."""

    stamp: Stamp
    includes: tuple[str, ...]
    entry: Entry | None
    """None: a file that others include."""


def cache_file(root: str) -> Path | None:
    """Where the index of a folder lies; None where there is no home."""
    with suppress(RuntimeError):
        digest = hashlib.sha256(os.fsencode(root)).hexdigest()
        return cache_directory() / "task-index" / f"{digest[:32]}.json"
    return None


def read_cache(place: Path | None, root: str) -> tuple[dict[str, Record], dict[str, Stamp | None]]:
    """Records and stamps of included files; nothing where there is no cache that can be used."""
    if place is None:
        return {}, {}
    text = read_sealed(place, _seal(root))
    if text is None:
        return {}, {}
    stored = json.loads(text)
    paths = [path for path, _ in stored["includes"]]
    stamps = {path: stamp and (stamp[0], stamp[1]) for path, stamp in stored["includes"]}
    records = {}
    for below, time_ns, size, includes, entry in stored["files"]:
        path = root + below
        made = None
        if entry:
            name, kind, tags, members, reason = entry
            made = Entry(name, kind, path, tuple(tags), tuple(members), reason)
        included = tuple([paths[number] for number in includes])
        records[path] = Record((time_ns, size), included, made)
    return records, stamps


def stamp_of(path: str) -> Stamp | None:
    """Time and size of a file; None for one that is not there."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def _seal(root: str) -> str:
    return f"{_FORMAT} {root}"


def write_cache(
    place: Path | None,
    root: str,
    records: Mapping[str, Record],
    includes: Mapping[str, Stamp | None],
    started: int,
) -> None:
    """Store an index.

    Args:
        place: The file; None: nowhere.
        root: The folder that is indexed.
        records: What is known about each file.
        includes: Stamps of included files; None for those that are not there.
        started: When the files' stamps were read: what changed shortly before is left out.
    """
    if place is None:
        return
    recent = started - _RECENT
    numbers = {path: number for number, path in enumerate(includes)}
    files = [
        [
            path.removeprefix(root),
            *record.stamp,
            [numbers[one] for one in record.includes],
            _stored(record.entry),
        ]
        for path, record in records.items()
        if record.stamp[0] < recent
        if all((stamp := includes[one]) is None or stamp[0] < recent for one in record.includes)
    ]
    text = json.dumps({"includes": list(includes.items()), "files": files}, separators=(",", ":"))
    write_sealed(place, _seal(root), text)


def _stored(entry: Entry | None) -> Any:
    if entry is None:
        return None
    return [entry.name, entry.kind, entry.tags, entry.members, entry.reason]
