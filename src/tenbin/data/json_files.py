"""Rows of a `.json` file that is one value: a list, one object, or SQuAD's nesting.

It knows these shapes and no data set. Such a file can only be parsed whole; each record is let go
of as it is given out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tenbin.data.json_rows import parse_json
from tenbin.data.rows import Row, describe_value
from tenbin.errors import DataError


def whole_rows(path: Path, text: str, field: str | None) -> Iterator[Row]:
    """Yield the rows of a file that is one JSON value.

    Args:
        path: The file.
        text: What it holds.
        field: The key under which the rows stand; None: they are the value, or its `data`.
    """
    records = _records(path, text, field)
    records.reverse()  # so that the first can be taken off the end, where that is cheap
    number = 0
    while records:
        number += 1
        origin = f"{path}, record {number}"
        record = check_object(records.pop(), origin)
        if "paragraphs" in record:
            yield from _squad_rows(record, origin)
        else:
            yield Row(record, origin)


def check_object(value: Any, origin: str) -> dict[str, Any]:
    """Return a row's value when it is an object."""
    if not isinstance(value, dict):
        raise DataError(f"{origin}: the row is {describe_value(value)}; accepted: an object")
    return value


def _records(path: Path, text: str, field: str | None) -> list[Any]:
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
