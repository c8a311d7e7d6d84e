"""Rows of the hub, through the `datasets` library."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from tenbin.data.sources.choice import DataChoice
from tenbin.data.sources.places import check_hub, key_of, split_folders
from tenbin.errors import DataError
from tenbin.files.hub_switches import hub_offline
from tenbin.records import Dataset

_DROPPED = frozenset({"trust_remote_code", "streaming"})
"""Options that tenbin does not pass on: it runs no code of data sets, as the library has not since
version 4, and needs all rows, however they are transferred."""
_BATCH = 1000
_COMMIT = re.compile(r"hf://datasets/[^@ ]+@([0-9a-f]{40})/")


def datasets_library(needed_for: str) -> Any:
    """Import `datasets`.

    Raises:
        DataError: It is not installed; the message begins with what needs it.
    """
    try:
        import datasets  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise DataError(
            f"{needed_for} needs the `datasets` library", "pip install 'tenbin[datasets]'"
        ) from error
    return datasets


def each_row(rows: Any) -> Iterator[Any]:
    """Yield the rows of a `datasets.Dataset`, or of any other iterable, in their order.

    A data set is read in batches: row by row takes five times as long.
    """
    kind = getattr(sys.modules.get("datasets"), "Dataset", None)
    plain = isinstance(kind, type) and isinstance(rows, kind)
    table: Any = rows
    if not plain or table.format["type"] is not None:
        yield from table
        return
    for batch in table.iter(batch_size=_BATCH):
        for values in zip(*batch.values(), strict=True):
            yield dict(zip(batch, values, strict=True))


def load_hub_split(
    dataset: Dataset, split: str, choice: DataChoice
) -> tuple[Any, str | None, list[str]]:
    """Return the rows of one split, its revision or version if known, and notices.

    Raises:
        DataError: `datasets` is missing, the task file may not name this set, or the library
            cannot load it.
    """
    check_hub(dataset, choice)
    library = datasets_library(
        f"`{dataset.name}` is neither a file nor a folder here, and loading it from the hub"
    )
    offline = choice.forbids_network
    options = {key: value for key, value in dataset.options.items() if key not in _DROPPED}
    if offline:
        options["download_config"] = library.DownloadConfig(local_files_only=True)
    try:
        with hub_offline(offline):
            loaded: Any = library.load_dataset(dataset.name, dataset.config, split=split, **options)
    # The library has no error class of its own: any failure here is one of loading the set.
    except Exception as error:
        raise _hub_error(dataset, split, error, offline) from error
    notices = []
    if dataset.options.get("trust_remote_code"):
        notices = [
            f"{key_of(dataset, 'trust_remote_code')} is ignored: tenbin runs no code of data sets"
        ]
    return loaded, _version(dataset, loaded), notices


def _version(dataset: Dataset, loaded: Any) -> str | None:
    """Return the revision that the task file names, else the commit or the version, if known."""
    info = getattr(loaded, "info", None)
    addresses = " ".join(getattr(info, "download_checksums", None) or ())
    commit = _COMMIT.search(addresses)
    known = dataset.options.get("revision") or (commit and commit[1])
    version = known or getattr(info, "version", None)
    return str(version) if version else None


def _hub_error(dataset: Dataset, split: str, error: Exception, offline: bool) -> DataError:
    name = f"`{dataset.name}`" + (f" ({dataset.config})" if dataset.config else "")
    reason = str(error).strip().split("\n")[0] or type(error).__name__
    if "script" in reason.lower() or "trust_remote_code" in reason:
        return DataError(
            f"{name} is a loading script, and tenbin does not run code from the hub: {reason}",
            "use a copy in a data format (many sets have a branch `refs/convert/parquet`: add "
            "dataset_kwargs: {revision: refs/convert/parquet}), or a folder with files",
        )
    where = "offline, so only what is cached can be read" if offline else "check name and network"
    place = split_folders(dataset)[0] / f"{split}.jsonl"
    return DataError(
        f"{name} {split} could not be loaded: {type(error).__name__}: {reason}",
        f"{where}; or give <folder>/{place} with --data_dir <folder>, which `tenbin data fetch` "
        "fills where there is a network",
    )
