"""Where a pinned split lies below a folder: tenbin's own layout or the one it is published in.

It looks for files and does not open them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tenbin.data.pinned import PinnedSet, Split
from tenbin.data.readers import SUFFIXES
from tenbin.errors import DataError


def find_files(pinned: PinnedSet, splits: tuple[Split, ...], folder: Path) -> tuple[Path, ...]:
    """Return the files of a split below `folder`.

    Args:
        pinned: The data set, for messages.
        splits: The split, then others that hold the same files.
        folder: The user's data folder.

    Raises:
        DataError: Nothing was found; the message lists every place looked at.
    """
    if not folder.is_dir():
        raise DataError(f"the data folder {folder} is not there", "check --data_dir")
    patterns = [pattern for split in splits for pattern in _patterns(split)]
    for pattern in patterns:
        found = tuple(sorted(path for path in folder.glob(pattern) if path.is_file()))
        if found:
            return found
    split = splits[0]
    places = "".join(f"\n    {folder / pattern}" for pattern in patterns)
    raise DataError(
        f"{pinned.title} {split.name} (version {split.version}) is not in {folder}; "
        f"looked for:{places}",
        _how_to_provide(pinned, split, folder),
    )


def own_place(split: Split, folder: Path) -> Path:
    """Return the path to name when telling a user what to put where."""
    suffix = PurePosixPath(split.files[0].path).suffix if split.files else ".jsonl"
    return folder / split.folder / f"{split.name}{suffix}"


def how_to_bring(split: Split, folder: Path) -> str:
    """Say where rows of a set go that nobody publishes."""
    places = " or ".join(
        str(place) for place in (own_place(split, folder), *map(folder.joinpath, split.local))
    )
    return f"put your own at {places}; the shipped samples are read with --sample_data"


def _patterns(split: Split) -> Iterator[str]:
    for suffix in SUFFIXES:
        yield f"{split.folder}/{split.name}{suffix}"
    if len(split.files) > 1:
        yield from _below_clone(split, f"{PurePosixPath(split.files[0].path).parent}/*.json")
    else:
        for path in (*(file.path for file in split.files), *split.otherwise, *split.local):
            yield from _below_clone(split, path)


def _below_clone(split: Split, path: str) -> Iterator[str]:
    """Yield a published path as it stands in the repository's root or below a clone of it."""
    clone = split.repository.rpartition("/")[2]
    for shown in (path, path.removeprefix("datasets/")):
        yield shown
        if clone:
            yield f"{clone}/{shown}"
        if not path.startswith("datasets/"):
            return


def _how_to_provide(pinned: PinnedSet, split: Split, folder: Path) -> str:
    if pinned.withdrawn:
        return f"{pinned.withdrawn}: put your copy at {own_place(split, folder)}"
    if not split.files:
        return how_to_bring(split, folder)
    return (
        "put the file at one of these places, or leave out --data_dir to download it, "
        "or try tenbin on made-up rows with --sample_data"
    )
