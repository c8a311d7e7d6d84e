"""Rows of a data set on the hub, through the `datasets` library.

It knows how that library is called and how it fails, and nothing of what rows hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenbin.data.rows import Row
from tenbin.errors import DataError
from tenbin.records import Dataset


def open_hub_rows(
    dataset: Dataset, split: str, *, offline: bool
) -> tuple[Iterator[Row], str | None]:
    """Return the rows of one split, to be gone through once, and its revision or version if known.

    Raises:
        DataError: `datasets` is missing, or cannot load the set.
    """
    try:
        import datasets  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise DataError(
            f"`{dataset.name}` is neither a file nor a folder here, and loading it from the hub "
            "needs the `datasets` library",
            "pip install 'tenbin[datasets]'",
        ) from error
    options = {key: value for key, value in dataset.options.items() if key != "trust_remote_code"}
    if offline:
        options["download_config"] = datasets.DownloadConfig(local_files_only=True)
    try:
        loaded: Any = datasets.load_dataset(dataset.name, dataset.config, split=split, **options)
    # The library has no error class of its own: any failure here is one of loading the set.
    except Exception as error:
        raise _explain(dataset, split, error, offline) from error
    revision = dataset.options.get("revision")
    version = getattr(getattr(loaded, "info", None), "version", None)
    rows = _rows(loaded, f"{dataset.name} {split}")
    return rows, str(revision or version) if revision or version else None


def _rows(loaded: Any, origin: str) -> Iterator[Row]:
    number = 0
    for values in loaded:
        number += 1
        yield Row(values, f"{origin}, row {number}")
    if number == 0:
        raise DataError(f"{origin} holds no rows")


def _explain(dataset: Dataset, split: str, error: Exception, offline: bool) -> DataError:
    name = f"`{dataset.name}`" + (f" ({dataset.config})" if dataset.config else "")
    reason = str(error).strip().split("\n")[0] or type(error).__name__
    if "script" in reason.lower() or "trust_remote_code" in reason:
        return DataError(
            f"{name} is a loading script, and tenbin runs no code from the hub: {reason}",
            "use a copy in a data format (many sets have a branch `refs/convert/parquet`: add "
            "dataset_kwargs: {revision: refs/convert/parquet}), or a folder with files",
        )
    where = "offline, so only what is cached can be read" if offline else "check name and network"
    return DataError(
        f"{name} {split} could not be loaded: {type(error).__name__}: {reason}",
        f"{where}; or give <folder>/{dataset.name}/{split}.jsonl with --data_dir <folder>",
    )
