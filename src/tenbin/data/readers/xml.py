"""Rows of an XML file: each element below the root is a row.

Document types are refused, so that no entity is expanded and no other file is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from tenbin.data.readers.data_file import LONGEST_LINE, Source
from tenbin.data.rows import Row
from tenbin.errors import DataError

_CHUNK = 1 << 16
_DEEPEST = 4
"""Root, row, field, and an entry of a field."""


class _Element:
    """An element while it is read."""

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.text: list[str] = []
        self.children: list[_Element] = []

    def value(self) -> Any:
        """Its text; for an element with children, the values of these.

        Children that all have one name make a list, others a mapping.
        """
        if not self.children:
            return "".join(self.text).strip()
        names = [child.name for child in self.children]
        if len(set(names)) == 1 and not self.attributes:
            return [child.value() for child in self.children]
        return {**self.attributes, **{child.name: child.value() for child in self.children}}


class _Rows:
    """Collects the elements below the root as expat reports them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._open: list[_Element] = []
        self._length = 0
        self.done: list[Row] = []
        # Whatever encoding the file declares: data files are UTF-8, and few codecs suit expat.
        self.parser = expat.ParserCreate("UTF-8")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def _error(self, problem: str) -> DataError:
        return DataError(f"{self._source.path}, line {self.parser.CurrentLineNumber}: {problem}")

    def _refuse_doctype(self, *_: Any) -> None:
        raise self._error("a document type is declared, which data files need not have")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) == _DEEPEST:
            raise self._error(f"`{name}` is nested more than {_DEEPEST} elements deep")
        self._count(len(name) + sum(len(key) + len(text) for key, text in attributes.items()) + 1)
        element = _Element(name, attributes)
        if len(self._open) > 1:
            self._open[-1].children.append(element)
        self._open.append(element)

    def _characters(self, text: str) -> None:
        self._count(len(text))
        self._open[-1].text.append(text)

    def _end(self, _name: str) -> None:
        element = self._open.pop()
        if len(self._open) != 1:
            return
        self._open[0].text.clear()
        self._length = 0
        values = {
            **element.attributes,
            **{child.name: child.value() for child in element.children},
        }
        line = self.parser.CurrentLineNumber
        self.done.append(Row(values, f"{self._source.path}, line {line}"))

    def _count(self, length: int) -> None:
        self._length += length
        if self._length > LONGEST_LINE:
            raise self._error(f"one row is longer than {LONGEST_LINE:,} characters")


def xml_rows(source: Source) -> Iterator[Row]:
    """Yield a row per element below the root: its attributes, and its children by name.

    A child without children is a text; one whose children all have the same name is a list.

    Raises:
        DataError: The file is not XML, declares a document type, or is nested too deeply.
    """
    rows = _Rows(source)
    try:
        with source.content() as file:
            while chunk := file.read(_CHUNK):
                rows.parser.Parse(chunk, False)
                yield from rows.done
                rows.done.clear()
        rows.parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(
            f"{source.path}, line {error.lineno}: broken XML: {expat.ErrorString(error.code)}",
            "it may be truncated: copy it again",
        ) from error
