"""Whether a folder holds a whole checkpoint, or one that is still being written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tenbin.backends.checkpoint.fingerprint import weight_files
from tenbin.backends.checkpoint.integrity import check_folder
from tenbin.errors import BackendError

ADAPTER, MODEL = "adapter_config.json", "config.json"
_SHARD = re.compile(r"(.*)-(\d+)-of-(\d+)(\.\w+)")
_OF_THE_TRAINER = ("optimizer", "scheduler", "rng_state", "scaler", "training_args")
"""What files of a trainer's own state begin with: no weights of a model."""
_MOST_NAMED = 2


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder at one moment."""

    files: tuple[tuple[str, int, int], ...]
    """Name, bytes, and when it was changed, in nanoseconds."""

    @classmethod
    def of(cls, folder: Path) -> Listing:
        """The files that are there now.

        Raises:
            OSError: The folder is gone.
        """
        found = []
        for entry in sorted(folder.iterdir()):
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue  # a temporary file, gone by now
            if entry.is_file():
                found.append((entry.name, status.st_size, status.st_mtime_ns))
        return cls(tuple(found))

    @property
    def changed(self) -> float:
        """When the last file was changed, in seconds; 0 without files."""
        return max((changed for *_, changed in self.files), default=0) / 1e9


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter instead of a whole model."""
    return (folder / ADAPTER).is_file() and not (folder / MODEL).is_file()


def missing_part(folder: Path) -> str | None:
    """What a checkpoint lacks; None if nothing does.

    Raises:
        OSError: The folder is gone.
    """
    if not (folder / MODEL).is_file() and not (folder / ADAPTER).is_file():
        next(folder.iterdir(), None)  # a folder that is gone is no incomplete one
        return f"no {MODEL} yet"
    try:
        wanted = set(_indexed(folder))
    except (ValueError, AttributeError):
        return "its index of weights is not whole yet"
    names = {entry.name for entry in folder.iterdir()}
    lacking = sorted((wanted | _numbered(names)) - names)
    if lacking:
        more = f" and {len(lacking) - _MOST_NAMED} more" if len(lacking) > _MOST_NAMED else ""
        return f"weights are missing: {', '.join(lacking[:_MOST_NAMED])}{more}"
    if not any(not file.name.startswith(_OF_THE_TRAINER) for file in weight_files(folder)):
        return "no weights yet"
    try:
        check_folder(folder)
    except BackendError as error:
        return error.message.removeprefix(f"{folder}: ")
    return None


def _indexed(folder: Path) -> Iterator[str]:
    """The files that indexes of weights name."""
    for index in sorted(folder.glob("*.index.json")):
        mapping = json.loads(index.read_bytes())["weight_map"] if index.is_file() else {}
        if not isinstance(mapping, Mapping):
            raise ValueError("no mapping")
        yield from (str(name) for name in mapping.values())


def _numbered(names: set[str]) -> set[str]:
    """All files of a series of which one is there: model-00001-of-00003.safetensors, and the index
    that names the tensors of each."""
    wanted = set()
    for name in names:
        if (found := _SHARD.fullmatch(name)) is not None:
            stem, number, count, ending = found.groups()
            digits = len(number)
            wanted |= {
                f"{stem}-{at:0{digits}d}-of-{count}{ending}" for at in range(1, int(count) + 1)
            }
            wanted.add(f"{stem}{ending}.index.json")
    return wanted
