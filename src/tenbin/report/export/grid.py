"""A table of scores arranged for reading: headings, rows, footnotes. Formats only escape it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Literal

from tenbin.report.export.numbers import show_score, unit_label
from tenbin.report.export.table import Cell, Column, ScoreTable
from tenbin.sandbox.printable import visible

Rows = Literal["models", "tasks"]
_FEW_COLUMNS = 6
"""Columns up to which models are rows by default: more do not fit on a page."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell of a table."""

    text: str
    marks: tuple[str, ...] = ()
    """Letters of the footnotes that belong to it."""


@dataclass(frozen=True, slots=True)
class Footnote:
    """A footnote of a table."""

    mark: str
    """Its letter; empty if it belongs to the whole table."""
    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with texts that are not escaped yet."""

    labels: tuple[str, ...]
    """Headings of the leading columns, which hold names."""
    heads: tuple[tuple[str, ...], ...]
    """Heading of each column of scores, in lines; all have equally many."""
    rows: tuple[tuple[tuple[str, ...], tuple[GridCell, ...]], ...]
    """Names and scores of each row."""
    caption: str
    footnotes: tuple[Footnote, ...]


def arrange(table: ScoreTable, percent: bool, rows: Rows | None = None) -> Grid:
    """Arrange scores for reading.

    Args:
        table: The scores.
        percent: Whether they are shown in per cent instead of shares.
        rows: What stands in rows; by default models if there are several and few columns.
    """
    if rows is None:
        few = len(table.runs) > 1 and len(table.columns) <= _FEW_COLUMNS
        rows = "models" if few else "tasks"
    marks = _Marks(table)
    counted = [_count(table, at) is None for at in range(len(table.columns))]
    cells = [
        [
            _cell(cell, column, percent, marks, count)
            for cell, column, count in zip(row, table.columns, counted, strict=True)
        ]
        for row in table.cells
    ]
    footnotes = (*marks.footnotes(), *(Footnote("", visible(note)) for note in _notes(table)))
    if rows == "models":
        return Grid(
            ("model",),
            tuple(_head(table, at, percent) for at in range(len(table.columns))),
            tuple(
                ((_line(run.name),), tuple(row)) for run, row in zip(table.runs, cells, strict=True)
            ),
            _caption(table, percent),
            footnotes,
        )
    return Grid(
        ("task", "metric", "shots", "n"),
        tuple((_line(run.name),) for run in table.runs),
        tuple(
            (_row_label(table, at, percent), tuple(row[at] for row in cells))
            for at in range(len(table.columns))
        ),
        _caption(table, percent),
        footnotes,
    )


class _Marks:
    """Letters for what cells are to be footnoted with."""

    def __init__(self, table: ScoreTable) -> None:
        cells = [cell for row in table.cells for cell in row]
        scored = [cell for cell in cells if cell.score is not None]
        # What holds for every score is said once, for the whole table.
        everywhere = set.intersection(*(set(cell.remarks) for cell in scored)) if scored else set()
        self._general = [text for text in scored[0].remarks if text in everywhere] if scored else []
        texts = (text for cell in cells for text in (cell.missing, *cell.remarks) if text)
        own = dict.fromkeys(text for text in texts if text not in everywhere)
        self._letters = {text: _letter(at) for at, text in enumerate(own)}

    def of(self, cell: Cell) -> tuple[str, ...]:
        """The letters of a cell."""
        texts = (cell.missing, *cell.remarks)
        return tuple(self._letters[text] for text in texts if text in self._letters)

    def footnotes(self) -> list[Footnote]:
        """All footnotes, those of the whole table first."""
        own = [Footnote(mark, _line(text)) for text, mark in self._letters.items()]
        return [*(Footnote("", f"All scores: {_line(text)}.") for text in self._general), *own]


def _letter(at: int) -> str:
    letters = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, len(ascii_lowercase))
        letters = ascii_lowercase[rest] + letters
    return letters


def _cell(cell: Cell, column: Column, percent: bool, marks: _Marks, counted: bool) -> GridCell:
    """A cell as text; with its number of documents where those of the column differ."""
    if cell.score is None:
        return GridCell("–", marks.of(cell))
    text = show_score(cell.score, column.unit, percent).text
    n = f", n = {cell.score.detail.n:,}" if counted else ""
    return GridCell(f"{text}{n}", marks.of(cell))


def _count(table: ScoreTable, at: int) -> int | None:
    """The number of documents of a column; None if scores have different ones."""
    scores = [row[at].score for row in table.cells]
    counts = {score.detail.n for score in scores if score is not None}
    return counts.pop() if len(counts) == 1 else None


def _head(table: ScoreTable, at: int, percent: bool) -> tuple[str, ...]:
    column, n = table.columns[at], _count(table, at)
    return (
        _line(column.id),
        _line(column.asked),
        _metric(column, percent),
        "" if n is None else f"n = {n:,}",
    )


def _row_label(table: ScoreTable, at: int, percent: bool) -> tuple[str, ...]:
    column, n = table.columns[at], _count(table, at)
    variant = f" ({column.variant})" if column.variant else ""
    return (
        _line(f"{column.id}{variant}"),
        _metric(column, percent),
        column.shots,
        "" if n is None else f"{n:,}",
    )


def _metric(column: Column, percent: bool) -> str:
    """`acc ↑ %`: the metric, which direction is better, and the unit."""
    arrow, unit = "↑" if column.higher_is_better else "↓", unit_label(column.unit, percent)
    return _line(" ".join(part for part in (column.metric, arrow, unit) if part))


def _caption(table: ScoreTable, percent: bool) -> str:
    units = {column.unit for column in table.columns}
    scale = " in per cent" if percent else " as shares from 0 to 1"
    without = "; metrics without a unit as they are" if units - {"none"} and "none" in units else ""
    shown = scale if units - {"none"} else ""
    return (
        f"Scores{shown}{without}, with 95 % intervals in brackets. "
        "n: documents; ↑: higher is better, ↓: lower is better."
    )


def _notes(table: ScoreTable) -> list[str]:
    """Notes on the whole table: ways of asking, unfinished groups, and where scores come from."""
    sources = []
    for run in table.runs:
        result = run.result
        name = f"run {result.run_id[:12]}" if result.run_id else "a run without id"
        version = f", tenbin {result.tenbin_version}" if result.tenbin_version else ""
        sources.append(_line(f"{run.name}: {name} of {result.date}{version}."))
    return [*(_line(f"{note}.") for note in table.notes), *sources]


def _line(text: str) -> str:
    """A text of strangers in one line, with control characters made visible."""
    return visible(text).replace("\n", " ").replace("\t", " ").strip()


def head_lines(grid: Grid) -> Sequence[tuple[str, ...]]:
    """The lines of all headings of scores: line by line instead of column by column."""
    return list(zip(*grid.heads, strict=True))
