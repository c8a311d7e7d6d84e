"""The pinned data sets of `catalog/datasets/`, and where their files lie below a folder.

A folder may have tenbin's own layout or the one that the set is published in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from tenbin.data.readers.formats import SUFFIXES, RowFile
from tenbin.errors import DataError, MissingData
from tenbin.records import Dataset

CATALOG = Path(__file__).parents[2] / "catalog"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of a split, at its source."""

    path: str
    blob: str | None
    """Its git blob id; None where no checksum is published."""
    blobs: Mapping[str, str] = field(default_factory=dict)
    """Config → git blob id, for a path that holds {config}."""


@dataclass(frozen=True, slots=True)
class Split:
    """One split of one version: where it is published and what is known of it."""

    name: str
    version: str
    rows: int | None
    files: tuple[PublishedFile, ...]
    """None where nothing is published: the rows are the user's own, or the shipped samples."""
    otherwise: tuple[str, ...]
    """Paths to try when the first file is gone; only for splits of one file."""
    local: tuple[str, ...]
    """Patterns of paths that users' own copies have."""
    folder: str
    """Its path below a data folder."""
    host: str
    """`github`, `hub`, or `none` where nothing is published."""
    repository: str
    revision: str
    schema: str
    """Which checks its rows go through."""
    columns: tuple[str, ...] | None = None
    """The columns of published CSV or TSV files that have no heading."""
    quoted: bool = True
    """Whether quotation marks enclose cells of these files."""
    field_from_name: str | None = None
    """The field whose value is the name of the file."""
    where: Mapping[str, str] = field(default_factory=dict)
    """The rows of a published file that holds several splits."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Config → what {code} in published paths stands for."""
    rows_by_config: Mapping[str, int] = field(default_factory=dict)
    """Where the parts of the set differ in their number of rows."""

    def row_file(self, path: Path) -> RowFile:
        """Return a file of this split with how it is to be read.

        A file that has another published file's form, such as JSON lines, is read as what it is.
        """
        published = path.name in {PurePosixPath(file.path).name for file in self.files}
        return RowFile(
            path,
            columns=self.columns,
            as_text=True,
            quoted=self.quoted,
            field_from_name=self.field_from_name if published else None,
            where=self.where,
        )

    @property
    def blobs(self) -> frozenset[str]:
        """The git blob ids of its files, as far as known."""
        return frozenset(file.blob for file in self.files if file.blob)


@dataclass(frozen=True, slots=True)
class PinnedSet:
    """A data set of the catalog."""

    name: str
    title: str
    licence: str
    homepage: str
    versions: Mapping[str, Mapping[str, Split]]
    configs: tuple[str, ...] = ()
    withdrawn: str = ""
    collection: str | None = None
    """The sets that it is published with; users choose one version for all of them."""
    sample_config: str | None = None
    """The part whose sample rows are shown for parts that have none."""

    def equal_splits(self, split: Split) -> tuple[Split, ...]:
        """Return `split`, then the splits of other versions that hold the very same files."""
        others = (
            splits[split.name]
            for version, splits in self.versions.items()
            if version != split.version and split.name in splits
        )
        return (split, *(other for other in others if split.blobs and other.blobs == split.blobs))


@dataclass(frozen=True, slots=True)
class DatasetDescription:
    """What a listing of tasks shows of a data set."""

    name: str
    title: str
    licence: str
    source: str
    """Its page, or for a set that is not pinned the name itself."""
    sizes: Mapping[str, Mapping[str, int]]
    """Version → split → published number of rows."""
    configs: tuple[str, ...] = ()
    withdrawn: str = ""


