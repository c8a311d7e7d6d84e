"""Ids of documents: repeated ones, and ids for rows of data sets that are not in the catalogue.

For the latter, the id field is the first one whose values are all different, which is only known
after the last row. Rows are not held until then: they are given the ids that look right so far, and
are renamed in the rare case that another field is chosen.
"""

from __future__ import annotations

import pickle
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from tenbin.data.rows import Row
from tenbin.errors import DataError
from tenbin.files.disk_list import DiskList
from tenbin.records import Document

ID_FIELDS = ("id", "idx", "q_id")
_PARTS = 256
"""Hashes are searched for repetitions one part at a time: a set takes ten times their memory."""


class SeenIds:
    """The ids of a split as they come."""

    def __init__(self) -> None:
        """None so far."""
        self._parts = [array("q") for _ in range(_PARTS)]

    def add(self, identifier: str) -> None:
        """One more."""
        key = hash(identifier)
        self._parts[key % _PARTS].append(key)

    def suspects(self) -> Iterator[int]:
        """Yield the hashes that came more than once: of ids that repeat, or by a rare chance."""
        for part in self._parts:
            if len(set(part)) < len(part):
                yield from (key for key, times in Counter(part).items() if times > 1)


def documents_of(rows: Iterable[Row]) -> DiskList[Document]:
    """Return rows as documents, their ids from the first id field that is unique."""
    documents: DiskList[Document] = DiskList()
    candidates = {field: SeenIds() for field in ID_FIELDS}
    expected: str | None = None
    for number, row in enumerate(rows):
        for field in tuple(candidates):
            value = row.values.get(field)
            if isinstance(value, str | int) and value != "":
                candidates[field].add(str(value))
            else:
                del candidates[field]
        if number == 0:
            expected = next(iter(candidates), None)
        identifier = _identifier(expected, row.values, number)
        _keep(Document(identifier, row.values, None, row.origin, number), documents)
    unique = (field for field, seen in candidates.items() if _unique(field, seen, documents))
    chosen = next(unique, None)
    return documents if chosen == expected else DiskList(_renamed(documents, chosen))


def _identifier(field: str | None, values: Any, number: int) -> str:
    return f"row-{number}" if field is None else str(values.get(field))


def _keep(document: Document, documents: DiskList[Document]) -> None:
    try:
        documents.append(document)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{document.origin}: a field holds what cannot be written down: {error}",
            "leave out columns that are neither text, numbers nor lists of these",
        ) from error


def _unique(field: str, seen: SeenIds, documents: DiskList[Document]) -> bool:
    suspects = seen.suspects()
    # A few at a time: where one is enough to know, millions need not be looked at.
    while some := frozenset(islice(suspects, 1000)):
        met: set[str] = set()
        for document in documents:
            value = str(document.fields[field])
            if hash(value) in some:
                if value in met:
                    return False
                met.add(value)
    return True


def _renamed(documents: DiskList[Document], field: str | None) -> Iterator[Document]:
    for number, document in enumerate(documents):
        yield replace(document, id=_identifier(field, document.fields, number))
