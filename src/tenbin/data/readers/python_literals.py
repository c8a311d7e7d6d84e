"""Rows of a Python file that only holds literals, such as MGSM's examples; nothing is executed.

The mapping of the file, part → number → fields, gives a row for each number, with the part as
`language`. Lists of the file (`EXEMPLAR_NUMBER_ANSWERS`) give each row of a part its entry under
the list's name in small letters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from tenbin.data.readers.data_file import Source, whole_text
from tenbin.data.rows import Row, check_characters
from tenbin.errors import DataError

_LONGEST = 10_000_000


def python_rows(source: Source) -> Iterator[Row]:
    """Yield the rows of a file of literals.

    Raises:
        DataError: It is not Python, or holds no mapping of mappings of mappings.
    """
    text = whole_text(source)
    if len(text) > _LONGEST:
        raise DataError(f"{source.path} is too long for a file of Python literals")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise DataError(f"{source.path} is not Python: {error}") from error
    named = {name: value for line in body for name, value in _assigned(line)}
    parts = next((value for value in named.values() if _is_nested(value)), None)
    if parts is None:
        raise DataError(f"{source.path} has no mapping of parts, numbers and fields")
    lists = {name.lower(): value for name, value in named.items() if isinstance(value, list)}
    for part, numbered in parts.items():
        for at, (number, fields) in enumerate(numbered.items()):
            more = {name: value[at] for name, value in lists.items() if len(value) > at}
            values = {"language": str(part), **more, **fields}
            origin = f"{source.path}, {part} {number}"
            check_characters(values, origin)
            yield Row(values, origin)


def _assigned(line: ast.stmt) -> Iterator[tuple[str, Any]]:
    """The name and the value of an assignment of a literal; of anything else nothing."""
    if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Name):
        return
    try:
        yield line.targets[0].id, ast.literal_eval(line.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(inner, dict)
        and all(
            isinstance(fields, dict) and all(isinstance(key, str) for key in fields)
            for fields in inner.values()
        )
        for inner in value.values()
    )
