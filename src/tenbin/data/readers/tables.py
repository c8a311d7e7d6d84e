"""Rows of Parquet and CSV files, read in batches."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tenbin.data.readers.data_file import Source, numbered_lines
from tenbin.data.rows import Row
from tenbin.errors import DataError

NOTE = b"tenbin"
"""Key of a Parquet file's metadata under which `tenbin data fetch` notes where rows come from."""
_BATCH = 1000
_BUFFER = 1 << 16
"""Bytes read ahead per column; by default pyarrow reads whole row groups, even whole files."""
_KINDS: tuple[Callable[[str], Any], ...] = (int, float, str)
"""Types of a column, from the narrowest to the widest."""


def parquet_rows(source: Source) -> Iterator[Row]:
    """Yield the rows of a parquet file."""
    import pyarrow  # type: ignore[import-untyped,unused-ignore]
    import pyarrow.parquet  # type: ignore[import-untyped,unused-ignore]

    number = 0
    try:
        with (
            source.in_any_order() as raw,
            pyarrow.parquet.ParquetFile(raw, pre_buffer=False, buffer_size=_BUFFER) as file,
        ):
            for batch in file.iter_batches(batch_size=_BATCH):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(values, f"{source.path}, row {number}")
    except (pyarrow.ArrowException, OSError) as error:
        raise _incomplete(source, error) from error
    except (ValueError, OverflowError) as error:
        # Bytes that are not UTF-8 in a column of texts, and dates that do not exist.
        raise DataError(
            f"{source.path}, after row {number}: a value cannot be read: {error}"
        ) from error


def parquet_table(source: Source) -> Any:
    """Return a parquet file as an arrow table."""
    import pyarrow
    import pyarrow.parquet

    try:
        with source.in_any_order() as raw:
            return pyarrow.parquet.read_table(raw, pre_buffer=False)
    except (pyarrow.ArrowException, OSError) as error:
        raise _incomplete(source, error) from error


def noted_revision(path: Path) -> str | None:
    """Return the revision of the data set that a fetched Parquet file holds; None: not noted."""
    import pyarrow.parquet

    note = (pyarrow.parquet.read_schema(path).metadata or {}).get(NOTE)
    if note is None:
        return None
    try:
        revision = json.loads(note)["revision"]
    except (ValueError, TypeError, KeyError):
        return None
    return revision if isinstance(revision, str) else None


def _incomplete(source: Source, error: Exception) -> DataError:
    return DataError(
        f"{source.path} is not a complete Parquet file: {error}",
        "it may be truncated: copy it again",
    )


def text_rows(
    source: Source, delimiter: str, columns: tuple[str, ...] | None, quoted: bool
) -> Iterator[Row]:
    """Yield the rows of a CSV file as texts: a question's option "10" stays a text.

    Args:
        source: The file.
        delimiter: What separates the columns.
        columns: Their names, for a file without a heading; None: its first line has them.
        quoted: Whether quotation marks enclose cells; otherwise they are part of the text.
    """
    rows = _records(source, delimiter, columns, quoted)
    _, heading = next(rows, (0, []))
    for line, cells in rows:
        yield Row(dict(zip(heading, cells, strict=True)), f"{source.path}, line {line}")


def csv_rows(
    source: Source, delimiter: str, columns: tuple[str, ...] | None = None
) -> Iterator[Row]:
    """Yield the rows of a CSV file; columns of numbers become numbers.

    The type of a column is known only after its last cell, so that the file is read twice.

    Args:
        source: The file.
        delimiter: What separates the columns.
        columns: Their names, for a file without a heading; None: its first line has them.
    """
    kinds = _column_kinds(source, delimiter, columns)
    rows = _records(source, delimiter, columns)
    _, heading = next(rows, (0, []))
    for line, cells in rows:
        values = {
            name: None if cell == "" else kind(cell)
            for name, kind, cell in zip(heading, kinds, cells, strict=True)
        }
        yield Row(values, f"{source.path}, line {line}")


def _column_kinds(
    source: Source, delimiter: str, columns: tuple[str, ...] | None
) -> list[Callable[[str], Any]]:
    """The type of each column: int or float if every cell is one, since CSV has only text."""
    rows = _records(source, delimiter, columns)
    _, heading = next(rows, (0, []))
    undecided = list(range(len(heading)))
    takes = [0] * len(heading)
    for _, cells in rows:
        for column in undecided:
            while not _takes(_KINDS[takes[column]], cells[column]):
                takes[column] += 1
                undecided = [at for at in undecided if _KINDS[takes[at]] is not str]
    return [_KINDS[at] for at in takes]


def _takes(kind: Callable[[str], Any], cell: str) -> bool:
    try:
        kind(cell or "0")
    except ValueError:
        return False
    return True


def _records(
    source: Source, delimiter: str, columns: tuple[str, ...] | None, quoted: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of the heading and of each row, with the line that they end in."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
        raise DataError(
            f"{source.path}: {delimiter!r} cannot separate the columns of a CSV file",
            "`delimiter` is one character, such as a comma or a tab",
        )
    lines = _universal_lines(source)
    reader = (
        csv.reader(lines, delimiter=delimiter, strict=True)
        if quoted
        else csv.reader(lines, delimiter=delimiter, strict=True, quoting=csv.QUOTE_NONE)
    )
    try:
        heading = next(reader, None) if columns is None else list(columns)
        if heading is None:
            return
        yield reader.line_num, heading
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(heading):
                raise DataError(
                    f"{source.path}, line {reader.line_num}: {len(cells)} columns, but "
                    f"{'the heading has' if columns is None else 'column_names names'} "
                    f"{len(heading)}"
                )
            yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{source.path}, line {reader.line_num}: broken CSV: {error}") from error


def _universal_lines(source: Source) -> Iterator[str]:
    """Yield lines as CSV counts them: a carriage return alone ends one too."""
    for _, line in numbered_lines(source):
        if line.find("\r", 0, -1) < 0:
            yield f"{line}\n"
        else:
            yield from io.StringIO(f"{line}\n", newline="")
