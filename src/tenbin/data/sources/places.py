"""Finds the files of data sets that are not in the catalogue, and checks that they may be read.

A task file may name anything: each file found is checked against the folders that the task file may
read, and a name that leads elsewhere is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tenbin.data.sources.choice import DataChoice
from tenbin.errors import DataError
from tenbin.files.allowed_paths import HINT, OutsideError, Reach
from tenbin.files.home import expanded
from tenbin.records import Dataset

FORMATS = ("json", "parquet", "csv", "text")
SUFFIXES = (".jsonl.gz", ".jsonl", ".json.gz", ".json", ".parquet", ".csv", ".tsv", ".txt")
MOST_FILES = 10_000
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_USERS_OWN = frozenset({"cache_dir", "download_config", "storage_options", "token"})
"""Options of the datasets library that say where files go and who asks for them."""
_REMOTE = ("https://", "hf://")
_BUILDERS = frozenset(
    [
        "arrow",
        "audiofolder",
        "cache",
        "conll",
        "eval",
        "fasta",
        "fastq",
        "genbank",
        "generator",
        "harbor",
        "hdf5",
        "iceberg",
        "imagefolder",
        "lance",
        "meshfolder",
        "mmcif",
        "niftifolder",
        "pandas",
        "pdb",
        "pdffolder",
        "spark",
        "sql",
        "tsfile",
        "videofolder",
        "vortex",
        "webdataset",
        "xml",
    ]
)
"""Formats of the datasets library that tenbin does not read. They take files of this machine, and
`pandas` reads pickles, which run code."""


def place_of(dataset: Dataset) -> str:
    """The start of a message about a data set: the task file that names it, where known."""
    return f"{dataset.file}: dataset_path" if dataset.file else "dataset_path"


def key_of(dataset: Dataset, name: str) -> str:
    """The place of an option in messages: the task file and the key."""
    key = f"dataset_kwargs: {name}"
    return f"{dataset.file}: {key}" if dataset.file else key


class Places:
    """The folders that the names of one data set are looked up in."""

    def __init__(self, dataset: Dataset, choice: DataChoice) -> None:
        """Take the set as a task names it, and what the user chose."""
        self._dataset = dataset
        folder = Path(dataset.folder) if dataset.folder is not None else None
        self._reach = choice.reach if folder is None else choice.reach.with_folders(folder)
        if choice.data_dir is not None:
            self._reach = self._reach.with_folders(expanded(choice.data_dir))
        if folder is None:  # a data set that the user, not a file, names
            self._reach = Reach(anywhere=True)
        own = dataset.options.get("data_dir")
        if own is not None and not isinstance(own, str):
            raise DataError(f"{key_of(dataset, 'data_dir')} takes the name of a folder")
        within = [] if folder is None else [folder] if own is None else [folder / own, folder]
        chosen = [None if own is None else Path(own), Path(), choice.data_dir, *within]
        with _named(key_of(dataset, "data_dir"), own):
            self._bases = [expanded(base) for base in chosen if base is not None]

    def named_files(self, split: str) -> tuple[list[Path], list[str]]:
        """Return the files that `data_files` names for a split, and what is worth a notice.

        Raises:
            DataError: There is none, or one may not be read.
        """
        patterns, notices = names_of_split(self._dataset, split)
        found: list[Path] = []
        for pattern in patterns:
            with _named(key_of(self._dataset, "data_files"), pattern):
                found += self._matches(pattern)
        if len(found) > MOST_FILES:
            raise DataError(
                f"{key_of(self._dataset, 'data_files')} names {len(found):,} files; at most "
                f"{MOST_FILES:,} are read"
            )
        return found, notices

    def folder_files(self, split: str) -> tuple[list[Path], list[str]]:
        """Return the files of a split below any of the bases, and what is worth a notice.

        They lie in a folder named like the set, below it in one named like its part: the files
        that `data_files` names, if any, else those named like the split.

        Raises:
            DataError: They may not be read.
        """
        with _named(place_of(self._dataset), self._dataset.name):
            stems = list(published_paths(self._dataset, split).values())
            for base in self._bases:
                if found := self._published_files(base, stems):
                    return found, []
            for base in self._bases:
                for place in split_folders(self._dataset):
                    if found := self._split_files(base / place, split):
                        notice = f"{found[0]} is read in place of {stems[0]}" if stems else ""
                        return found, [notice] if notice else []
        return [], []

    def _published_files(self, base: Path, names: list[Path]) -> list[Path]:
        """Return the files of these names, or their fetched copies; none unless all are there."""
        found: list[Path] = []
        for name in names:
            copies = [base / name, base / fetched_name(name)]
            present = [path for path in copies if path.is_file()]
            if not present:
                return []
            found.append(present[0])
        return self._allowed(found)

    def _matches(self, pattern: str) -> list[Path]:
        for base in self._bases:
            path = base / expanded(pattern)
            if path.is_file():
                return self._allowed([path])
            fixed, wild = _divided(path)
            if wild and fixed.is_dir():
                # Before anything is looked for: a pattern over all of a disk takes hours.
                self._allowed([fixed])
                if matches := sorted(match for match in fixed.glob(wild) if match.is_file()):
                    return self._allowed(matches)
        places = "".join(f"\n    {base / pattern}" for base in self._bases)
        raise DataError(
            f"{key_of(self._dataset, 'data_files')}: no file matches `{pattern}`; looked for:"
            f"{places}",
            "relative paths count from the working folder, then from --data_dir, then from the "
            "task file's folder",
        )

    def _split_files(self, place: Path, split: str) -> list[Path]:
        for suffix in SUFFIXES:
            if (place / f"{split}{suffix}").is_file():
                return self._allowed([place / f"{split}{suffix}"])
        for shards in (place, place / "data"):
            if not shards.is_dir():
                continue
            names = (path for path in shards.iterdir() if path.name.endswith(".parquet"))
            if found := sorted(path for path in names if path.name.startswith(f"{split}-")):
                return self._allowed(found)
        return []

    def _allowed(self, paths: list[Path]) -> list[Path]:
        for path in paths:
            self._reach.check(path)
        return paths


def split_folders(dataset: Dataset) -> list[Path]:
    """Return the folders, relative to a base, in which files named like a split may lie."""
    folder = expanded(dataset.name)
    own, config = dataset.options.get("data_dir"), dataset.config
    places = [folder / part for part in (own, config) if part]
    return [*places, folder]


def published_paths(dataset: Dataset, split: str) -> dict[str, Path]:
    """Return where files that `data_files` names lie, relative to a base; none without any.

    A file of the set's repository lies below the set's name, one of an address below what follows
    `hf://datasets/` or `https://`.
    """
    given = dataset.options.get("data_files")
    if given is None or (isinstance(given, Mapping) and split not in given):
        return {}
    names = names_of_split(dataset, split)[0]
    if any("://" in name and not name.startswith(_REMOTE) for name in names):
        return {}  # refused by `check_hub`
    paths = {name: _published_path(dataset, name) for name in names}
    return {} if any(_divided(path)[1] for path in paths.values()) else paths


def _published_path(dataset: Dataset, name: str) -> Path:
    if name.startswith("hf://"):
        repository = name.removeprefix("hf://").removeprefix("datasets/")
        # A revision stands behind the set's name: owner/set@revision/path.
        return Path(re.sub(r"@[^/]+", "", repository, count=1).lstrip("/"))
    if "://" in name:
        return Path(name.partition("://")[2].partition("?")[0].lstrip("/"))
    return expanded(dataset.name) / name


def fetched_name(name: Path) -> Path:
    """Return the name under which `tenbin data fetch` keeps the rows of a published file."""
    plain = name.name.removesuffix(".gz")
    return name.with_name(f"{plain.rpartition('.')[0] or plain}.parquet")


def check_hub(dataset: Dataset, choice: DataChoice) -> None:
    """Refuse what would lead the datasets library to files of this machine, or to plain HTTP.

    Raises:
        DataError: Saying which key does so.
    """
    for name in sorted(_USERS_OWN & dataset.options.keys()):
        raise DataError(
            f"{key_of(dataset, name)} can only be set by the user, not by a task file",
            "leave it out; HF_HOME and HF_TOKEN set it for all data sets",
        )
    if dataset.name in _BUILDERS:
        raise DataError(
            f"{place_of(dataset)}: `{dataset.name}` is a format that tenbin does not read",
            f"write the rows as {', '.join(FORMATS)}",
        )
    names = [name for value in _listed(dataset) for name in value]
    for name in names:
        if "://" in name and not name.startswith(_REMOTE):
            raise DataError(
                f"{key_of(dataset, 'data_files')}: `{name[:80]}` is neither https:// nor hf://",
                "fetch the file yourself and name it as a local one",
            )
    if choice.reach.anywhere or dataset.folder is None:
        return
    local = [name for name in names if Path(name).is_absolute() or ".." in Path(name).parts]
    if dataset.name in FORMATS and not local:
        return
    if local or not _HUB_NAME.fullmatch(dataset.name) or Path(dataset.name).exists():
        raise DataError(
            f"{place_of(dataset)}: `{(local or [dataset.name])[0][:80]}` is not a data set of "
            "the hub, and there is no such file where a task file may read",
            HINT,
        )


def is_remote(dataset: Dataset) -> bool:
    """Whether any of the files is an address."""
    return any("://" in name for value in _listed(dataset) for name in value)


def _listed(dataset: Dataset) -> list[list[str]]:
    given = dataset.options.get("data_files")
    if given is None:
        return []
    values = given.values() if isinstance(given, Mapping) else [given]
    return [_as_list(dataset, value) for value in values]


def _as_list(dataset: Dataset, value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(
        isinstance(name, str) and name for name in names
    ):
        raise DataError(
            f"{key_of(dataset, 'data_files')} is neither a path, a list of paths nor a map from "
            "split to paths"
        )
    return list(names)


def names_of_split(dataset: Dataset, split: str) -> tuple[list[str], list[str]]:
    """Return what `data_files` names for a split, and what is worth a notice.

    Raises:
        DataError: It names nothing for the split, or something other than paths.
    """
    given = dataset.options["data_files"]
    if isinstance(given, Mapping):
        if split not in given:
            raise DataError(
                f"{key_of(dataset, 'data_files')} names no file for split `{split}`",
                f"it has {', '.join(map(str, given)) or 'none'}",
            )
        return _as_list(dataset, given[split]), []
    notice = [f"`data_files` names no splits: all its rows are taken as {split}"]
    return _as_list(dataset, given), [] if split == "train" else notice


def _divided(path: Path) -> tuple[Path, str]:
    """Divide a path before its first part with a wildcard."""
    for at, part in enumerate(path.parts):
        if any(mark in part for mark in "*?["):
            return Path(*path.parts[:at]), str(Path(*path.parts[at:]))
    return path, ""


@contextmanager
def _named(key: str, value: Any) -> Iterator[None]:
    """Turn what is wrong with a name into an error that shows it."""
    try:
        yield
    except OutsideError as error:
        raise DataError(f"{key}: {error}", HINT) from error
    # A name that is too long, a null byte, `~` of no user or a circle of links, and a pattern that
    # begins at the root: what a task file writes here may be anything.
    except (OSError, ValueError, RuntimeError, NotImplementedError) as error:
        shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:77]}..."
        raise DataError(f"{key}: {shown} cannot be looked up: {error}"[:400]) from error
