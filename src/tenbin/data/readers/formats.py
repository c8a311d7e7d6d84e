"""Files to rows: JSON lines, JSON, Parquet, CSV, XML, Python literals and plain texts.

All may be gzipped. Rows are yielded as they are read. Only a `.json` file that is one value must be
parsed whole; each of its records is released as it is yielded.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any, BinaryIO, cast

from tenbin.data.readers.data_file import (
    LONGEST_LINE,
    Identity,
    Source,
    decoded,
    lines_of,
    numbered_lines,
    open_source,
    rest_of,
    whole_text,
)
from tenbin.data.readers.python_literals import python_rows
from tenbin.data.readers.tables import (
    csv_rows,
    noted_revision,
    parquet_rows,
    parquet_table,
    text_rows,
)
from tenbin.data.readers.xml import xml_rows
from tenbin.data.rows import Row, describe_value, parse_json
from tenbin.errors import DataError
from tenbin.records import DataFile

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
    columns: tuple[str, ...] | None = None
    """For CSV, the names of the columns; None: the first line has them."""
    as_text: bool = False
    """For CSV, whether columns of numbers stay texts."""
    quoted: bool = True
    """For CSV that is read as text, whether quotation marks enclose cells."""
    field_from_name: str | None = None
    """The field that the name of the file, without its suffix, is the value of; rows that have the
    field keep theirs."""
    where: Mapping[str, str] = dataclass_field(default_factory=dict)
    """Only the rows with these values are read, of those that have the field."""
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
                if self.field_from_name is not None:
                    values = {self.field_from_name: self.path.name.split(".")[0], **row.values}
                    row = Row(values, row.origin)
                if any(row.values.get(key, value) != value for key, value in self.where.items()):
                    continue
                empty = False
                yield row
            self._identity = source.identity
        if empty:
            raise DataError(f"{self.path} has no rows", "it may be an incomplete copy: replace it")

    def record(self, rows: int) -> DataFile:
        """Return the file as results record it, once all of its rows are read."""
        fetched = self.path.name.lower().endswith(".parquet")
        version = noted_revision(self.path) if fetched else None
        return DataFile(str(self.path), self.identity.sha256, rows, "data_dir", version)

    def table(self) -> Any:
        """Return a parquet file as an arrow table, with its types.

        Raises:
            DataError: The file cannot be read, changes meanwhile, or holds no rows.
        """
        with open_source(self.path) as source:
            table = parquet_table(source)
            self._identity = source.identity
        if table.num_rows == 0:
            raise DataError(f"{self.path} has no rows", "it may be an incomplete copy: replace it")
        return table

    def _read(self, source: Source) -> Iterator[Row]:
        name = self.path.name.lower()
        if name.endswith(".parquet"):
            return parquet_rows(source)
        name = name.removesuffix(".gz")
        if name.endswith((".csv", ".tsv")):
            delimiter = "\t" if name.endswith(".tsv") else self.delimiter
            if self.as_text:
                return text_rows(source, delimiter, self.columns, self.quoted)
            return csv_rows(source, delimiter, self.columns)
        if name.endswith(".json"):
            return _json_rows(source, self.field)
        if name.endswith(".xml"):
            return xml_rows(source)
        if name.endswith(".py"):
            return python_rows(source)
        if name.endswith(".txt"):
            return _text_lines(source) if self.by_line else _text_file(source)
        return _line_rows(source.path, numbered_lines(source))


def _text_lines(source: Source) -> Iterator[Row]:
    """Each line is a document, unless it is blank."""
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
            yield Row(_check_object(parse_json(line, origin), origin), origin)


def _json_rows(source: Source, field: str | None) -> Iterator[Row]:
    """Read a `.json` file: a list, a SQuAD-like object, or one object per line."""
    path = source.path
    with source.content() as file:
        begun = b""
        while not begun.strip() and (line := file.readline(LONGEST_LINE)):
            begun += line
        if field is None and _looks_like_lines(decoded(path, begun, 1)):
            yield from _line_rows(path, lines_of(path, cast(BinaryIO, _Rejoined(begun, file))))
            return
        text = rest_of(path, file, begun)
    yield from _whole_rows(path, text, field)


class _Rejoined:
    """A file whose first lines were read already and are yielded again."""

    def __init__(self, begun: bytes, file: BinaryIO) -> None:
        self._begun = io.BytesIO(begun)
        self._file = file

    def readline(self, size: int) -> bytes:
        return self._begun.readline(size) or self._file.readline(size)


def _looks_like_lines(begun: str) -> bool:
    """Whether the first line is one row, and not a SQuAD-like object that holds all rows."""
    first = begun.removeprefix("\ufeff").strip()
    if not (first.startswith("{") and first.endswith("}")):
        return False
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return True
    return not (isinstance(value, dict) and isinstance(value.get("data"), list))


def _whole_rows(path: Path, text: str, field: str | None) -> Iterator[Row]:
    """Yield the rows of a file that is one JSON value.

    Args:
        path: The file.
        text: What it holds.
        field: The key under which the rows stand; None: they are the value, or its `data`.
    """
    records = _json_records(path, text, field)
    records.reverse()  # so that the first can be taken off the end, where that is cheap
    number = 0
    while records:
        number += 1
        origin = f"{path}, record {number}"
        record = _check_object(records.pop(), origin)
        if "paragraphs" in record:
            yield from _squad_rows(record, origin)
        else:
            yield Row(record, origin)


def _check_object(value: Any, origin: str) -> dict[str, Any]:
    """Return a row's value when it is an object."""
    if not isinstance(value, dict):
        raise DataError(f"{origin}: the row is {describe_value(value)}; accepted: an object")
    return value


def _json_records(path: Path, text: str, field: str | None) -> list[Any]:
    whole = parse_json(text, str(path))
    if field is not None:
        if not isinstance(whole, dict) or field not in whole:
            raise DataError(f"{path}: no field `{field}` at the top")
        whole = whole[field]
    elif isinstance(whole, dict) and isinstance(whole.get("data"), list):
        whole = whole["data"]
    if isinstance(whole, dict):
        whole = [whole]
    if not isinstance(whole, list):
        raise DataError(f"{path}: holds {describe_value(whole)}; accepted: a list of objects")
    return whole


def _squad_rows(article: Mapping[str, Any], origin: str) -> Iterator[Row]:
    """Yield one row per question of a SQuAD-like article."""
    for number, paragraph in enumerate(_objects(article, "paragraphs", origin), start=1):
        place = f"{origin}, paragraph {number}"
        for question_number, question in enumerate(_objects(paragraph, "qas", place), start=1):
            where = f"{place}, question {question_number}"
            answers = _objects(question, "answers", where)
            values = {
                **{key: value for key, value in question.items() if key != "answers"},
                "title": article.get("title"),
                "context": paragraph.get("context"),
                "answers": {
                    "text": [answer.get("text") for answer in answers],
                    "answer_start": [answer.get("answer_start") for answer in answers],
                },
            }
            yield Row(values, where)


def _objects(holder: Mapping[str, Any], key: str, origin: str) -> list[dict[str, Any]]:
    values = holder.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise DataError(
            f"{origin}: `{key}` is {describe_value(values)}; accepted: a list of objects"
        )
    return values
