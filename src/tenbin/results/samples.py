"""Every document of a run as a row of a Parquet file that pandas, polars and duckdb open.

Knows the file; `columns` says what it has, `rows` what goes into them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from tenbin.errors import ResultError
from tenbin.results.columns import RowError, check_columns, check_row, samples_schema

# Rows a group of the file: small enough to be made and read on demand, large enough to compress.
_ROWS_A_GROUP = 1_000


@dataclass(frozen=True, slots=True)
class Written:
    """What identifies a samples file."""

    sha256: str
    bytes: int
    rows: int


class _Sink:
    """A file that is hashed as it is written."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def write_samples(
    path: Path, rows: Iterable[Mapping[str, Any]], facts: Mapping[str, str] | None = None
) -> Written:
    """Write rows in groups, so that memory does not grow with their number.

    Args:
        path: The file.
        rows: The documents.
        facts: Kept in the file beside the rows: which run it belongs to.
    """
    import pyarrow.parquet as pq

    schema, count = samples_schema(), 0
    if facts:
        schema = schema.with_metadata(dict(facts))
    with path.open("wb") as file:
        sink = _Sink(file)
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            for group in _grouped(rows):
                count += len(group)
                writer.write_table(_table(group, schema))
        return Written(sink.digest.hexdigest(), file.tell(), count)


def _table(group: Sequence[Mapping[str, Any]], schema: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.Table.from_pylist(group, schema=schema)
    except UnicodeEncodeError:
        # A server may send half a surrogate pair, which is no character and has no place in a file.
        return pa.Table.from_pylist([_encodable(row) for row in group], schema=schema)


def _encodable(value: Any) -> Any:
    """A row with U+FFFD in place of each half of a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {name: _encodable(one) for name, one in value.items()}
    return [_encodable(one) for one in value] if isinstance(value, list) else value


def samples_digest(path: Path) -> str:
    """The sha256 of a samples file; worked out once for a file that stays the same.

    Raises:
        ResultError: The file is missing or cannot be read.
    """
    try:
        found = path.stat()
        return _digest(path, found.st_size, found.st_mtime_ns, found.st_ino)
    except OSError as error:
        raise _unreadable(path, error) from error


@lru_cache(maxsize=64)
def _digest(path: Path, size: int, changed: int, inode: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def samples_facts(path: Path) -> dict[str, str]:
    """What a samples file says of itself beside its rows; nothing where it says nothing.

    Raises:
        ResultError: The file is missing or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        told = pq.read_metadata(path).metadata or {}
        return {key.decode(): value.decode() for key, value in told.items()}
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ResultError:
    if isinstance(error, FileNotFoundError):
        return ResultError(f"{path}: the samples are missing", "run the same command again")
    return ResultError(f"{path}: the samples cannot be read: {error}", "run the same command again")


def _grouped(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    group: list[Mapping[str, Any]] = []
    for row in rows:
        group.append(row)
        if len(group) == _ROWS_A_GROUP:
            yield group
            group = []
    if group:
        yield group


def read_samples(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a samples file, a group at a time, whole or in some columns.

    Columns that runs of earlier shapes do not have are null in every row.

    Raises:
        ResultError: When the file is missing or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            check_columns(schema)
            wanted = samples_schema().names if columns is None else columns
            absent = dict.fromkeys(name for name in wanted if schema.get_field_index(name) < 0)
            for batch in file.iter_batches(batch_size=_ROWS_A_GROUP, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    check_row(row)
                    yield {**row, **absent} if absent else row
    except RowError as error:
        raise ResultError(f"{path}, row {number}: {error}", "run the same command again") from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error
