"""From a data set's name to its documents: the way through this stage.

It joins the modules beside it: `pinned` says what is published, `locate` or `download` finds the
files, `reading` and `schemas` make documents of them. Sets that are not pinned go to `unpinned`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tenbin.documents.choice import JGLUE_VERSIONS, DataChoice, Progress
from tenbin.documents.locate import find_files, how_to_bring
from tenbin.documents.pinned import (
    CATALOG,
    PinnedSet,
    Split,
    fill_config,
    find_pinned_set,
    find_split,
)
from tenbin.documents.reading import FileRows, read_file
from tenbin.documents.schemas import SCHEMAS
from tenbin.errors import ConfigError, DataError
from tenbin.records import DataFile, Dataset, Document

SAMPLE_DATA = CATALOG / "sample_data"


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """The documents of a split and what they were read from."""

    documents: tuple[Document, ...]
    files: tuple[DataFile, ...]
    notices: tuple[str, ...] = ()
    """What a reader of the scores should know of the data."""


def load_documents(
    dataset: Dataset, split: str, choice: DataChoice, progress: Progress | None = None
) -> DocumentSet:
    """Return the documents of one split.

    Args:
        dataset: The data set as a task names it.
        split: `train`, `validation` or `test`, or any split of a set that is not pinned.
        choice: Where the user wants rows from.
        progress: Called while files are downloaded.

    Raises:
        DataError: The rows cannot be had or are not what the task needs.
        ConfigError: The choice contradicts itself.
    """
    _check_choice(choice)
    if not dataset.pinned:
        from tenbin.documents.unpinned import read_unpinned

        documents, files, notices = read_unpinned(dataset, split, choice)
        return DocumentSet(tuple(documents), tuple(files), tuple(notices))
    pinned = find_pinned_set(dataset)
    version, notices = _choose_version(pinned, choice)
    wanted = find_split(pinned, version, split, dataset.config)
    equal = tuple(fill_config(same, dataset.config) for same in pinned.equal_splits(wanted))
    source, paths = _find_paths(pinned, equal, choice, progress)
    contents = [read_file(path) for path in paths]
    files = [_data_file(content, source, wanted) for content in contents]
    published = source == "download" or all(file.verified for file in files)
    documents, id_notices = _make_documents(pinned, contents, published)
    notices += id_notices
    if source != "sample_data":
        notices += _row_notices(pinned, wanted, len(documents), contents)
    return DocumentSet(tuple(documents), tuple(files), tuple(notices))


def _check_choice(choice: DataChoice) -> None:
    if choice.sample_data and choice.data_dir is not None:
        raise ConfigError(
            "--sample_data and --data_dir exclude each other", "leave out one of them"
        )
    if choice.jglue_version not in JGLUE_VERSIONS:
        raise ConfigError(
            f"JGLUE version `{choice.jglue_version}` is not known",
            f"--jglue_version is {' or '.join(JGLUE_VERSIONS)}",
        )
    if choice.sample_data and choice.jglue_version != JGLUE_VERSIONS[0]:
        raise ConfigError(
            f"the sample data has one version, not JGLUE {choice.jglue_version}",
            "leave out --jglue_version, or use --data_dir or a download for version 1.3",
        )


def _choose_version(pinned: PinnedSet, choice: DataChoice) -> tuple[str, list[str]]:
    if choice.jglue_version in pinned.versions:
        return choice.jglue_version, []
    only = next(iter(pinned.versions))
    if pinned.name.startswith("jglue/"):
        return only, [f"{pinned.name} is known in version {only} only, which is used"]
    return only, []


def _find_paths(
    pinned: PinnedSet, splits: tuple[Split, ...], choice: DataChoice, progress: Progress | None
) -> tuple[str, Sequence[Path]]:
    """Return how the files were had and where they are."""
    if choice.sample_data:
        return "sample_data", find_files(pinned, splits, SAMPLE_DATA)
    if choice.data_dir is not None:
        return "data_dir", find_files(pinned, splits, choice.data_dir.expanduser())
    if not splits[0].files:
        raise DataError(
            f"{pinned.title} {splits[0].name} is published nowhere, so that nothing can be fetched",
            f"{how_to_bring(splits[0], Path('<folder>'))}, yours with --data_dir <folder>",
        )
    from tenbin.documents.cache import fetch_split

    return "download", fetch_split(pinned, splits, choice, progress)


def _make_documents(
    pinned: PinnedSet, contents: Sequence[FileRows], published: bool
) -> tuple[list[Document], list[str]]:
    """Check rows and ids; an id used twice is forgiven in published files alone."""
    make = SCHEMAS[pinned.schema]
    rows = [row for content in contents for row in content.rows]
    seen: dict[str, Document] = {}
    repeated: Counter[str] = Counter()
    for number, row in enumerate(rows):
        document = replace(make(row, number), row=number)
        other = seen.get(document.id)
        if other is not None and not published:
            raise DataError(
                f"{document.origin}: the id `{document.id}` was already used ({other.origin})",
                "ids must be unique within a split: remove one of the two rows",
            )
        if other is not None:
            repeated[document.id] += 1
            document = replace(document, id=f"{document.id}#{repeated[document.id] + 1}")
        seen[document.id] = document
    notice = f"{pinned.name}: {repeated.total()} rows repeat an id; they are marked #2, #3, …"
    return list(seen.values()), [notice] if repeated else []


def _row_notices(
    pinned: PinnedSet, split: Split, count: int, contents: Sequence[FileRows]
) -> list[str]:
    notices = []
    if split.rows is not None and count != split.rows:
        notices.append(
            f"{pinned.name} {split.name} has {count:,} rows, the published file {split.rows:,}"
        )
    published = {Path(file.path).name for file in split.files}
    notices += [
        f"{content.path} is named like the published file but its content differs"
        for content in contents
        if split.blobs and content.path.name in published and content.blob not in split.blobs
    ]
    return notices


def _data_file(content: FileRows, source: str, split: Split) -> DataFile:
    return DataFile(
        path=str(content.path),
        sha256=content.sha256,
        rows=len(content.rows),
        source=source,
        version=None if source == "sample_data" or not split.files else split.version,
        verified=content.blob in split.blobs,
    )
