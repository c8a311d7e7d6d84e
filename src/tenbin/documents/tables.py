"""Rows of parquet and CSV files.

It knows these two formats and no data set.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from tenbin.documents.rows import Row
from tenbin.errors import DataError


def parquet_rows(path: Path, content: bytes) -> Iterator[Row]:
    """Yield the rows of a parquet file."""
    import pyarrow  # type: ignore[import-untyped,unused-ignore]
    import pyarrow.parquet  # type: ignore[import-untyped,unused-ignore]

    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(content))
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path} is no complete parquet file: {error}", "it may be cut off: copy it again"
        ) from error
    number = 0
    for batch in table.to_batches():
        for values in batch.to_pylist():
            number += 1
            yield Row(values, f"{path}, row {number}")


def csv_rows(path: Path, text: str, delimiter: str) -> Iterator[Row]:
    """Yield the rows of a CSV file with a heading; columns of numbers become numbers."""
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    try:
        for values in reader:
            origin = f"{path}, line {reader.line_num}"
            if None in values or None in values.values():
                raise DataError(f"{origin}: not as many columns as the heading has")
            rows.append(Row(values, origin))
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: broken CSV: {error}") from error
    numbers = {name: _number_type(rows, name) for name in reader.fieldnames or ()}
    for row in rows:
        yield Row(
            {
                name: None if value == "" else numbers[name](value)
                for name, value in row.values.items()
            },
            row.origin,
        )


def _number_type(rows: list[Row], name: str) -> type:
    """Return int or float when every cell of a column is one: CSV itself knows only text."""
    for kind in (int, float):
        try:
            for row in rows:
                kind(row.values[name] or 0)
        except ValueError:
            continue
        return kind
    return str