@cache
def pinned_sets() -> Mapping[str, PinnedSet]:
    """Return the sets of the catalog by name."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries: dict[str, dict[str, Any]] = {}
    for file in sorted((CATALOG / "datasets").glob("*.yaml")):
        entries |= yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    return {name: _pinned_set(name, entry) for name, entry in entries.items()}


def collection_versions() -> dict[str, list[str]]:
    """Return the collections of the catalogue and the versions that any of their sets has."""
    collections: dict[str, list[str]] = {}
    for pinned in pinned_sets().values():
        if pinned.collection is not None:
            known = collections.setdefault(pinned.collection, [])
            known += [version for version in pinned.versions if version not in known]
    return collections


def find_pinned_set(dataset: Dataset) -> PinnedSet:
    """Return the catalog's entry for a data set, checking that its config exists."""
    found = pinned_sets().get(dataset.name)
    if found is None:
        known = ", ".join(pinned_sets())
        raise DataError(f"no data set is called `{dataset.name}`", f"known: {known}")
    if found.configs and dataset.config not in found.configs:
        raise DataError(
            f"`{found.name}` has no part called `{dataset.config}`",
            f"its parts are {', '.join(found.configs)}",
        )
    return found


def find_split(pinned: PinnedSet, version: str, name: str, config: str | None) -> Split:
    """Return one split of a set, its paths filled in for `config`."""
    if version not in pinned.versions:
        have = ", ".join(pinned.versions)
        raise DataError(f"`{pinned.name}` has no version {version}", f"its versions: {have}")
    splits = pinned.versions[version]
    if name not in splits:
        elsewhere = [other for other, have in pinned.versions.items() if name in have]
        raise DataError(
            f"`{pinned.name}` has no {name} split in version {version}",
            f"it has one in version {', '.join(elsewhere)}: choose it with "
            f"--data_versions {pinned.collection}={elsewhere[-1]}"
            if elsewhere
            else f"its splits are {', '.join(splits)}",
        )
    return fill_config(splits[name], config)


def fill_config(split: Split, config: str | None) -> Split:
    """Return `split` with {config} and {code} in its paths replaced."""
    if config is None:
        return split
    code = split.codes.get(config, config)
    files = tuple(
        replace(
            file,
            path=file.path.replace("{config}", config).replace("{code}", code),
            blob=file.blobs.get(config, file.blob),
        )
        for file in split.files
    )
    return replace(
        split,
        files=files,
        rows=split.rows_by_config.get(config, split.rows),
        folder=split.folder.replace("{config}", config),
        where={key: value.replace("{config}", config) for key, value in split.where.items()},
        local=tuple(pattern.replace("{config}", config) for pattern in split.local),
    )


def describe_dataset(dataset: Dataset | str) -> DatasetDescription:
    """Describe a data set for a listing, from the catalog alone."""
    name = dataset if isinstance(dataset, str) else dataset.name
    pinned = pinned_sets().get(name)
    if pinned is None or (isinstance(dataset, Dataset) and not dataset.pinned):
        return DatasetDescription(name, title=name, licence="", source=name, sizes={})
    config = dataset.config if isinstance(dataset, Dataset) else None
    counted = {
        version: {one.name: _count_rows(one, config) for one in splits.values()}
        for version, splits in pinned.versions.items()
    }
    sizes = {
        version: {split: rows for split, rows in found.items() if rows is not None}
        for version, found in counted.items()
    }
    return DatasetDescription(
        name=name,
        title=pinned.title,
        licence=pinned.licence,
        source=pinned.homepage,
        sizes=sizes,
        configs=pinned.configs,
        withdrawn=pinned.withdrawn,
    )


def _count_rows(split: Split, config: str | None) -> int | None:
    """The published rows of one part of a set; of all parts where they differ and none is named."""
    if config is None and split.rows_by_config:
        return sum(split.rows_by_config.values())
    return split.rows_by_config.get(config or "", split.rows)


def _pinned_set(name: str, entry: Mapping[str, Any]) -> PinnedSet:
    return PinnedSet(
        name=name,
        title=entry["title"],
        licence=entry["licence"],
        homepage=entry["homepage"],
        versions={
            version: {
                split: _split(split, version, entry, source, details)
                for split, details in source["splits"].items()
            }
            for version, source in entry["versions"].items()
        },
        configs=tuple(entry.get("configs", ())),
        withdrawn=entry.get("withdrawn", ""),
        collection=entry.get("collection"),
        sample_config=entry.get("sample_config"),
    )


