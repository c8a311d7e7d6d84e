"""Data sets that tenbin does not know, read as lm-eval would: files, a folder, or a hub id.

Rows become documents as they are; what they must hold only the task's templates can say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tenbin.documents.choice import DataChoice
from tenbin.documents.naming import shelve_rows
from tenbin.documents.reading import RowFile, open_rows
from tenbin.documents.rows import Row
from tenbin.errors import DataError
from tenbin.home import expanded
from tenbin.records import DataFile, Dataset, Document
from tenbin.shelf import Shelf

FORMATS = ("json", "parquet", "csv", "text")
SUFFIXES = (".jsonl.gz", ".jsonl", ".json.gz", ".json", ".parquet", ".csv", ".tsv", ".txt")
TEXT_UNITS = ("line", "document")
Loaded = tuple[Shelf[Document], list[DataFile], list[str]]


def read_unpinned(dataset: Dataset, split: str, choice: DataChoice) -> Loaded:
    """Return the documents, files and notices of one split of an unknown data set.

    Raises:
        DataError: The rows cannot be had.
    """
    bases = _bases(dataset, choice)
    data_files = dataset.options.get("data_files")
    if dataset.name in FORMATS and data_files is None:
        raise DataError(
            f"a data set called `{dataset.name}` needs its files named",
            "add dataset_kwargs: {data_files: {test: path/to/file.jsonl}}",
        )
    notices: list[str] = []
    if dataset.name in FORMATS and not _is_remote(data_files):
        patterns, notices = _patterns_of_split(data_files, split)
        paths = _match_files(patterns, bases)
    else:
        paths = _folder_files(dataset, split, bases)
    if not paths:
        return _read_hub(dataset, split, choice)
    field = dataset.options.get("field")
    delimiter = dataset.options.get("delimiter", dataset.options.get("sep", ","))
    by_line = _text_unit(dataset) == "line"
    files = [open_rows(path, field=field, delimiter=delimiter, by_line=by_line) for path in paths]
    recorded: list[DataFile] = []
    return shelve_rows(_counted(files, recorded)), recorded, notices


def _counted(files: Iterable[RowFile], recorded: list[DataFile]) -> Iterator[Row]:
    """Yield the rows of all files, and record each file when its rows are counted."""
    for file in files:
        count = 0
        for row in file.rows():
            count += 1
            yield row
        recorded.append(DataFile(str(file.path), file.sha256, count, "data_dir"))


def _text_unit(dataset: Dataset) -> str:
    """What a document of a `.txt` file is, as the datasets library names it."""
    unit = dataset.options.get("sample_by", TEXT_UNITS[0])
    if unit not in TEXT_UNITS:
        raise DataError(
            f"`sample_by: {unit}` is not known", f"sample_by is {' or '.join(TEXT_UNITS)}"
        )
    return str(unit)


def _bases(dataset: Dataset, choice: DataChoice) -> list[Path]:
    """Return the folders that relative names are looked up in."""
    own = dataset.options.get("data_dir")
    chosen = (Path(own) if isinstance(own, str) else None, Path(), choice.data_dir)
    return [expanded(base) for base in chosen if base is not None]


def _is_remote(data_files: Any) -> bool:
    values = data_files.values() if isinstance(data_files, Mapping) else [data_files]
    return any("://" in name for value in values for name in _as_list(value))


def _as_list(value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise DataError(
            "`data_files` is neither a path, a list of paths nor a map from split to paths"
        )
    return list(names)


def _patterns_of_split(data_files: Any, split: str) -> tuple[list[str], list[str]]:
    if isinstance(data_files, Mapping):
        if split not in data_files:
            raise DataError(
                f"`data_files` names no file for split `{split}`",
                f"it has {', '.join(map(str, data_files)) or 'none'}",
            )
        return _as_list(data_files[split]), []
    notice = [f"`data_files` names no splits: all its rows are taken as {split}"]
    return _as_list(data_files), [] if split == "train" else notice


def _match_files(patterns: Iterable[str], bases: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        matches = next(filter(None, (_glob(base, pattern) for base in bases)), [])
        if not matches:
            places = "".join(f"\n    {base / pattern}" for base in bases)
            raise DataError(
                f"no file matches `{pattern}`; looked for:{places}",
                "relative paths count from the working folder, then from --data_dir",
            )
        found += matches
    return found


def _glob(base: Path, pattern: str) -> list[Path]:
    path = base / expanded(pattern)
    if path.is_file():
        return [path]
    root = Path(path.anchor)
    return sorted(match for match in root.glob(str(path.relative_to(root))) if match.is_file())


def _folder_files(dataset: Dataset, split: str, bases: Sequence[Path]) -> list[Path]:
    """Return the files of a split in a folder named like the set, below any of the bases."""
    for base in bases:
        folder = base / expanded(dataset.name)
        for place in [folder / dataset.config, folder] if dataset.config else [folder]:
            for suffix in SUFFIXES:
                if (place / f"{split}{suffix}").is_file():
                    return [place / f"{split}{suffix}"]
            for shards in (place, place / "data"):
                if found := sorted(shards.glob(f"{split}-*.parquet")):
                    return found
    return []


def _read_hub(dataset: Dataset, split: str, choice: DataChoice) -> Loaded:
    from tenbin.documents.hub import open_hub_rows

    rows, version = open_hub_rows(dataset, split, offline=choice.forbids_network)
    digest = hashlib.sha256()

    def weighed() -> Iterator[Row]:
        for row in rows:
            # There is no one file to take the checksum of, so it is taken of the rows.
            line = json.dumps(row.values, ensure_ascii=False, sort_keys=True, default=str)
            digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
            yield row

    documents = shelve_rows(weighed())
    name = f"{dataset.name}/{dataset.config}" if dataset.config else dataset.name
    file = DataFile(f"{name} {split}", digest.hexdigest(), len(documents), "datasets", version)
    return documents, [file], []
