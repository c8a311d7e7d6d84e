"""A leaderboard as CSV, Markdown or LaTeX text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from tenbin.analysis.leaderboard.report import (
    LeaderboardCell,
    LeaderboardColumn,
    LeaderboardReport,
)
from tenbin.analysis.leaderboard.table import COLUMNS, rows
from tenbin.report.terminal.leaderboard import (
    Notes,
    asked_text,
    legend,
    rank_text,
    reason_lines,
    sections,
    written,
)
from tenbin.sandbox.printable import visible

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "…": r"\ldots{}",
    "→": r"$\to$",
    "×": r"$\times$",
    "±": r"$\pm$",
}


def csv_text(report: LeaderboardReport) -> str:
    """The long form; texts that a spreadsheet would compute are quoted with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow([_plain(row[name]) for name in COLUMNS])
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = visible(value)
        return f"'{text}" if text.startswith(_FORMULA) else text
    return "" if value is None else value


def markdown_text(report: LeaderboardReport) -> str:
    """A table for each section, best scores in bold; notes below."""
    notes = Notes()
    lines: list[str] = []
    for section, places in sections(report):
        lines += [f"### {_markdown(section)}", ""]
        columns = [report.columns[at] for at in places]
        lines.append(_piped(["model", *(_markdown(_title(column)) for column in columns)]))
        lines.append(_piped(["---", *("---:" for _ in columns)]))
        for model, cells in zip(report.models, report.cells, strict=True):
            own = [
                _cell(cells[at], report.columns[at], notes, _markdown, "**{}**", " <sup>{}</sup>")
                for at in places
            ]
            lines.append(_piped([_markdown(model.name), *own]))
        lines.append("")
    below = [*notes.lines(), *reason_lines(report), *legend(report)]
    return "\n".join([*lines, *(f"- {_markdown(line)}" for line in below), ""])


def latex_text(report: LeaderboardReport) -> str:
    """A booktabs table for each section (`\\usepackage{booktabs}`); notes as comments below it."""
    notes = Notes()
    lines = ["% \\usepackage{booktabs}; with Japanese names: lualatex or xelatex and a font"]
    for section, places in sections(report):
        columns = [report.columns[at] for at in places]
        lines += [f"% {visible(section)}", f"\\begin{{tabular}}{{l{'r' * len(columns)}}}"]
        lines += ["\\toprule", _row(["model", *(_latex(_title(one)) for one in columns)])]
        lines.append("\\midrule")
        for model, cells in zip(report.models, report.cells, strict=True):
            own = [
                _cell(cells[at], report.columns[at], notes, _latex, "\\textbf{{{}}}", "$^{{{}}}$")
                for at in places
            ]
            lines.append(_row([_latex(model.name), *own]))
        lines += ["\\bottomrule", "\\end{tabular}", ""]
    below = [*notes.lines(), *reason_lines(report), *legend(report)]
    return "\n".join([*lines, *(f"% {visible(line)}" for line in below), ""])


def _title(column: LeaderboardColumn) -> str:
    asked = asked_text(column)
    arrow = "↑" if column.higher_is_better else "↓"
    metric = f"{column.metric}{' %' if column.unit else ''} {arrow}"
    metric += "" if column.n is None else f", n = {column.n:,}"
    return f"{column.label} {asked}, {metric}" if asked else f"{column.label}, {metric}"


def _cell(
    cell: LeaderboardCell,
    column: LeaderboardColumn,
    notes: Notes,
    escape: Callable[[str], str],
    bold: str,
    raised: str,
) -> str:
    if cell.value is None:
        return escape("–") + raised.format(notes.letter(cell.missing or "no score"))
    value = written(cell.value, column)
    text = bold.format(value) if cell.best else f"{value}=" if cell.tied else value
    if ranks := rank_text(cell):
        text += f" {escape(f'({ranks})')}"
    if cell.differences:
        letters = [notes.letter(f"{one.kind}: {one.text}") for one in cell.differences]
        text += raised.format(",".join(letters))
    return text


def _markdown(text: str) -> str:
    line = " ".join(visible(text).split())
    return "".join(f"\\{sign}" if sign in "\\|*_`<>[]#" else sign for sign in line)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(visible(text).split()))


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
