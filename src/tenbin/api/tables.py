"""Results as tables: short text for a terminal, HTML for a notebook, data frames for analysis."""

from __future__ import annotations

import html
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tenbin.errors import ConfigError
from tenbin.sandbox.printable import visible

if TYPE_CHECKING:
    import pandas
    import polars

_MOST_ROWS = 40
"""Rows that are shown; `table()` has them all."""
_WIDEST = 60
"""Terminal columns of one cell; a longer text is cut."""

Row = dict[str, Any]


class Tabular:
    """A result that can be shown and taken as a table.

    Iterating gives the rows of `table()`; the text shows the most important columns only.
    """

    columns: ClassVar[Mapping[str, type]]
    """The columns of `table()` with the type of their values, each of which may be None."""
    shown_columns: ClassVar[tuple[str, ...]]
    """The columns that the text and the HTML show."""

    @abstractmethod
    def table(self) -> list[Row]:
        """The rows as plain values."""

    @abstractmethod
    def _heading(self) -> str:
        """What it is, in one line."""

    def __iter__(self) -> Iterator[Any]:
        """The rows of the table."""
        return iter(self.table())

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame; missing numbers are NaN or NA.

        Raises:
            ConfigError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise _missing("pandas", "to_pandas") from error

        types = {int: "Int64", float: "float64", bool: "boolean"}
        frame = pandas.DataFrame(self.table(), columns=list(self.columns))
        # Without a type, a column of missing numbers would be one of objects.
        return frame.astype(
            {name: types[kind] for name, kind in self.columns.items() if kind in types}
        )

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars data frame; missing values are null.

        Raises:
            ConfigError: polars is not installed.
        """
        try:
            import polars
        except ImportError as error:
            raise _missing("polars", "to_polars") from error

        types = {
            int: polars.Int64(),
            float: polars.Float64(),
            str: polars.String(),
            bool: polars.Boolean(),
        }
        schema = {name: types[kind] for name, kind in self.columns.items()}
        return polars.DataFrame(self.table(), schema=schema, orient="row")

    def __repr__(self) -> str:
        rows = self.table()
        return "\n".join([visible(self._heading()), *_text(self.shown_columns, rows)])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return _html(self._heading(), self.shown_columns, self.table())


def _missing(library: str, method: str) -> ConfigError:
    return ConfigError(
        f"{method}() needs {library}, which is not installed",
        f"pip install {library}; table() gives the same rows as plain values",
    )


def _text(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """A table as lines; characters of double width, such as 天, count twice."""
    from rich.cells import cell_len, set_cell_size

    if not rows:
        return []
    cells = [[_shortened(_written(row[name])) for name in columns] for row in rows[:_MOST_ROWS]]
    table = [list(columns), *cells]
    widths = [max(cell_len(row[at]) for row in table) for at in range(len(columns))]
    numeric = [all(not isinstance(row[name], str) for row in rows) for name in columns]

    def line(row: Sequence[str]) -> str:
        parts = [
            " " * (width - cell_len(cell)) + cell if right else set_cell_size(cell, width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        return "  ".join(parts).rstrip()

    return [*map(line, table), *_more(rows)]


def _html(heading: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    def cell(tag: str, value: Any) -> str:
        side = "left" if isinstance(value, str) and tag == "td" else "right"
        style = f' style="text-align:{side}"' if tag == "td" else ""
        return f"<{tag}{style}>{html.escape(visible(_written(value)))}</{tag}>"

    head = "".join(cell("th", name) for name in columns)
    body = "".join(
        f"<tr>{''.join(cell('td', row[name]) for name in columns)}</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = "".join(f"<p>{html.escape(line)}</p>" for line in _more(rows))
    return (
        f"<div><p>{html.escape(visible(heading))}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )


def _more(rows: Sequence[Row]) -> list[str]:
    left = len(rows) - _MOST_ROWS
    return [f"… {left:,} more rows: table() has all of them"] if left > 0 else []


def _written(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _shortened(text: str) -> str:
    """One line without control characters, cut where it is wide."""
    from rich.cells import cell_len, set_cell_size

    line = visible(" ".join(text.split()))
    return line if cell_len(line) <= _WIDEST else f"{set_cell_size(line, _WIDEST - 1).rstrip()}…"
