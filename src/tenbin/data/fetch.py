"""Bring a split to where a run reads it, for machines that compute without a network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tenbin.data.inventory import SplitPlace
from tenbin.data.load import pinned_splits
from tenbin.data.readers.tables import NOTE
from tenbin.data.sources.cache import fetch_split
from tenbin.data.sources.choice import DataChoice, Progress
from tenbin.data.sources.hub import load_hub_split
from tenbin.data.sources.places import fetched_name, published_paths
from tenbin.data.unpinned import row_files
from tenbin.errors import ConfigError, DataError, DownloadError
from tenbin.files.allowed_paths import OutsideError, Reach
from tenbin.files.atomic import atomic_file
from tenbin.files.disk_errors import unwritten
from tenbin.files.home import expanded
from tenbin.records import Dataset

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class FetchedSplit:
    """What became of a split."""

    place: SplitPlace
    state: Literal["fetched", "kept", "made", "failed"]
    """Downloaded now, there already, made by a function of the task when a run asks for it, or
    not to be had."""
    files: tuple[Path, ...] = ()
    rows: int = 0
    problem: str = ""
    """Why it failed."""


def fetch(place: SplitPlace, choice: DataChoice, progress: Progress | None = None) -> FetchedSplit:
    """Download a split, or check the files that are there already.

    Sets of the hub are written as Parquet, with their types; those of tenbin's catalogue as they
    are published.

    Raises:
        DataError: A file that is there cannot be read, or the split cannot be had.
        DownloadError: It cannot be downloaded.
        ConfigError: A set of the hub is to be fetched and no folder is named.
    """
    if place.origin == "function":
        return FetchedSplit(place, "made")
    if place.found:
        return FetchedSplit(place, "kept", place.found, _count(place, place.found, choice))
    if place.origin == "files" or place.problem:
        raise DataError(
            place.problem or f"{place.places[0]} is not there",
            "the task file names files of its own, which nobody publishes: put them there",
        )
    if choice.forbids_network:
        raise DownloadError(
            f"{place.dataset.name} {place.split}: {place.places[0]} is not there, and tenbin is "
            "offline",
            "fetch where there is a network, without --offline, TENBIN_OFFLINE and HF_HUB_OFFLINE, "
            "and copy the folder",
        )
    if place.origin == "catalogue":
        files = _fetch_pinned(place, choice, progress)
        return FetchedSplit(place, "fetched", files, _count(place, files, choice))
    return _fetch_hub(place, choice)


def _count(place: SplitPlace, paths: tuple[Path, ...], choice: DataChoice) -> int:
    """Read every row of files that are here, so that damage shows now."""
    if place.dataset.pinned:
        split = pinned_splits(place.dataset, place.split, choice)[1][0]
        files = [split.row_file(path) for path in paths]
    else:
        files = row_files(place.dataset, paths)
    return sum(1 for file in files for _ in file.rows())


def _fetch_pinned(
    place: SplitPlace, choice: DataChoice, progress: Progress | None
) -> tuple[Path, ...]:
    pinned, equal, _ = pinned_splits(place.dataset, place.split, choice)
    if not equal[0].files:
        raise DownloadError(
            f"{pinned.title} {place.split} is not published, so that it cannot be downloaded",
            f"put your own rows at {place.places[0]}",
        )
    cached = fetch_split(pinned, equal, choice, progress)
    if choice.data_dir is None:
        return cached
    # One file lies under the split's name; several as in a clone of their repository.
    folder, split = expanded(choice.data_dir), equal[0]
    clone = folder / split.repository.rpartition("/")[2]
    targets = (
        [place.places[0].with_suffix(cached[0].suffix)]
        if len(cached) == 1
        else [clone / file.path for file in split.files]
    )
    for source, target in zip(cached, targets, strict=True):
        with _writing(target) as partial:
            shutil.copyfile(source, partial)
    return tuple(targets)


def _fetch_hub(place: SplitPlace, choice: DataChoice) -> FetchedSplit:
    if choice.data_dir is None:
        raise ConfigError(
            f"{place.dataset.name} is a set of the hub, and is written to the folder that "
            "--data_dir names",
            "give --data_dir DIR, to this command and to the run",
        )
    names = published_paths(place.dataset, place.split)
    parts = [_only(place, name) for name in names] or [place.dataset]
    for target in place.places:
        _check_inside(target, choice.data_dir)
    files: list[Path] = []
    rows = 0
    for part, target in zip(parts, place.places, strict=True):
        loaded, version, _ = load_hub_split(part, place.split, choice)
        if not len(loaded):
            raise DataError(f"{part.name} {place.split} has no rows")
        files.append(_write(loaded, target, {**_described(place), "revision": version}))
        rows += len(loaded)
    return FetchedSplit(place, "fetched", tuple(files), rows)


def _only(place: SplitPlace, name: str) -> Dataset:
    """Return the data set with one of its files, which alone goes to a file of its own."""
    options = {**place.dataset.options, "data_files": {place.split: [name]}}
    return replace(place.dataset, options=options)


def _check_inside(target: Path, folder: Path) -> None:
    """Refuse to write where a name in a task file leads out of the folder."""
    try:
        Reach((expanded(folder),)).check(target)
    except OutsideError as error:
        raise DataError(
            f"{target} is not below {folder}: a task file names a place elsewhere",
            "fetch writes to the folder of --data_dir alone",
        ) from error


def _described(place: SplitPlace) -> dict[str, Any]:
    dataset = place.dataset
    return {"dataset": dataset.name, "config": dataset.config, "split": place.split}


def _write(rows: Any, target: Path, described: Mapping[str, Any]) -> Path:
    """Write rows so that they are read as the library gives them; return the file."""
    if "Json(" in repr(rows.features):
        # Values without a common type, which a Parquet file would hold as texts of JSON.
        target = target if target.suffix in (".json", ".jsonl") else target.with_suffix(".jsonl")
        with _writing(target) as partial, partial.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
        return target
    import pyarrow.parquet  # type: ignore[import-untyped,unused-ignore]

    target = fetched_name(target)
    schema = rows.features.arrow_schema
    schema = schema.with_metadata({**schema.metadata, NOTE: json.dumps(described).encode()})
    with _writing(target) as partial, pyarrow.parquet.ParquetWriter(partial, schema) as writer:
        for batch in rows.with_format("arrow").iter(batch_size=_BATCH):
            writer.write_table(batch.cast(schema))
    return target


@contextmanager
def _writing(target: Path) -> Iterator[Path]:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as partial:
            yield partial
    except OSError as error:
        raise unwritten(target, error, "name another folder with --data_dir") from error
