"""Files to rows: JSON lines, JSON, parquet, CSV and texts, plain or gzipped, one row at a time.

It knows file formats and where in a file each row stands. It knows no data set: what a row must
hold is for `schemas` to say. No file is held whole, but for a `.json` that is one value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tenbin.documents.identity import identify
from tenbin.documents.lines import numbered_lines, unreadable, whole_text
from tenbin.documents.nesting import check_object, whole_rows
from tenbin.documents.parsing import parse_json
from tenbin.documents.rows import Row
from tenbin.documents.tables import csv_rows, parquet_rows
from tenbin.errors import DataError

SUFFIXES = (".jsonl.gz", ".jsonl", ".json.gz", ".json", ".parquet")


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of rows, what identifies its bytes, and how it is to be read."""

    path: Path
    sha256: str
    blob: str
    """The git blob id: SHA-1 over a short header and the content."""
    field: str | None = None
    delimiter: str = ","
    by_line: bool = False

    def rows(self) -> Iterator[Row]:
        """Yield the rows as they are read.

        Raises:
            DataError: The file cannot be read or holds none; the message names file and line.
        """
        rows = self._read()
        first = next(rows, None)
        if first is None:
            raise DataError(
                f"{self.path} holds no rows", "it may be the rest of a broken copy: replace it"
            )
        yield first
        yield from rows

    def _read(self) -> Iterator[Row]:
        name = self.path.name.lower()
        if name.endswith(".parquet"):
            return parquet_rows(self.path)
        name = name.removesuffix(".gz")
        if name.endswith((".csv", ".tsv")):
            return csv_rows(self.path, "\t" if name.endswith(".tsv") else self.delimiter)
        if name.endswith(".json"):
            return _json_rows(self.path, self.field)
        if name.endswith(".txt"):
            return _text_lines(self.path) if self.by_line else _text_file(self.path)
        return _line_rows(self.path)


def open_rows(
    path: Path, *, field: str | None = None, delimiter: str = ",", by_line: bool = False
) -> RowFile:
    """Take a file's checksums, its format told by its name.

    Args:
        path: The file.
        field: For JSON, the key under which the rows stand.
        delimiter: For CSV, what separates the columns.
        by_line: For `.txt`, whether each line is a document of its own, or the file is one.

    Raises:
        DataError: The file cannot be read.
    """
    try:
        identity = identify(path)
    except OSError as error:
        raise unreadable(path, error) from error
    return RowFile(path, identity.sha256, identity.blob, field, delimiter, by_line)


def _text_lines(path: Path) -> Iterator[Row]:
    """Each line as it stands; what holds white space alone is no document."""
    for number, line in numbered_lines(path):
        if line.strip():
            yield Row({"text": line.removesuffix("\r")}, f"{path}, line {number}")


def _text_file(path: Path) -> Iterator[Row]:
    text = whole_text(path)
    if text.strip():
        yield Row({"id": path.name, "text": text}, str(path))


def _line_rows(path: Path) -> Iterator[Row]:
    for number, line in numbered_lines(path):
        if line and not line.isspace():
            origin = f"{path}, line {number}"
            yield Row(check_object(parse_json(line, origin), origin), origin)


def _json_rows(path: Path, field: str | None) -> Iterator[Row]:
    """Read a `.json` file: a list, a SQuAD-like object, or one object a line as JGLUE has it."""
    if field is None and _looks_like_lines(path):
        return _line_rows(path)
    return whole_rows(path, field)


def _looks_like_lines(path: Path) -> bool:
    """Tell whether the first line is an object of its own and no SQuAD-like whole."""
    lines = (line for _, line in numbered_lines(path))
    first = next((line for line in lines if line and not line.isspace()), "").strip()
    if not (first.startswith("{") and first.endswith("}")):
        return False
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return True
    return not (isinstance(value, dict) and isinstance(value.get("data"), list))
