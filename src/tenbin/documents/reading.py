"""Files to rows: JSON lines, JSON, SQuAD's nesting, parquet, CSV and texts, plain or gzipped.

It knows file formats and where in a file each row stands. It knows no data set: what a row must
hold is for `schemas` to say.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenbin.documents.rows import Row, describe_value
from tenbin.documents.tables import csv_rows, parquet_rows
from tenbin.errors import DataError

SUFFIXES = (".jsonl.gz", ".jsonl", ".json.gz", ".json", ".parquet")


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of one file and what identifies its bytes."""

    path: Path
    rows: list[Row]
    sha256: str
    blob: str
    """The git blob id: SHA-1 over a short header and the content."""


def git_blob_id(content: bytes) -> str:
    """Return the id that git gives a file of this content."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def read_file(
    path: Path, *, field: str | None = None, delimiter: str = ",", by_line: bool = False
) -> FileRows:
    """Read all rows of a file, its format told by its name.

    Args:
        path: The file.
        field: For JSON, the key under which the rows stand.
        delimiter: For CSV, what separates the columns.
        by_line: For `.txt`, whether each line is a document of its own, or the file is one.

    Raises:
        DataError: The file cannot be read; the message names the file and the line.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    rows = list(_read_rows(path, content, field, delimiter, by_line))
    if not rows:
        raise DataError(f"{path} holds no rows", "it may be the rest of a broken copy: replace it")
    return FileRows(path, rows, hashlib.sha256(content).hexdigest(), git_blob_id(content))


def _read_rows(
    path: Path, content: bytes, field: str | None, delimiter: str, by_line: bool
) -> Iterator[Row]:
    name = path.name.lower()
    if name.endswith(".parquet"):
        return parquet_rows(path, content)
    if name.endswith(".gz"):
        content = _unzip(path, content)
        name = name.removesuffix(".gz")
    text = _decode(path, content)
    if name.endswith((".csv", ".tsv")):
        return csv_rows(path, text, "\t" if name.endswith(".tsv") else delimiter)
    if name.endswith(".json"):
        return _json_rows(path, text, field)
    if name.endswith(".txt"):
        return _text_rows(path, text, by_line)
    return _line_rows(path, text)


def _unzip(path: Path, content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(
            f"{path} is no complete gzip file: {error}", "it may be cut off: copy it again"
        ) from error


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: not UTF-8 (byte 0x{content[error.start]:02x})",
            "save the file as UTF-8",
        ) from error


def _text_rows(path: Path, text: str, by_line: bool) -> Iterator[Row]:
    """Texts as they stand; what holds white space alone is no document."""
    if by_line:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield Row({"text": line.removesuffix("\r")}, f"{path}, line {number}")
    elif text.strip():
        yield Row({"id": path.name, "text": text}, str(path))


def _line_rows(path: Path, text: str) -> Iterator[Row]:
    # Not splitlines(): JSON strings may hold U+2028 and its like, which are no line ends here.
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.isspace():
            origin = f"{path}, line {number}"
            yield Row(_check_object(_parse_line(line, origin), origin), origin)


def _parse_line(line: str, origin: str) -> Any:
    try:
        value = json.loads(line)
        if "\\ud" in line or "\\uD" in line:
            # Half of a surrogate pair is no character: it could be neither encoded nor stored.
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError as error:
        raise DataError(f"{origin}: half of a surrogate pair: {error.reason}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{origin}: broken JSON: {error}") from error


def _json_rows(path: Path, text: str, field: str | None) -> Iterator[Row]:
    """Read a `.json` file: a list, a SQuAD-like object, or one object a line as JGLUE has it."""
    if field is None and _looks_like_lines(text):
        yield from _line_rows(path, text)
        return
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: broken JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: broken JSON: {error}") from error
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
    for number, value in enumerate(whole, start=1):
        origin = f"{path}, record {number}"
        record = _check_object(value, origin)
        if "paragraphs" in record:
            yield from _squad_rows(record, origin)
        else:
            yield Row(record, origin)


def _looks_like_lines(text: str) -> bool:
    """Tell whether the first line is an object of its own and no SQuAD-like whole."""
    first = text.lstrip().split("\n", 1)[0].rstrip()
    if not (first.startswith("{") and first.endswith("}")):
        return False
    try:
        value = json.loads(first)
    except ValueError:
        return True
    return not (isinstance(value, dict) and isinstance(value.get("data"), list))


def _squad_rows(article: Mapping[str, Any], origin: str) -> Iterator[Row]:
    """Yield one row a question of a SQuAD-like article."""
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


def _check_object(value: Any, origin: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{origin}: the row is {describe_value(value)}; accepted: an object")
    return value
