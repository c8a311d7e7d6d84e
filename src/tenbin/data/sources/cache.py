"""The cache of downloaded files, each checked by its git blob id.

Where no blob id is published, the checksum of the first download is kept and compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tenbin.data.readers.data_file import identify
from tenbin.data.sources.choice import DataChoice, Progress
from tenbin.data.sources.download import (
    FileGoneError,
    download,
    file_address,
    open_client,
)
from tenbin.data.sources.pinned import PinnedSet, PublishedFile, Split, own_place
from tenbin.errors import AlteredFile, DownloadError
from tenbin.files.atomic import write_atomically
from tenbin.files.disk_errors import unwritten

if TYPE_CHECKING:
    import httpx


def fetch_split(
    pinned: PinnedSet, splits: tuple[Split, ...], choice: DataChoice, progress: Progress | None
) -> tuple[Path, ...]:
    """Return the files of a split, from the cache or from where they are published.

    Args:
        pinned: The data set.
        splits: The split, then others that hold the same files.
        choice: Where the cache is and whether the network may be used.
        progress: Called as bytes arrive.

    Raises:
        DownloadError: The files cannot be fetched, or are not the published ones.
    """
    if kept := cached_files(splits, choice.cache_dir):
        return kept
    try:
        if choice.forbids_network:
            raise DownloadError(
                f"{pinned.title} {splits[0].name} is not in the cache {choice.cache_dir}, "
                "and tenbin is offline",
                "run once online, or give the files with --data_dir, or use --sample_data",
            )
        return _fetch_files(splits[0], choice.cache_dir, progress)
    except OSError as error:
        failed = unwritten(choice.cache_dir, error, "choose another place with TENBIN_CACHE")
        raise DownloadError(f"the download cache: {failed.message}", failed.hint) from error
    except DownloadError as error:
        if not pinned.withdrawn:
            raise
        place = own_place(splits[0], Path("<folder>"))
        raise DownloadError(
            f"{pinned.title} {splits[0].name} cannot be downloaded: {error.message}",
            f"{pinned.withdrawn}. Put your copy at {place} (or the same rows as .jsonl) and run "
            "with --data_dir <folder>",
        ) from error


def cached_files(splits: tuple[Split, ...], cache: Path) -> tuple[Path, ...]:
    """Return the cached files of the first of the splits that has all of them, undamaged."""
    for split in splits:
        kept = tuple(_kept_copy(split, file, cache) for file in split.files)
        if kept and all(path is not None for path in kept):
            return tuple(path for path in kept if path is not None)
    return ()


def cache_place(split: Split, cache: Path) -> Path:
    """Return where the first file of a split lies, once it is downloaded."""
    return _place(split, split.files[0].path, cache)


def _kept_copy(split: Split, file: PublishedFile, cache: Path) -> Path | None:
    """Return the cached copy of a file when it is there and undamaged."""
    for path in (file.path, *split.otherwise):
        kept = _place(split, path, cache)
        if kept.is_file() and _expected(split, path, file, cache) == _actual(kept, file):
            return kept
    return None


def _fetch_files(split: Split, cache: Path, progress: Progress | None) -> tuple[Path, ...]:
    with open_client(split.host) as client:
        return tuple(_fetch_any(client, split, file, cache, progress) for file in split.files)


def _fetch_any(
    client: httpx.Client, split: Split, file: PublishedFile, cache: Path, progress: Progress | None
) -> Path:
    """Fetch a file from the first of its paths that exists."""
    gone: FileGoneError | None = None
    for path in (file.path, *split.otherwise):
        try:
            return _fetch_file(client, split, file, path, cache, progress)
        except FileGoneError as error:
            gone = gone or error
    assert gone is not None
    raise gone


def _fetch_file(
    client: httpx.Client,
    split: Split,
    file: PublishedFile,
    path: str,
    cache: Path,
    progress: Progress | None,
) -> Path:
    target = _place(split, path, cache)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target) as part:
        # Another process may have fetched it while this one waited for its turn.
        kept = _kept_copy(split, file, cache)
        if kept is not None:
            return kept
        url = file_address(split.host, split.repository, split.revision, path)
        download(client, url, part, checked=file.blob is not None, progress=progress)
        _check_content(split, file, path, part, cache)
        part.replace(target)
    return target


def _check_content(split: Split, file: PublishedFile, path: str, part: Path, cache: Path) -> None:
    """Compare a download with what it must be; delete it when it is something else."""
    expected, actual = _expected(split, path, file, cache), _actual(part, file)
    if expected == actual:
        return
    lock = _lock_place(split, path, cache)
    if expected is None:
        lock.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(lock, f"{actual}  {path}\n")
        return
    part.unlink()
    name = f"{split.repository} {path}"
    if file.blob is not None:
        raise AlteredFile(
            f"{name} is not the published file: git blob id {actual}, expected {expected}; "
            "the download was deleted",
            "try again; if it persists, a mirror or proxy alters files: use --data_dir",
        )
    raise AlteredFile(
        f"{name} has changed since its first download: SHA-256 {actual}, first {expected}; "
        "the download was deleted",
        f"scores on it would not be comparable; to accept the change, delete {lock}",
    )


def _expected(split: Split, path: str, file: PublishedFile, cache: Path) -> str | None:
    """Return the checksum a file must have; None when it is seen for the first time."""
    if file.blob is not None:
        return file.blob
    lock = _lock_place(split, path, cache)
    return lock.read_text(encoding="utf-8").split()[0] if lock.is_file() else None


def _actual(path: Path, file: PublishedFile) -> str:
    found = identify(path)
    return found.blob if file.blob else found.sha256


def _place(split: Split, path: str, cache: Path) -> Path:
    revision = split.revision.replace("/", "_")
    return cache / "datasets" / split.host / split.repository / revision / path


def _lock_place(split: Split, path: str, cache: Path) -> Path:
    revision = split.revision.replace("/", "_")
    return cache / "first_seen" / split.host / split.repository / revision / f"{path}.sha256"


@contextmanager
def _alone(target: Path) -> Iterator[Path]:
    """Let one process at a time fetch a file; yield the partial file to write to.

    Where files cannot be locked, each process writes a partial file of its own instead.
    """
    try:
        import fcntl
    except ImportError:
        yield target.with_name(f"{target.name}.{os.getpid()}.part")
        return
    with target.with_name(f"{target.name}.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            part = target.with_name(f"{target.name}.part")
        except OSError:
            part = target.with_name(f"{target.name}.{os.getpid()}.part")
        yield part
