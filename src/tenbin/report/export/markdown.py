"""A table in Markdown, with footnotes below."""

from __future__ import annotations

import re

from tenbin.report.export.grid import Grid, GridCell

_LIST = re.compile(r"^(\d*)([-+.)])(?=\s|$)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~&#!$])")


def escape_markdown(text: str) -> str:
    r"""A text that Markdown shows as it is; a pipe becomes `\|`, which no table splits at."""
    escaped = _SPECIAL.sub(r"\\\1", text)
    # At the beginning of a line these would make a list.
    return _LIST.sub(r"\1\\\2", escaped)


def to_markdown(grid: Grid) -> str:
    """A table of pipes, as GitHub and the hub show it."""
    heads = ["<br>".join(escape_markdown(line) for line in head if line) for head in grid.heads]
    lines = [
        _row([*(escape_markdown(label) for label in grid.labels), *heads]),
        _row([*(":--" for _ in grid.labels), *("--:" for _ in grid.heads)]),
    ]
    for names, cells in grid.rows:
        lines.append(_row([*(escape_markdown(name) for name in names), *map(_cell, cells)]))
    lines += ["", escape_markdown(grid.caption)]
    for note in grid.footnotes:
        mark = f"<sup>{note.mark}</sup> " if note.mark else ""
        lines += ["", f"{mark}{escape_markdown(note.text)}"]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: GridCell) -> str:
    marks = f"<sup>{', '.join(cell.marks)}</sup>" if cell.marks else ""
    # Brackets around numbers are no link: they stay readable in the source.
    return f"{cell.text}{marks}"
