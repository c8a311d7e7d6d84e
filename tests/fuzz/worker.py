"""The process that tries inputs: one target after the other, with findings on its output.

It writes down which input it is at, so that whoever started it can tell what it hung or died on.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.minimising import minimised
from tests.fuzz.target import Target, input_at
from tests.fuzz.verdict import judge

STATE = struct.Struct("<qqd")
"""The number of the target, of the input, and when it was begun, by a clock that never jumps."""
_ROOM = 6 << 30
"""Bytes of address space beyond what a worker begins with."""
_BETWEEN = 200
"""Inputs between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker is to do."""

    targets: tuple[str, ...]
    seed: int
    first: int
    """The number of the first input of the first target; others begin at 0."""
    inputs: int | None
    """Inputs of each target, by the target's share; None: as many as there is time for."""
    seconds: float | None
    """For each target, by its share."""
    folder: str
    """The worker's own: with the files `state`, which says where it is, and `input`, which holds
    the input that it is at."""


def main() -> None:
    """Do the work that stands in the first line of the input."""
    from tests.fuzz.targets import find_targets

    work = Work(**json.loads(sys.stdin.readline()))
    _limit_memory()
    place = Path(work.folder) / "files"
    place.mkdir()
    state_file = Path(work.folder) / "state"
    with state_file.open("r+b") as file, mmap.mmap(file.fileno(), STATE.size) as state:
        for number, target in enumerate(find_targets(work.targets)):
            first = work.first if number == 0 else 0
            note = _noting(state, number)
            for line in _try_inputs(target, work, first, place, note):
                print(json.dumps(line), flush=True)


def _noting(state: mmap.mmap, number: int) -> Callable[[int], None]:
    def note(index: int) -> None:
        # At once: `pack_into` writes zeros first, which a reader would take for ages ago.
        state[: STATE.size] = STATE.pack(number, index, time.monotonic())

    return note


def _limit_memory() -> None:
    """An input that would take all memory ends in a MemoryError, and not the machine."""
    own = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (own + _ROOM, own + _ROOM))


def _try_inputs(
    target: Target, work: Work, first: int, folder: Path, note: Callable[[int], None]
) -> Iterator[Mapping[str, Any]]:
    """Yield findings, each place once, and counts now and then."""
    until = time.monotonic() + (work.seconds or float("inf")) * target.share
    last = int(work.inputs * target.share) if work.inputs is not None else None
    seen: dict[str, int] = {}
    counts = {"accepted": 0, "refused": 0, "finding": 0}
    index, began, given = first, time.monotonic(), Path(work.folder) / "input"
    while last is None or index < last:
        note(index)
        data = input_at(target, work.seed, index)
        given.write_bytes(data)
        verdict = judge(target, data, folder)
        counts[verdict.kind] += 1
        if verdict.kind == "finding":
            seen[verdict.place] = seen.get(verdict.place, 0) + 1
            if seen[verdict.place] == 1:
                small = minimised(target, data, verdict, folder, lambda at=index: note(at))
                yield {
                    "target": target.name, "index": index, **asdict(verdict), "input": small.hex(),
                }  # fmt: skip
        index += 1
        if index % _BETWEEN == 0:
            yield _counted(target, index, counts, began)
            if time.monotonic() > until:
                break
    yield _counted(target, index, counts, began)


def _counted(
    target: Target, index: int, counts: Mapping[str, int], began: float
) -> Mapping[str, Any]:
    took = time.monotonic() - began
    return {"target": target.name, "next": index, "counts": dict(counts), "seconds": took}


if __name__ == "__main__":
    main()
