"""Files to rows: JSON lines, JSON, parquet, CSV and texts, plain or gzipped, one row at a time.

It knows file formats and where in a file each row stands. It knows no data set: what a row must
hold is for `schemas` to say. No file is held whole, but for a `.json` that is one value.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tenbin.data.checksums import Identity
from tenbin.data.data_file import Source, open_source
from tenbin.data.json_files import check_object, whole_rows
from tenbin.data.json_rows import parse_json
from tenbin.data.lines import (
    LONGEST_LINE,
    decoded,
    lines_of,
    numbered_lines,
    rest_of,
    whole_text,
)
from tenbin.data.rows import Row
from tenbin.data.tables import csv_rows, parquet_rows
from tenbin.errors import DataError

SUFFIXES = (".jsonl.gz", ".jsonl", ".json.gz", ".json", ".parquet")


@dataclass(slots=True)
class RowFile:
    """A file of rows, how it is to be read, and what identifies the bytes that were read."""

    path: Path
    field: str | None = None
    """For JSON, the key under which the rows stand."""
    delimiter: str = ","
    """For CSV, what separates the columns."""
    by_line: bool = False
    """For `.txt`, whether each line is a document of its own, or the file is one."""
    _identity: Identity | None = None

    @property
    def identity(self) -> Identity:
        """The checksums of the bytes that the rows were made of, once all are read."""
        if self._identity is None:
            raise RuntimeError(f"the rows of {self.path} were not read to their end")
        return self._identity

    def rows(self) -> Iterator[Row]:
        """Yield the rows as they are read.

        Raises:
            DataError: The file cannot be read, changes meanwhile, or holds none; the message names
                file and line.
        """
        empty = True
        with open_source(self.path) as source:
            for row in self._read(source):
                empty = False
                yield row
            self._identity = source.identity
        if empty:
            raise DataError(
                f"{self.path} holds no rows", "it may be the rest of a broken copy: replace it"
            )

    def _read(self, source: Source) -> Iterator[Row]:
        name = self.path.name.lower()
        if name.endswith(".parquet"):
            return parquet_rows(source)
        name = name.removesuffix(".gz")
        if name.endswith((".csv", ".tsv")):
            return csv_rows(source, "\t" if name.endswith(".tsv") else self.delimiter)
        if name.endswith(".json"):
            return _json_rows(source, self.field)
        if name.endswith(".txt"):
            return _text_lines(source) if self.by_line else _text_file(source)
        return _line_rows(source.path, numbered_lines(source))


def _text_lines(source: Source) -> Iterator[Row]:
    """Each line as it stands; what holds white space alone is no document."""
    for number, line in numbered_lines(source):
        if line.strip():
            yield Row({"text": line.removesuffix("\r")}, f"{source.path}, line {number}")


def _text_file(source: Source) -> Iterator[Row]:
    text = whole_text(source)
    if text.strip():
        yield Row({"id": source.path.name, "text": text}, str(source.path))


def _line_rows(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Row]:
    for number, line in lines:
        if line and not line.isspace():
            origin = f"{path}, line {number}"
            yield Row(check_object(parse_json(line, origin), origin), origin)


def _json_rows(source: Source, field: str | None) -> Iterator[Row]:
    """Read a `.json` file: a list, a SQuAD-like object, or one object a line as JGLUE has it."""
    path = source.path
    with source.content() as file:
        begun = b""
        while not begun.strip() and (line := file.readline(LONGEST_LINE)):
            begun += line
        if field is None and _looks_like_lines(decoded(path, begun, 1)):
            yield from _line_rows(path, lines_of(path, cast(BinaryIO, _Rejoined(begun, file))))
            return
        text = rest_of(path, file, begun)
    yield from whole_rows(path, text, field)


class _Rejoined:
    """A file whose first lines were read already, as if they were not."""

    def __init__(self, begun: bytes, file: BinaryIO) -> None:
        self._begun = io.BytesIO(begun)
        self._file = file

    def readline(self, size: int) -> bytes:
        return self._begun.readline(size) or self._file.readline(size)


def _looks_like_lines(begun: str) -> bool:
    """Tell whether the first line is an object of its own and no SQuAD-like whole."""
    first = begun.removeprefix("\ufeff").strip()
    if not (first.startswith("{") and first.endswith("}")):
        return False
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return True
    return not (isinstance(value, dict) and isinstance(value.get("data"), list))
