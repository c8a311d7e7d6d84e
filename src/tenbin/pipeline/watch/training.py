"""Where the checkpoints of a training are looked for: a folder, or revisions of a repository."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from tenbin.backends.checkpoint.training_state import training_step
from tenbin.errors import BackendError, ConfigError
from tenbin.pipeline.watch.completeness import Listing, is_adapter, missing_part
from tenbin.records.training_step import step_in_name

STILL_WRITTEN = "its files may still be written"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that can be evaluated."""

    name: str
    """Its folder or revision."""
    step: int
    arguments: Mapping[str, Any]
    """Of the model: what names this checkpoint."""
    listing: Listing | None = None
    """Its files; None for a revision, whose files never change."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was there at one moment."""

    ready: tuple[Checkpoint, ...] = ()
    """By step."""
    waiting: Mapping[str, str] = field(default_factory=dict)
    """Name of a checkpoint that is not complete → what it lacks."""
    without_step: tuple[str, ...] = ()
    """Names that match the pattern and contain no step."""


class Training(Protocol):
    """Where checkpoints appear."""

    name: str

    def look(self) -> Look:
        """The checkpoints that are there now."""
        ...

    def unchanged(self, checkpoint: Checkpoint) -> bool | None:
        """Whether a checkpoint is still what it was; None if it is gone."""
        ...


class FolderTraining:
    """A folder in which a trainer leaves a folder for each checkpoint."""

    def __init__(
        self,
        root: Path,
        patterns: Sequence[str] = (),
        settle: float = 20.0,
        base: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Look nowhere yet.

        Args:
            root: The folder.
            patterns: What checkpoints are called; by default every name with a step in it.
            settle: Seconds that files must have been left alone.
            base: The model of adapters.
            clock: The time in seconds, by the clock that files are stamped with.

        Raises:
            ConfigError: There is no such folder.
        """
        if not root.is_dir():
            raise ConfigError(f"{root}: no such folder", "name the folder of a training")
        self.name = root.resolve().name or str(root)
        self._root, self._patterns, self._base = root, patterns, base
        self._settle, self._clock = settle, clock
        self._seen: dict[str, tuple[Listing, float]] = {}
        """Name → its files, and since when they are the same."""

    def look(self) -> Look:
        """The checkpoints that are there now.

        Raises:
            ConfigError: The training's folder is gone, or a checkpoint is no adapter and a base
                model was named.
        """
        try:
            folders = sorted(entry for entry in self._root.iterdir() if entry.is_dir())
        except OSError as error:
            raise ConfigError(
                f"{self._root}: cannot be looked at: {error.strerror}", "check the path"
            ) from error
        ready, waiting, without = [], {}, []
        for folder in folders:
            if not self._matches(folder.name):
                continue
            step = self._step(folder)
            if step is None:
                without.append(folder.name)
                continue
            try:
                found = self._checkpoint(folder, step)
            except OSError:
                self._seen.pop(folder.name, None)
                continue  # removed while it was looked at
            if isinstance(found, str):
                waiting[folder.name] = found
            else:
                ready.append(found)
        return Look(tuple(sorted(ready, key=lambda one: one.step)), waiting, tuple(without))

    def unchanged(self, checkpoint: Checkpoint) -> bool | None:
        """Whether the files are those that were there; None if the folder is gone."""
        try:
            return Listing.of(self._root / checkpoint.name) == checkpoint.listing
        except OSError:
            return None

    def _matches(self, name: str) -> bool:
        if self._patterns:
            return any(fnmatchcase(name, pattern) for pattern in self._patterns)
        return not name.startswith((".", "tmp")) and step_in_name(name) is not None

    def _step(self, folder: Path) -> int | None:
        """By the name, by the trainer's state, or by the last number of a name that a pattern
        matches."""
        for step in (step_in_name(folder.name), training_step(folder)):
            if step is not None:
                return step
        numbers = _NUMBER.findall(folder.name)
        return int(numbers[-1]) if numbers else None

    def _checkpoint(self, folder: Path, step: int) -> Checkpoint | str:
        listing = Listing.of(folder)
        lacks = missing_part(folder)
        known, since = self._seen.get(folder.name, (None, 0.0))
        now = self._clock()
        if known != listing:
            since = now
            self._seen[folder.name] = listing, now
        if lacks is not None:
            return lacks
        # Old by its own stamps, or the same for long enough here: clocks of machines differ.
        if now - since < self._settle and now - listing.changed < self._settle:
            return STILL_WRITTEN
        return Checkpoint(folder.name, step, self._arguments(folder), listing)

    def _arguments(self, folder: Path) -> dict[str, Any]:
        if is_adapter(folder):
            return {"peft": str(folder)} if self._base else {"peft": str(folder), **_base(folder)}
        if self._base is not None:
            raise ConfigError(
                f"{folder} holds a whole model, and --model_args names pretrained={self._base}",
                "leave pretrained out: it is the base model of checkpoints that are adapters",
            )
        return {"pretrained": str(folder)}


def _base(folder: Path) -> dict[str, str]:
    """The base model that an adapter names itself."""
    import json

    named = json.loads((folder / "adapter_config.json").read_bytes()).get("base_model_name_or_path")
    if not named:
        raise ConfigError(
            f"{folder}: an adapter that names no base model", "--model_args pretrained=BASE"
        )
    return {"pretrained": str(named)}


class HubTraining:
    """A repository on the hub whose revisions are checkpoints, such as `step1000`."""

    def __init__(self, id: str, patterns: Sequence[str] = ()) -> None:
        """Look nowhere yet.

        Args:
            id: The repository.
            patterns: What revisions are called; by default every name with a step in it.
        """
        self.name = id.rpartition("/")[2]
        self._id, self._patterns = id, patterns

    def look(self) -> Look:
        """The revisions that are there now.

        Raises:
            BackendError: The hub does not answer, or has no such repository.
        """
        from huggingface_hub import HfApi

        try:
            refs = HfApi().list_repo_refs(self._id)
        except Exception as error:  # the library raises those of its HTTP client, too
            raise BackendError(
                f"{self._id}: no folder here, and its revisions cannot be listed on the hub: "
                f"{str(error).splitlines()[0] if str(error) else type(error).__name__}",
                "check the name, the network and HF_HUB_OFFLINE",
            ) from error
        names = dict.fromkeys(ref.name for ref in (*refs.branches, *refs.tags))
        ready, without = [], []
        for name in names:
            if self._patterns and not any(fnmatchcase(name, one) for one in self._patterns):
                continue
            step = step_in_name(name)
            if step is None and self._patterns:
                numbers = _NUMBER.findall(name)
                step = int(numbers[-1]) if numbers else None
                if step is None:
                    without.append(name)
            if step is not None:
                ready.append(Checkpoint(name, step, {"pretrained": self._id, "revision": name}))
        return Look(tuple(sorted(ready, key=lambda one: one.step)), {}, tuple(without))

    def unchanged(self, checkpoint: Checkpoint) -> bool | None:
        """A revision that was listed stays."""
        return True


def open_training(
    given: str, patterns: Sequence[str], settle: float, base: str | None
) -> FolderTraining | HubTraining:
    """The folder or the repository that a user names.

    Raises:
        ConfigError: It is neither.
    """
    root = Path(given).expanduser()
    if root.is_dir() or not _HUB_ID.fullmatch(given):
        return FolderTraining(root, patterns, settle, base)
    if base is not None:
        raise ConfigError(
            f"{given} is a repository on the hub, and --model_args names pretrained={base}",
            "leave pretrained out",
        )
    return HubTraining(given, patterns)
