"""What became of each checkpoint, and the file that says so: watch.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from tenbin.files.disk_errors import write_output
from tenbin.pipeline.watch.completeness import Listing

State = Literal["waiting", "ready", "put off", "evaluated", "same", "failed", "removed"]
FILE = "watch.json"


@dataclass(slots=True)
class Entry:
    """One checkpoint."""

    name: str
    step: int | None
    """None until it is complete."""
    state: State
    reason: str = ""
    """What it lacks, why it failed, or which checkpoint has the same weights."""
    run: str = ""
    """Its result, beside this file."""
    attempts: int = 0
    """That failed, since its files are what they are."""
    again: float = 0.0
    """When it is tried again, on the clock of the loop."""
    listing: Listing | None = None
    """Its files when it was last evaluated or tried."""

    @property
    def is_open(self) -> bool:
        """Whether it can be evaluated."""
        return self.state in ("ready", "put off")


@dataclass(slots=True)
class Book:
    """All checkpoints that were seen."""

    entries: dict[str, Entry] = field(default_factory=dict)
    """By name."""

    def of(self, *states: State) -> list[Entry]:
        """The checkpoints in one of these states, by step."""
        found = [one for one in self.entries.values() if one.state in states]
        return sorted(found, key=lambda one: (one.step is None, one.step or 0, one.name))

    def done_steps(self) -> set[int]:
        """Steps that have a run."""
        return {one.step for one in self.of("evaluated", "same") if one.step is not None}

    def write(self, folder: Path, training: str) -> None:
        """Write watch.json.

        Raises:
            StorageError: It cannot be written.
        """
        document = {"training": training, "checkpoints": list(self._rows())}
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        write_output(folder / FILE, text, "name another folder with --output_path")

    def _rows(self) -> Iterator[dict[str, object]]:
        shown = ("name", "step", "state", "reason", "run", "attempts")
        for one in sorted(self.entries.values(), key=lambda e: (e.step is None, e.step or 0)):
            entry = asdict(one)
            yield {name: entry[name] for name in shown if entry[name] or name in ("name", "step")}
