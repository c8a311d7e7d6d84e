"""Data sets that are not in the catalogue, read as lm-eval would: files, a folder, or a hub id.

Rows become documents as they are; only the task's templates say which fields they need.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tenbin.data.ids import documents_of
from tenbin.data.process_docs import as_dataset, processed_rows, split_of
from tenbin.data.readers.formats import RowFile
from tenbin.data.rows import Row, describe_value
from tenbin.data.sources.choice import DataChoice
from tenbin.data.sources.hub import each_row, load_hub_split
from tenbin.data.sources.places import FORMATS, Places, is_remote, key_of, place_of
from tenbin.errors import DataError
from tenbin.files.disk_list import DiskList
from tenbin.records import DataFile, Dataset, Document

TEXT_UNITS = ("line", "document")
Loaded = tuple[DiskList[Document], list[DataFile], list[str]]


def read_unpinned(dataset: Dataset, split: str, choice: DataChoice) -> Loaded:
    """Return the documents, files and notices of one split of an unknown data set.

    Raises:
        DataError: The rows cannot be found, fetched or read.
    """
    data_files = dataset.options.get("data_files")
    if dataset.name in FORMATS and data_files is None:
        raise DataError(
            f"{place_of(dataset)}: a data set called `{dataset.name}` needs its files named",
            "add dataset_kwargs: {data_files: {test: path/to/file.jsonl}}",
        )
    places = Places(dataset, choice)
    if dataset.name in FORMATS and not is_remote(dataset):
        paths, notices = places.named_files(split)
    else:
        paths, notices = places.folder_files(split)
    if not paths:
        return _read_hub(dataset, split, choice)
    files = row_files(dataset, paths)
    recorded: list[DataFile] = []
    if dataset.process_docs is None:
        keys = _Keys()
        documents = documents_of(keys.noted(_counted(files, recorded)))
        if dataset.equal_keys and keys.differ:
            documents = keys.completed(documents)
        return documents, recorded, notices
    rows = as_dataset(files, recorded, str(dataset.process_docs))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return _processed(dataset, split, rows, f"{paths[0]}{more}", (recorded, notices))


class _Keys:
    """The keys of rows as they come, and whether all rows have the same."""

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}
        self.differ = False

    def noted(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows."""
        for number, row in enumerate(rows):
            if row.values.keys() != self._keys.keys():
                self.differ = number > 0
                self._keys |= dict.fromkeys(row.values)
            yield row

    def completed(self, documents: DiskList[Document]) -> DiskList[Document]:
        """Return the documents with None for keys that they lack."""
        missing = dict.fromkeys(self._keys)
        return DiskList(
            replace(document, fields={**missing, **document.fields}) for document in documents
        )


def row_files(dataset: Dataset, paths: Iterable[Path]) -> list[RowFile]:
    """Return files with what the data set's options say about reading them.

    Raises:
        DataError: An option has a value that does not exist.
    """
    field, delimiter = _text_option(dataset, "field"), _delimiter(dataset)
    by_line, columns = _text_unit(dataset) == "line", _column_names(dataset)
    return [RowFile(path, field, delimiter, by_line, columns) for path in paths]


def read_made(dataset: Dataset, split: str, made: Mapping[str, Any]) -> Loaded:
    """Return the documents, files and notices of one split that a task's function made.

    Args:
        dataset: The data set, with its `custom_dataset`.
        split: The split.
        made: All splits, as `process_docs.made_splits` gives them.

    Raises:
        DataError: There is no such split, or its rows are none.
    """
    assert dataset.custom_dataset is not None
    rows = split_of(made, dataset.custom_dataset, split)
    return _read_rows(dataset, split, rows, str(dataset.custom_dataset), "custom_dataset")


