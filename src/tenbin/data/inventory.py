"""Where the rows of a split lie or would have to lie, without reading them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tenbin.data.load import pinned_splits
from tenbin.data.sources.cache import cache_place, cached_files
from tenbin.data.sources.choice import DataChoice
from tenbin.data.sources.pinned import find_files, own_place
from tenbin.data.sources.places import (
    FORMATS,
    Places,
    is_remote,
    names_of_split,
    published_paths,
    split_folders,
)
from tenbin.errors import DataError
from tenbin.files.home import expanded
from tenbin.records import Dataset

Origin = Literal["catalogue", "hub", "files", "function"]
"""Where rows come from: a set of tenbin's catalogue, the hub or an address, files that the task
file names, or a function of the task."""
NO_FOLDER = Path("DIR")
"""Stands for the folder that `--data_dir` would name."""


@dataclass(frozen=True, slots=True)
class SplitPlace:
    """A split and where its rows are."""

    dataset: Dataset
    split: str
    origin: Origin
    places: tuple[Path, ...]
    """Where its files are looked for first; several if they are read together."""
    found: tuple[Path, ...] = ()
    """The files that a run would read; empty: they are not here."""
    problem: str = ""
    """Why they cannot be read, where a file is named that may not be or does not exist."""


def locate(dataset: Dataset, split: str, choice: DataChoice) -> SplitPlace:
    """Return where a split lies. Nothing is read, downloaded or run."""
    if dataset.custom_dataset is not None:
        return SplitPlace(dataset, split, "function", ())
    try:
        return (_locate_pinned if dataset.pinned else _locate_other)(dataset, split, choice)
    except DataError as error:
        origin: Origin = "catalogue" if dataset.pinned else "files"
        return SplitPlace(dataset, split, origin, (), problem=error.message)


def _locate_pinned(dataset: Dataset, split: str, choice: DataChoice) -> SplitPlace:
    pinned, equal, _ = pinned_splits(dataset, split, choice)
    if choice.data_dir is None:
        if not equal[0].files:
            return SplitPlace(dataset, split, "catalogue", (own_place(equal[0], NO_FOLDER),))
        found = cached_files(equal, choice.cache_dir)
        return SplitPlace(
            dataset, split, "catalogue", (cache_place(equal[0], choice.cache_dir),), found
        )
    folder = expanded(choice.data_dir)
    try:
        found = find_files(pinned, equal, folder)
    except DataError:
        found = ()
    return SplitPlace(dataset, split, "catalogue", (own_place(equal[0], folder),), found)


def _locate_other(dataset: Dataset, split: str, choice: DataChoice) -> SplitPlace:
    places = Places(dataset, choice)
    base = NO_FOLDER if choice.data_dir is None else expanded(choice.data_dir)
    if dataset.name in FORMATS and not is_remote(dataset):
        own = base if choice.data_dir is not None else Path(dataset.folder or ".")
        wanted = tuple(own / name for name in names_of_split(dataset, split)[0])
        try:
            found, _ = places.named_files(split)
        except DataError as error:
            return SplitPlace(dataset, split, "files", wanted, problem=error.message)
        return SplitPlace(dataset, split, "files", wanted, tuple(found))
    names = [*published_paths(dataset, split).values()]
    names = names or [split_folders(dataset)[0] / f"{split}.jsonl"]
    found, _ = places.folder_files(split)
    return SplitPlace(dataset, split, "hub", tuple(base / name for name in names), tuple(found))
