"""A table in LaTeX with the rules of booktabs, every name escaped."""

from __future__ import annotations

from tenbin.report.export.grid import Footnote, Grid, GridCell, head_lines

_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "{}$&#_%"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Brackets and stars behind a line's end would be read as its arguments.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "\N{MINUS SIGN}": "$-$",
    "…": r"\dots{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "\u00a0": "~",
}
_BEYOND_LATIN_1 = 0x100
"""The first character behind Latin-1, all of which pdflatex has with the encoding T1."""
_LIGATURES = "-',"
"""Characters two of which LaTeX sets as one sign."""


def escape_latex(text: str) -> str:
    """A text that LaTeX sets as it is."""
    written = []
    for before, character in zip(f" {text}", text, strict=False):
        apart = "{}" if character == before and character in _LIGATURES else ""
        written.append(apart + _ESCAPES.get(character, character))
    return "".join(written)


def to_latex(grid: Grid) -> str:
    r"""A `table` for `\input`, which needs the package booktabs."""
    body = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{'l' * len(grid.labels)}{'r' * len(grid.heads)}}}",
        r"\toprule",
        *_heading(grid),
        r"\midrule",
    ]
    for names, cells in grid.rows:
        body.append(_row([*(escape_latex(name) for name in names), *map(_cell, cells)]))
    caption = " ".join([escape_latex(grid.caption), *map(_footnote, grid.footnotes)])
    body += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{caption}}}", r"\end{table}"]
    return "\n".join([*_needs(max(map(ord, "".join(body)))), *body]) + "\n"


def _needs(highest: int) -> list[str]:
    """Comments on what a document with this table needs, by its highest character."""
    lines = [r"% Needs \usepackage{booktabs}."]
    if highest >= _BEYOND_LATIN_1:
        lines += [
            "% Has characters that pdflatex does not know: compile with lualatex and luatexja,",
            "% or xelatex and xeCJK, or give other names with --names.",
        ]
    elif not chr(highest).isascii():
        lines.append(r"% Needs \usepackage[T1]{fontenc} with pdflatex.")
    return lines


def _heading(grid: Grid) -> list[str]:
    """The lines of the heading; names of leading columns stand in the last."""
    by_line = head_lines(grid)
    blank = [""] * len(grid.labels)
    labels = [escape_latex(label) for label in grid.labels]
    return [
        _row([*(labels if at == len(by_line) - 1 else blank), *map(escape_latex, line)])
        for at, line in enumerate(by_line)
    ]


def _row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _cell(cell: GridCell) -> str:
    marks = rf"\textsuperscript{{{', '.join(cell.marks)}}}" if cell.marks else ""
    # The hyphens of scores are minus signs.
    return escape_latex(cell.text.replace("-", "\N{MINUS SIGN}")) + marks


def _footnote(note: Footnote) -> str:
    mark = rf"\textsuperscript{{{note.mark}}}" if note.mark else ""
    text = escape_latex(note.text)
    return f"{mark}{text}" if text.endswith(".") else f"{mark}{text}."
