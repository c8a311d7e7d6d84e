"""What runs are called beside each other: by their model, and by their folder where that is not
enough."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tenbin.errors import ConfigError
from tenbin.results.schema import RunResult

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def hub_id(result: RunResult) -> str | None:
    """The model's id if it has the form of one on the hub, `organisation/model`; otherwise None.

    A folder such as `models/small` has that form too, but no revision.
    """
    folder = result.model.get("revision", "") is None
    return None if folder or not _HUB_ID.fullmatch(result.model_name) else result.model_name


def short_name(place: str) -> str:
    """A model without the folder that it lies in; an id on the hub stays whole."""
    return place if _HUB_ID.fullmatch(place) else Path(place).name or place


def model_label(result: RunResult) -> str:
    """What the model of a run is called, without its folder."""
    return hub_id(result) or Path(result.model_name).name or result.model_name


def name_runs(
    runs: Sequence[tuple[Path | None, RunResult]], names: Sequence[str] = ()
) -> list[str]:
    """A name for every run, each different from all others.

    Args:
        runs: Folder and result of each run; None for a run that was not stored.
        names: Names from the user, one for each run; empty if there are none.

    Returns:
        The user's names; otherwise the model's name, with that of the run's folder behind it where
        several runs are of models of one name.

    Raises:
        ConfigError: The number of names is wrong, two are equal, or a run is named twice.
    """
    if names:
        return _given_names(names, len(runs))
    labels = [model_label(result) for _, result in runs]
    known = Counter(labels)
    places = [None if path is None else path.resolve() for path, _ in runs]
    found = [
        label if known[label] == 1 else f"{label} ({_folder(place, places)})"
        for label, place in zip(labels, places, strict=True)
    ]
    twice = [name for name, count in Counter(found).items() if count > 1]
    if twice:
        raise ConfigError(
            f"two runs are called {twice[0]!r}", "name each run once, or give them names: --names"
        )
    return found


def _given_names(names: Sequence[str], count: int) -> list[str]:
    if len(names) != count:
        raise ConfigError(
            f"--names has {len(names)} names for {count} runs", "give one name for each run"
        )
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise ConfigError(f"--names: {twice[0]!r} stands for two runs", "give each its own name")
    return list(names)


def _folder(place: Path | None, places: Sequence[Path | None]) -> str:
    """The end of a path that no other path ends in."""
    if place is None:
        return "not stored"
    others = [one for one in places if one is not None and one != place]
    for length in range(1, len(place.parts)):
        end = place.parts[-length:]
        if all(other.parts[-length:] != end for other in others):
            return "/".join(end).removesuffix(".run")
    return str(place)
