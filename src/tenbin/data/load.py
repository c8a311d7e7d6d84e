"""From a data set's name to its documents.

For a set of the catalogue, `sources` finds or fetches its files, `readers` reads their rows and
`schemas` checks each row and makes a document of it. Other sets go to `unpinned`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tenbin.data.ids import SeenIds
from tenbin.data.process_docs import made_splits, sample_rows
from tenbin.data.readers.formats import RowFile
from tenbin.data.schemas import SCHEMAS
from tenbin.data.schemas.checks import Dropped
from tenbin.data.sources.choice import DataChoice, Progress
from tenbin.data.sources.pinned import (
    CATALOG,
    PinnedSet,
    Split,
    collection_versions,
    fill_config,
    find_files,
    find_pinned_set,
    find_split,
    how_to_bring,
)
from tenbin.errors import ConfigError, DataError, MissingData
from tenbin.files.disk_list import DiskList
from tenbin.files.home import expanded
from tenbin.records import DataFile, Dataset, Document, FewshotPlan, TaskFunction

SAMPLE_DATA = CATALOG / "sample_data"


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """The documents of a split and what they were read from."""

    documents: DiskList[Document]
    """On disk: each document is read again whenever it is accessed."""
    files: tuple[DataFile, ...]
    notices: tuple[str, ...] = ()
    """What readers of the scores should know about the data."""


def load_documents(
    dataset: Dataset,
    split: str,
    choice: DataChoice,
    progress: Progress | None = None,
    made: Mapping[str, Any] | None = None,
) -> DocumentSet:
    """Return the documents of one split.

    Args:
        dataset: The data set as a task names it.
        split: `train`, `validation` or `test`, or any split of a set that is not pinned.
        choice: Where the user wants rows from.
        progress: Called while files are downloaded.
        made: The splits that the task's `custom_dataset` made, for a set that has one.

    Raises:
        DataError: The rows cannot be found, fetched or read, or fail a check.
        ConfigError: The choice contradicts itself.
    """
    _check_choice(choice)
    if not dataset.pinned:
        from tenbin.data.unpinned import read_made, read_unpinned

        if dataset.custom_dataset is not None:
            made = made_splits(dataset, {}) if made is None else made
            documents, recorded, notices = read_made(dataset, split, made)
        else:
            documents, recorded, notices = read_unpinned(dataset, split, choice)
        return DocumentSet(documents, tuple(recorded), tuple(notices))
    pinned, equal, notices = pinned_splits(dataset, split, choice)
    wanted = equal[0]
    source, paths = _find_paths(pinned, equal, choice, progress)
    files = [wanted.row_file(path) for path in paths]
    documents, counts, suspects, dropped = _make_documents(wanted.schema, files)
    published = source == "download" or all(f.identity.blob in wanted.blobs for f in files)
    documents, id_notices = _check_ids(pinned, documents, suspects, published)
    notices += id_notices
    if source != "sample_data":
        notices += _row_notices(pinned, wanted, sum(counts), files)
    part = f" {dataset.config}" if dataset.config else ""
    notices += [
        f"{pinned.name}{part} {wanted.name}: {count:,} row{'s' * (count != 1)} left out: {reason}"
        for reason, count in dropped.items()
    ]
    recorded = [
        _data_file(file, count, source, wanted) for file, count in zip(files, counts, strict=True)
    ]
    loaded = DocumentSet(documents, tuple(recorded), tuple(notices))
    return rows_of_subset(dataset, loaded, {}) if dataset.where else loaded


def load_samples(plan: FewshotPlan, file: str) -> DocumentSet:
    """Return the few-shot examples that a task file holds itself, or that its function gives.

    Args:
        plan: The task's plan, with `samples`.
        file: The task file, for messages.

    Raises:
        DataError: The function failed, or an example is no mapping.
    """
    rows = enumerate(sample_rows(plan, file))
    documents = DiskList(
        Document(f"sample-{number}", row.values, None, row.origin, number) for number, row in rows
    )
    given = plan.samples
    recorded: tuple[DataFile, ...] = ()
    if isinstance(given, TaskFunction):
        recorded = (DataFile(str(given), given.sha256, len(documents), "samples"),)
    return DocumentSet(documents, recorded)


def pinned_splits(
    dataset: Dataset, split: str, choice: DataChoice
) -> tuple[PinnedSet, tuple[Split, ...], list[str]]:
    """Return a set of the catalogue, the split of the version to read, and notices.

    Behind the split stand those of other versions that hold the same files.

    Raises:
        DataError: There is no such set or split.
    """
    pinned = find_pinned_set(dataset)
    version, notices = _choose_version(pinned, split, choice)
    config = dataset.config
    wanted = find_split(pinned, version, split, config)
    if choice.sample_data and pinned.sample_config and not (SAMPLE_DATA / wanted.folder).is_dir():
        other = pinned.sample_config
        notices.append(f"{pinned.name} has no sample rows in {config}: those in {other} are read")
        config = other
        wanted = find_split(pinned, version, split, config)
    equal = tuple(fill_config(same, config) for same in pinned.equal_splits(wanted))
    return pinned, equal, notices


def _check_choice(choice: DataChoice) -> None:
    if choice.sample_data and choice.data_dir is not None:
        raise ConfigError(
            "--sample_data and --data_dir exclude each other", "leave out one of them"
        )
    for collection, version in choice.versions.items():
        _check_version(collection, version, choice.sample_data)


def _check_version(collection: str, version: str, sample_data: bool) -> None:
    collections = collection_versions()
    if collection not in collections:
        raise ConfigError(
            f"--data_versions {collection}={version}: no collection of data sets is called "
            f"{collection!r}",
            f"collections with several versions: {', '.join(collections)}",
        )
    if version not in collections[collection]:
        raise ConfigError(
            f"--data_versions {collection}={version}: there is no such version of {collection}",
            f"its versions are {' and '.join(collections[collection])}",
        )
    default = collections[collection][0]
    if sample_data and version != default:
        raise ConfigError(
            f"the sample data has one version, {collection} {default}, not {version}",
            f"leave out --data_versions, or read {collection} {version} with --data_dir or a "
            "download",
        )


def _choose_version(pinned: PinnedSet, split: str, choice: DataChoice) -> tuple[str, list[str]]:
    """Return the version that the user wants; by default the first that has the split."""
    first = next(iter(pinned.versions))
    default = next((name for name, splits in pinned.versions.items() if split in splits), first)
    wanted = choice.versions.get(pinned.collection, default) if pinned.collection else default
    if wanted in pinned.versions:
        later = wanted == default != first and pinned.collection not in choice.versions
        only = f"{pinned.name} {split} is published from version {wanted} on, which is read"
        return wanted, [only] if later else []
    return default, [f"{pinned.name} is known in version {default} only, which is used"]


def _find_paths(
    pinned: PinnedSet, splits: tuple[Split, ...], choice: DataChoice, progress: Progress | None
) -> tuple[str, Sequence[Path]]:
    """Return the kind of source and the paths of the files."""
    if choice.sample_data:
        return "sample_data", find_files(pinned, splits, SAMPLE_DATA)
    if choice.data_dir is not None:
        return "data_dir", find_files(pinned, splits, expanded(choice.data_dir))
    if not splits[0].files:
        raise MissingData(
            f"{pinned.title} {splits[0].name} is not published, so that it cannot be downloaded",
            f"{how_to_bring(splits[0], Path('<folder>'))}, yours with --data_dir <folder>",
        )
    from tenbin.data.sources.cache import fetch_split

    return "download", fetch_split(pinned, splits, choice, progress)


def _make_documents(
    schema: str, files: Sequence[RowFile]
) -> tuple[DiskList[Document], list[int], frozenset[int], Counter[str]]:
    """Make documents of all rows.

    Returns:
        The documents, the rows per file, the hashes of repeated ids, and how many rows were left
        out for which reason.
    """
    make = SCHEMAS[schema]
    documents: DiskList[Document] = DiskList()
    seen = SeenIds()
    counts = []
    dropped: Counter[str] = Counter()
    number = 0
    for file in files:
        before = number
        for number, row in enumerate(file.rows(), start=before + 1):
            document = make(row, number - 1)
            if isinstance(document, Dropped):
                dropped[document.reason] += 1
                continue
            seen.add(document.id)
            documents.append(document)
        counts.append(number - before)
    return documents, counts, frozenset(seen.suspects()), dropped


def rows_of_subset(
    dataset: Dataset, whole: DocumentSet, parts: dict[tuple[str, ...], DiskList[Document]]
) -> DocumentSet:
    """Return the documents whose fields have the values of `dataset.where`.

    Args:
        dataset: The subset.
        whole: The documents of the split.
        parts: All subsets by these fields, by values; filled when it is empty, so that a split is
            divided once for all of its subsets.

    Raises:
        DataError: There is none.
    """
    if not parts:
        for document in whole.documents:
            values = tuple(str(document.fields.get(field)) for field in dataset.where)
            parts.setdefault(values, DiskList()).append(document)
    matching = parts.get(tuple(dataset.where.values()))
    if matching is None:
        wanted = ", ".join(f"{field} = {value}" for field, value in dataset.where.items())
        raise DataError(
            f"{dataset.name}: no row has {wanted}", "check that the copy of the data is complete"
        )
    return replace(whole, documents=matching)


def _check_ids(
    pinned: PinnedSet, documents: DiskList[Document], suspects: frozenset[int], published: bool
) -> tuple[DiskList[Document], list[str]]:
    if not suspects:
        return documents, []
    documents, repeated = _mark_repeats(documents, suspects, published)
    notice = f"{pinned.name}: {repeated} rows repeat an id; their ids get the suffix #2, #3, …"
    return documents, [notice] if repeated else []


def _mark_repeats(
    documents: DiskList[Document], suspects: frozenset[int], published: bool
) -> tuple[DiskList[Document], int]:
    """Number the rows of a repeated id; only published files may have any."""
    marked: DiskList[Document] = DiskList()
    first: dict[str, str] = {}
    times: Counter[str] = Counter()
    for document in documents:
        if hash(document.id) in suspects:
            if document.id in first and not published:
                raise DataError(
                    f"{document.origin}: the id `{document.id}` was already used "
                    f"({first[document.id]})",
                    "ids must be unique within a split: remove one of the two rows",
                )
            first.setdefault(document.id, document.origin)
            times[document.id] += 1
            if times[document.id] > 1:
                document = replace(document, id=f"{document.id}#{times[document.id]}")
        marked.append(document)
    return marked, times.total() - len(times)


def _row_notices(
    pinned: PinnedSet, split: Split, count: int, files: Sequence[RowFile]
) -> list[str]:
    notices = []
    if split.rows is not None and count != split.rows:
        notices.append(
            f"{pinned.name} {split.name} has {count:,} rows, the published file {split.rows:,}"
        )
    published = {Path(file.path).name for file in split.files}
    notices += [
        f"{file.path} is named like the published file but its content differs"
        for file in files
        if split.blobs and file.path.name in published and file.identity.blob not in split.blobs
    ]
    return notices


def _data_file(file: RowFile, rows: int, source: str, split: Split) -> DataFile:
    return DataFile(
        path=str(file.path),
        sha256=file.identity.sha256,
        rows=rows,
        source=source,
        version=None if source == "sample_data" or not split.files else split.version,
        verified=file.identity.blob in split.blobs,
    )
