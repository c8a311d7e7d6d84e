"""Matches rows that hold the same item, and puts the answers of all languages side by side.

Which rows hold the same item is shown by the data, or said in a JSON file: language → for each row
of that language's file, the item it holds, as a row number of the reference language, any name, or
null for a row without counterpart. A text under another key, such as `note`, is for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tenbin.analysis.consistency.answers import Answer, AnswerSet, Column
from tenbin.errors import ConfigError, ResultError
from tenbin.files.json_text import parse_json
from tenbin.statistics.alignment import (
    Alignment,
    AskedRow,
    Source,
    align,
    alignment_help,
    natural_order,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Table:
    """The answers to items that every column was asked."""

    items: tuple[str, ...]
    names: tuple[str, ...]
    """The columns: languages."""
    cells: tuple[tuple[Answer, ...], ...]
    """One tuple for each item, in the order of `names`."""
    partial: int
    """Items that only some columns were asked."""

    def codes(self, labels: Sequence[str]) -> NDArray[np.intp]:
        """Answers as numbers: places in `labels`, -1 where there is none."""
        import numpy as np

        place = {label: at for at, label in enumerate(labels)}
        rows = [[place[a.label] if a.label else -1 for a in row] for row in self.cells]
        return np.array(rows, dtype=np.intp).reshape(len(self.items), len(self.names))

    def right(self) -> NDArray[np.float64]:
        """1 right, 0 wrong or not readable, NaN failed."""
        import numpy as np

        rows = [[np.nan if a.right is None else float(a.right) for a in row] for row in self.cells]
        return np.array(rows, dtype=np.float64).reshape(len(self.items), len(self.names))

    def labels(self) -> list[str]:
        """Every answer and gold answer that occurs, in natural order."""
        found = {a.label for row in self.cells for a in row if a.label}
        return sorted(found | {row[0].gold for row in self.cells}, key=natural_order)


def align_family(
    sets: Sequence[AnswerSet],
    given: Mapping[str, Sequence[str | None]] | None,
    reference: str | None,
) -> Alignment:
    """Which item each row of each language of a family holds.

    Raises:
        ResultError: A language was read from two different files, or nothing shows the items.
    """
    languages = list(dict.fromkeys(name for one in sets for name in one.columns))
    if reference in languages:
        languages = [reference, *(name for name in languages if name != reference)]
    _check_files(sets)
    sources = [_source(sets, language) for language in languages]
    _check_keys(sets, sources, given)
    return align(sources, sets[0].key, given, reference)


def _check_files(sets: Sequence[AnswerSet]) -> None:
    """Two languages of one file are one language: their agreement would mean nothing."""
    readers: dict[tuple[str, ...], Column] = {}
    for column in (column for one in sets for column in one.columns.values()):
        other = readers.setdefault(column.digests, column)
        if other.language != column.language:
            raise ResultError(
                f"{other.id} and {column.id} were read from the same file",
                f"give {other.language} and {column.language} rows of their own",
            )


def _check_keys(
    sets: Sequence[AnswerSet],
    sources: Sequence[Source],
    given: Mapping[str, Sequence[str | None]] | None,
) -> None:
    """Row numbers need right answers that languages share: texts show nothing."""
    outcomes = any(one.compares == "outcomes" for one in sets)
    unnamed = any(row.item is None for source in sources for row in source.rows)
    if outcomes and unnamed and given is None:
        raise ResultError(
            f"rows have no `{sets[0].key}`, and right answers are texts of each language, which"
            " do not show whether row numbers name the same items",
            alignment_help(sources),
        )


def _source(sets: Sequence[AnswerSet], language: str) -> Source:
    columns = [one.columns[language] for one in sets if language in one.columns]
    if len({column.digests for column in columns}) > 1:
        raise ResultError(
            f"{', '.join(column.id for column in columns)}: {language} was read from different"
            " files",
            "compare runs of one copy of the data, or choose with --tasks",
        )
    # A scored choice says which place is right; a text may only say it in words.
    modes = sorted(sets, key=lambda one: one.kind != "choice")
    rows: dict[int, AskedRow] = {}
    for one in modes:
        column: Column | None = one.columns.get(language)
        for row, answer in (column.answers if column is not None else {}).items():
            rows.setdefault(row, AskedRow(row, answer.item, answer.gold))
    ordered = tuple(rows[row] for row in sorted(rows))
    return Source(language, ordered, columns[0].size)


def by_item(column: Column, alignment: Alignment) -> dict[str, Answer]:
    """A column's answers by the item its rows hold."""
    items = alignment.items[column.language]
    return {items[row]: answer for row, answer in column.answers.items() if row in items}


def match(columns: Mapping[str, Column], alignment: Alignment) -> Table:
    """A table of the items that all columns were asked, in natural order."""
    found = {name: by_item(column, alignment) for name, column in columns.items()}
    everywhere = set.intersection(*(set(answers) for answers in found.values()))
    anywhere = set.union(*(set(answers) for answers in found.values()))
    items = tuple(sorted(everywhere, key=natural_order))
    cells = tuple(tuple(found[name][item] for name in found) for item in items)
    return Table(items, tuple(found), cells, len(anywhere) - len(items))


def read_alignment(path: str | Path) -> dict[str, tuple[str | None, ...]]:
    """Language → the items of its rows; row numbers become `row-N`.

    Raises:
        ConfigError: The file cannot be read or is not of that shape.
    """
    try:
        loaded = parse_json(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--alignment {path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"--alignment {path}: not valid JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise ConfigError(f"--alignment {path}: not an object of languages")
    found: dict[str, tuple[str | None, ...]] = {}
    for language, entries in loaded.items():
        if isinstance(entries, str):
            continue  # a note
        if not isinstance(entries, list):
            raise ConfigError(f"--alignment {path}: {language} is neither a list nor a note")
        found[language] = tuple(
            _item(entry, f"--alignment {path}: {language}, entry {at}")
            for at, entry in enumerate(entries)
        )
    return found


def _item(entry: object, where: str) -> str | None:
    if entry is None:
        return None
    if isinstance(entry, bool) or not isinstance(entry, int | str) or entry == "":
        raise ConfigError(f"{where}: {entry!r} is no row number, name or null")
    if isinstance(entry, int):
        if entry < 0:
            raise ConfigError(f"{where}: rows are counted from 0, {entry} is none")
        return f"row-{entry}"
    return entry
