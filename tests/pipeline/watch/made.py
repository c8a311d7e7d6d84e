"""Folders of checkpoints as trainers write them, with weights of a few bytes; and a fake clock."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tenbin.errors import BackendError
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.watch.evaluation import Evaluated
from tenbin.pipeline.watch.training import Checkpoint

LONG_AGO = 1_000_000_000


def weights(value: int, names: tuple[str, ...] = ("w",)) -> bytes:
    """A safetensors file of one byte a tensor."""
    header = {
        name: {"dtype": "U8", "shape": [1], "data_offsets": [at, at + 1]}
        for at, name in enumerate(names)
    }
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes([value % 256] * len(names))


def age(folder: Path) -> None:
    """Stamp all files as written long ago."""
    for file in folder.iterdir():
        os.utime(file, (LONG_AGO, LONG_AGO))


def write_checkpoint(folder: Path, value: int = 1, shards: int = 1, old: bool = True) -> Path:
    """A checkpoint that lacks nothing."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if shards == 1:
        (folder / "model.safetensors").write_bytes(weights(value))
    else:
        names = [f"model-{at:05d}-of-{shards:05d}.safetensors" for at in range(1, shards + 1)]
        for at, name in enumerate(names):
            (folder / name).write_bytes(weights(value, (f"w{at}",)))
        index = {"weight_map": {f"w{at}": name for at, name in enumerate(names)}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    if old:
        age(folder)
    return folder


@dataclass
class Lines(Listener):
    """What was said."""

    said: list[str] = field(default_factory=list)

    def message(self, text: str) -> None:
        self.said.append(text)

    def about(self, text: str) -> list[str]:
        return [line for line in self.said if text in line]


@dataclass
class Time:
    """A clock that stands still until somebody sleeps."""

    moment: float = 0.0
    events: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    """What happens meanwhile."""

    def now(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += seconds
        due = [event for event in self.events if event[0] <= self.moment]
        self.events = [event for event in self.events if event[0] > self.moment]
        for _, happen in sorted(due, key=lambda event: event[0]):
            happen()


@dataclass
class FakeEvaluator:
    """Takes the bytes of the weights for their fingerprint."""

    clock: Time
    seconds: float = 10.0
    asked: list[str] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    faults: dict[str, list[Callable[[], None]]] = field(default_factory=dict)
    """Name of a checkpoint → what goes wrong at each attempt."""

    def evaluate(self, checkpoint: Checkpoint) -> Evaluated:
        folder = Path(str(checkpoint.arguments["pretrained"]))
        self.asked.append(checkpoint.name)
        self.clock.sleep(self.seconds)
        if own := self.faults.get(checkpoint.name):
            own.pop(0)()
        fingerprint = repr([file.read_bytes() for file in sorted(folder.glob("*.safetensors"))])
        file = Path(f"{checkpoint.name}.json")
        if fingerprint in self.known:
            return Evaluated(Path(self.known[fingerprint]), fingerprint, None)
        self.known[fingerprint] = file.name
        return Evaluated(file, fingerprint, object())  # type: ignore[arg-type]


def fails() -> None:
    raise BackendError("it cannot be loaded", "mend it")
