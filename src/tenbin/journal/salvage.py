"""Rows out of the raw pages of a SQLite file, however damaged the rest of it is.

Follows https://www.sqlite.org/fileformat2.html: every page that looks like a leaf or an inner node
of a table is read by itself, in the file and in its write-ahead log, without header, schema or
tree. What comes out is a guess: only rows whose digest fits may be used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]

_USUAL_SIZE = 4096
_INNER_INDEX, _LEAF_INDEX, _LEAF_TABLE = 0x02, 0x0A, 0x0D
_LOG_HEADER, _FRAME_HEADER = 32, 24
_INTEGER_SIZES = (0, 1, 2, 3, 4, 6, 8)


class Pages:
    """The pages of a database, those of its log over them where that has any."""

    def __init__(self, database: bytes, log: bytes, size: int) -> None:
        """Views of both files; nothing is copied but pages that are read.

        Args:
            database: The main file.
            log: The write-ahead log; empty where there is none.
            size: Bytes a page.
        """
        self.size = size
        self._database, self._log = database, log
        self.frames: list[tuple[int, int]] = []
        """Every page in the log: its number, and where it begins."""
        for at in range(_LOG_HEADER, len(log) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
            number = int.from_bytes(log[at : at + 4], "big")
            self.frames.append((number, at + _FRAME_HEADER))
        self._latest = dict(self.frames)

    @property
    def count(self) -> int:
        """How many pages the main file has; a last one that is cut counts."""
        return -(-len(self._database) // self.size)

    def in_file(self, number: int) -> bytes:
        """A page of the main file, counted from 1."""
        page = self._database[(number - 1) * self.size : number * self.size]
        return page.ljust(self.size, b"\0")

    def in_log(self, start: int) -> bytes:
        """A page of the log."""
        return self._log[start : start + self.size]

    def current(self, number: int) -> bytes:
        """The page as it was written last."""
        start = self._latest.get(number)
        return self.in_file(number) if start is None else self.in_log(start)


def page_sizes(database: bytes) -> list[int]:
    """Sizes that pages may have: what the header says, and what SQLite usually takes."""
    said = int.from_bytes(database[16:18], "big")
    said = 65536 if said == 1 else said
    is_size = 512 <= said <= 65536 and said & (said - 1) == 0
    return list(dict.fromkeys([said, _USUAL_SIZE] if is_size else [_USUAL_SIZE]))


def carve(pages: Pages) -> Iterator[list[Row]]:
    """The rows that each page seems to hold; a row of a table has its rowid before its columns."""
    for number in range(1, pages.count + 1):
        yield _rows_of(pages, pages.in_file(number), 100 if number == 1 else 0)
    for number, start in pages.frames:
        yield _rows_of(pages, pages.in_log(start), 100 if number == 1 else 0)


def _rows_of(pages: Pages, page: bytes, header: int) -> list[Row]:
    kind = page[header]
    if kind not in (_INNER_INDEX, _LEAF_INDEX, _LEAF_TABLE):
        return []
    count = int.from_bytes(page[header + 3 : header + 5], "big")
    pointers = header + (12 if kind == _INNER_INDEX else 8)
    rows: list[Row] = []
    for at in range(pointers, min(pointers + 2 * count, pages.size - 1), 2):
        try:
            rows.append(_cell(pages, page, kind, int.from_bytes(page[at : at + 2], "big")))
        except (IndexError, ValueError):
            continue  # no cell begins here
    return rows


def _cell(pages: Pages, page: bytes, kind: int, at: int) -> Row:
    if kind == _INNER_INDEX:
        at += 4  # the number of a page below
    length, at = _varint(page, at)
    rowid: Row = ()
    if kind == _LEAF_TABLE:
        number, at = _varint(page, at)
        rowid = (number,)
    return (*rowid, *_columns(_payload(pages, page, kind, at, length)))


def _payload(pages: Pages, page: bytes, kind: int, at: int, length: int) -> bytes:
    """The bytes of a record: in its page, and on from there in pages of their own."""
    size = pages.size
    most = size - 35 if kind == _LEAF_TABLE else (size - 12) * 64 // 255 - 23
    if length <= most:
        return page[at : at + length]
    least = (size - 12) * 32 // 255 - 23
    fitting = least + (length - least) % (size - 4)
    here = fitting if fitting <= most else least
    parts, missing = [page[at : at + here]], length - here
    following = int.from_bytes(page[at + here : at + here + 4], "big")
    while missing > 0:
        if not 0 < following < 1 << 31 or len(parts) > pages.count + len(pages.frames) + 1:
            raise ValueError("the record does not go on")
        more = pages.current(following)
        following = int.from_bytes(more[:4], "big")
        parts.append(more[4 : 4 + min(missing, size - 4)])
        missing -= size - 4
    return b"".join(parts)


def _columns(record: bytes) -> Row:
    end, at = _varint(record, 0)
    body, columns = end, []
    while at < end:
        kind, at = _varint(record, at)
        size = (kind - 12) // 2 if kind >= 12 else _INTEGER_SIZES[kind] if kind < 7 else 0
        content = record[body : body + size]
        body += size
        if len(content) < size or kind in (10, 11):
            raise ValueError("no record")
        columns.append(_value(kind, content))
    return tuple(columns)


def _value(kind: int, content: bytes) -> Any:
    if kind >= 12:
        return content
    if kind in (8, 9):
        return kind - 8
    return int.from_bytes(content, "big", signed=True) if 0 < kind < 7 else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(9):
        byte = data[at + step]
        if step == 8:
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + step + 1
    raise ValueError("no number")
