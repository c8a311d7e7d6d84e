"""A table in HTML without style or script, to be put into a page."""

from __future__ import annotations

from html import escape

from tenbin.report.export.grid import Grid, GridCell


def to_html_table(grid: Grid) -> str:
    """A `table` element with caption, headings with their scope, and footnotes in its foot."""
    heads = ["<br>".join(escape(line) for line in head if line) for head in grid.heads]
    lines = [
        "<table>",
        f"<caption>{escape(grid.caption)}</caption>",
        "<thead>",
        _row([*(_head(escape(label), "col") for label in grid.labels), *map(_column, heads)]),
        "</thead>",
        "<tbody>",
    ]
    for names, cells in grid.rows:
        first, *others = (escape(name) for name in names)
        named = [_head(first, "row"), *(f"<td>{name}</td>" for name in others)]
        lines.append(_row([*named, *map(_cell, cells)]))
    lines.append("</tbody>")
    width = len(grid.labels) + len(grid.heads)
    notes = [
        f'<tr><td colspan="{width}">'
        f"{f'<sup>{note.mark}</sup> ' if note.mark else ''}{escape(note.text)}</td></tr>"
        for note in grid.footnotes
    ]
    return "\n".join([*lines, "<tfoot>", *notes, "</tfoot>", "</table>"]) + "\n"


def _row(cells: list[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _head(text: str, scope: str) -> str:
    return f'<th scope="{scope}">{text}</th>'


def _column(text: str) -> str:
    return _head(text, "col")


def _cell(cell: GridCell) -> str:
    marks = f"<sup>{', '.join(cell.marks)}</sup>" if cell.marks else ""
    return f"<td>{escape(cell.text)}{marks}</td>"
