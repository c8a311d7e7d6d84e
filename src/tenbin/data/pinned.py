"""The pinned data sets, as `catalog/datasets.yaml` describes them.

This module reads that one file. It knows no rows, no network and no folder of the user's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tenbin.errors import DataError
from tenbin.records import Dataset

CATALOG = Path(__file__).parents[1] / "catalog"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of a split, at its source."""

    path: str
    blob: str | None
    """Its git blob id; None where no checksum is published."""


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
    """Where it lies below a data folder."""
    host: str
    """`github`, `hub`, or `none` where nothing is published."""
    repository: str
    revision: str

    @property
    def blobs(self) -> frozenset[str]:
        """The git blob ids of its files, as far as known."""
        return frozenset(file.blob for file in self.files if file.blob)


@dataclass(frozen=True, slots=True)
class PinnedSet:
    """A data set of the catalog."""

    name: str
    title: str
    schema: str
    licence: str
    homepage: str
    versions: Mapping[str, Mapping[str, Split]]
    configs: tuple[str, ...] = ()
    withdrawn: str = ""
    suite: str | None = None
    """The sets that it is published with; users choose one version for all of them."""

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
    text = (CATALOG / "datasets.yaml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = yaml.load(text, Loader=loader)
    return {name: _pinned_set(name, entry) for name, entry in entries.items()}


def suite_versions() -> dict[str, list[str]]:
    """Return the suites of the catalogue and the versions that any of their sets has."""
    suites: dict[str, list[str]] = {}
    for pinned in pinned_sets().values():
        if pinned.suite is not None:
            known = suites.setdefault(pinned.suite, [])
            known += [version for version in pinned.versions if version not in known]
    return suites


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
            f"--data_versions {pinned.suite}={elsewhere[-1]}"
            if elsewhere
            else f"its splits are {', '.join(splits)}",
        )
    return fill_config(splits[name], config)


def fill_config(split: Split, config: str | None) -> Split:
    """Return `split` with {config} in its paths replaced."""
    if config is None:
        return split
    files = tuple(replace(file, path=file.path.replace("{config}", config)) for file in split.files)
    return replace(
        split,
        files=files,
        folder=split.folder.replace("{config}", config),
        local=tuple(pattern.replace("{config}", config) for pattern in split.local),
    )


def describe_dataset(dataset: Dataset | str) -> DatasetDescription:
    """Describe a data set for a listing, from the catalog alone."""
    name = dataset if isinstance(dataset, str) else dataset.name
    pinned = pinned_sets().get(name)
    if pinned is None or (isinstance(dataset, Dataset) and not dataset.pinned):
        return DatasetDescription(name, title=name, licence="", source=name, sizes={})
    sizes = {
        version: {split.name: split.rows for split in splits.values() if split.rows is not None}
        for version, splits in pinned.versions.items()
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


def _pinned_set(name: str, entry: Mapping[str, Any]) -> PinnedSet:
    return PinnedSet(
        name=name,
        title=entry["title"],
        schema=entry["schema"],
        licence=entry["licence"],
        homepage=entry["homepage"],
        versions={
            version: {
                split: _split(split, version, entry["folder"], source, details)
                for split, details in source["splits"].items()
            }
            for version, source in entry["versions"].items()
        },
        configs=tuple(entry.get("configs", ())),
        withdrawn=entry.get("withdrawn", ""),
        suite=entry.get("suite"),
    )


def _split(
    name: str, version: str, folder: str, source: Mapping[str, Any], details: Mapping[str, Any]
) -> Split:
    return Split(
        name=name,
        version=version,
        rows=details.get("rows"),
        files=tuple(PublishedFile(path, blob) for path, blob in details.get("files", {}).items()),
        otherwise=tuple(details.get("otherwise", ())),
        local=tuple(details.get("local", ())),
        folder=folder.replace("{version}", version),
        host=source["host"],
        repository=source.get("repository", ""),
        revision=source.get("revision", ""),
    )