def _split(
    name: str,
    version: str,
    entry: Mapping[str, Any],
    source: Mapping[str, Any],
    details: Mapping[str, Any],
) -> Split:
    columns, rows = entry.get("columns"), details.get("rows")
    return Split(
        name=name,
        version=version,
        rows=None if isinstance(rows, dict) else rows,
        files=tuple(
            PublishedFile(path, None, blob) if isinstance(blob, dict) else PublishedFile(path, blob)
            for path, blob in details.get("files", {}).items()
        ),
        otherwise=tuple(details.get("otherwise", ())),
        local=tuple(details.get("local", ())),
        folder=str(entry["folder"]).replace("{version}", version),
        host=source["host"],
        repository=source.get("repository", ""),
        revision=source.get("revision", ""),
        schema=details.get("schema", entry["schema"]),
        columns=None if columns is None else tuple(columns),
        quoted=entry.get("quoted", True),
        field_from_name=entry.get("field_from_name"),
        where=details.get("where", {}),
        codes=entry.get("codes", {}),
        rows_by_config=rows if isinstance(rows, dict) else {},
    )


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
        raise DataError(f"the data folder {folder} does not exist", "check --data_dir")
    for split in splits:
        for pattern in _own_patterns(split):
            if found := _matching_files(folder, pattern):
                return found
        if listed := _listed_files(split, folder):
            return listed
        for pattern in _published_patterns(split):
            if found := _matching_files(folder, pattern):
                return found
    patterns = [
        pattern
        for split in splits
        for pattern in (*_own_patterns(split), *_published_patterns(split))
    ]
    split = splits[0]
    places = "".join(f"\n    {folder / pattern}" for pattern in patterns)
    raise MissingData(
        f"{pinned.title} {split.name} (version {split.version}) is not in {folder}; "
        f"looked for:{places}",
        _how_to_provide(pinned, split, folder),
    )


def own_place(split: Split, folder: Path) -> Path:
    """Return the path to name when telling a user what to put where."""
    suffix = PurePosixPath(split.files[0].path).suffix if split.files else ".jsonl"
    return folder / split.folder / f"{split.name}{suffix}"


def how_to_bring(split: Split, folder: Path) -> str:
    """Say where to put rows of a set that is not published."""
    places = " or ".join(
        str(place) for place in (own_place(split, folder), *map(folder.joinpath, split.local))
    )
    return f"put your own at {places}; the shipped samples are read with --sample_data"


def _listed_files(split: Split, folder: Path) -> tuple[Path, ...]:
    """Return the published files of a split of several, where all of them are below `folder`."""
    if len(split.files) < 2:
        return ()
    for root in (folder, folder / split.repository.rpartition("/")[2]):
        paths = tuple(root / file.path for file in split.files)
        if all(path.is_file() for path in paths):
            return paths
    return ()


def _matching_files(folder: Path, pattern: str) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.glob(pattern) if path.is_file()))


def _own_patterns(split: Split) -> Iterator[str]:
    published = PurePosixPath(split.files[0].path).suffix if split.files else SUFFIXES[0]
    for suffix in dict.fromkeys((*SUFFIXES, published)):
        yield f"{split.folder}/{split.name}{suffix}"


def _published_patterns(split: Split) -> Iterator[str]:
    if len(split.files) > 1:
        first = PurePosixPath(split.files[0].path)
        # Files in several folders have others beside them: then all must be there by name.
        if len({PurePosixPath(file.path).parent for file in split.files}) == 1:
            yield from _below_clone(split, f"{first.parent}/*{first.suffix}")
    else:
        for path in (*(file.path for file in split.files), *split.otherwise, *split.local):
            yield from _below_clone(split, path)


def _below_clone(split: Split, path: str) -> Iterator[str]:
    """Yield a published path relative to the repository's root, and below a clone of it."""
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
        "or try the shipped sample rows with --sample_data"
    )
