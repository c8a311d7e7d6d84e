"""RAM of a process: of the machine, and of the limits that a container or a shell has set on it.

A process that takes more than its container may have is ended without a word, whatever the machine
has free.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_FILES = {
    # Limit, use, and the name in memory.stat of file pages that are given back when wanted.
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""By controller: that of version 2 has no name."""


def free_ram() -> int | None:
    """Return the RAM in bytes that may still be taken; None if the system does not say."""
    free = [max(0, limit - used) for limit, used in _limits()]
    machine = _available()
    return min(free, default=None) if machine is None else min([machine, *free])


def all_ram() -> int | None:
    """Return the RAM in bytes that the process may have in all; None if the system does not say."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
    return min([whole, *(limit for limit, _ in _limits())])


def _available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def _limits() -> Iterator[tuple[int, int]]:
    """Yield each limit on the process's memory, and what is used of it."""
    yield from _address_space()
    for folder, names in _groups():
        limit, used, idle = names
        try:
            # "max" where there is no limit.
            most = int((folder / limit).read_text(encoding="ascii"))
            taken = int((folder / used).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        yield most, taken - _counted(folder / "memory.stat", idle)


def _groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Yield the control groups that the process is in, and the names of their files."""
    try:
        lines = _MEMBERSHIP.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            if controller in _FILES:
                place = Path(path.lstrip("/"))
                # Those above have limits too; in a container only the top one can be seen.
                for part in (place, *place.parents):
                    yield _CGROUPS / controller / part, _FILES[controller]


def _counted(file: Path, name: str) -> int:
    try:
        for line in file.read_text(encoding="ascii").splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    except (OSError, ValueError):
        pass
    return 0


def _address_space() -> Iterator[tuple[int, int]]:
    """Yield what `ulimit -v` has set, if anything."""
    try:
        # Not there on every system.
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError, ValueError, IndexError):
        return
    if limit != resource.RLIM_INFINITY:
        yield limit, pages * os.sysconf("SC_PAGE_SIZE")