def _processed(
    dataset: Dataset, split: str, rows: Any, origin: str, read: tuple[list[DataFile], list[str]]
) -> Loaded:
    """Return what `process_docs` makes of rows; its file is recorded behind those of the rows."""
    function = dataset.process_docs
    assert function is not None
    recorded, notices = read
    before = sum(file.rows for file in recorded)
    documents = documents_of(processed_rows(function, rows, split, origin))
    count = len(documents)
    recorded.append(DataFile(str(function), function.sha256, count, "process_docs"))
    if count != before:
        notices = [
            *notices,
            f"{_name(dataset)} {split}: process_docs made {count:,} rows of {before:,}",
        ]
    return documents, recorded, notices


def _text_option(dataset: Dataset, name: str) -> str | None:
    value = dataset.options.get(name)
    if value is not None and not isinstance(value, str):
        raise DataError(f"{key_of(dataset, name)} is {describe_value(value)}; accepted: a text")
    return value


def _delimiter(dataset: Dataset) -> str:
    given = dataset.options.get("delimiter", dataset.options.get("sep", ","))
    if not isinstance(given, str) or len(given) != 1 or given in '\r\n"':
        raise DataError(
            f"{key_of(dataset, 'delimiter')} is {describe_value(given)}; accepted: one character",
            'such as "," or ";" or "\\t", and neither a quote nor a line break',
        )
    return given


def _column_names(dataset: Dataset) -> tuple[str, ...] | None:
    """The names of the columns of CSV files without a heading; None where there is one."""
    names, header = dataset.options.get("column_names"), dataset.options.get("header")
    if names is None and ("header" not in dataset.options or header in (0, "infer")):
        return None
    if header is not None or not isinstance(names, list | tuple) or not names:
        raise DataError(
            f"{key_of(dataset, 'header')} is {describe_value(header)}, and column_names "
            f"{describe_value(names)}; accepted: neither, or header: null and a list of names"
        )
    return tuple(map(str, names))


def _counted(files: Iterable[RowFile], recorded: list[DataFile]) -> Iterator[Row]:
    """Yield the rows of all files, and record each file when its rows are counted."""
    for file in files:
        count = 0
        for row in file.rows():
            count += 1
            yield row
        recorded.append(file.record(count))


def _text_unit(dataset: Dataset) -> str:
    """What a document of a `.txt` file is, as the datasets library names it."""
    unit: Any = dataset.options.get("sample_by", TEXT_UNITS[0])
    if unit not in TEXT_UNITS:
        raise DataError(
            f"{key_of(dataset, 'sample_by')} is {describe_value(unit)}; "
            f"accepted: {' or '.join(TEXT_UNITS)}"
        )
    return str(unit)


def _read_hub(dataset: Dataset, split: str, choice: DataChoice) -> Loaded:
    rows, version, notices = load_hub_split(dataset, split, choice)
    documents, recorded, more = _read_rows(dataset, split, rows, dataset.name, "datasets", version)
    return documents, recorded, [*notices, *more]


def _read_rows(
    dataset: Dataset, split: str, rows: Any, name: str, source: str, version: str | None = None
) -> Loaded:
    """Return the documents of rows that are already in memory or in the library's cache."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[Row]:
        for row in _numbered(rows, f"{name} {split}"):
            # There are rows, not one file: the checksum is that of the rows.
            line = json.dumps(row.values, ensure_ascii=False, sort_keys=True, default=str)
            digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
            yield row

    if dataset.process_docs is None:
        documents = documents_of(hashed())
        count = len(documents)
    else:
        count = sum(1 for _ in hashed())
    path = f"{_name(dataset)} {split}" if source == "datasets" else f"{name}, {split}"
    recorded = [DataFile(path, digest.hexdigest(), count, source, version)]
    if dataset.process_docs is None:
        return documents, recorded, []
    return _processed(dataset, split, rows, f"{name} {split}", (recorded, []))


def _name(dataset: Dataset) -> str:
    return f"{dataset.name}/{dataset.config}" if dataset.config else dataset.name


def _numbered(loaded: Any, origin: str) -> Iterator[Row]:
    number = 0
    for values in each_row(loaded):
        number += 1
        yield Row(values, f"{origin}, row {number}")
    if number == 0:
        raise DataError(f"{origin} has no rows")
