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
    common_lines,
    gap_text,
    header_lines,
    legend,
    rank_text,
    reason_lines,
    sections,
    written,
)
from tenbin.sandbox.printable import visible

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
_BOLD = "bold:"
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
    "·": r"$\cdot$",
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
        common, headers = _headers(report, places)
        lines += [f"### {_markdown(' · '.join([section, *common]))}", ""]
        # "jnli 0.2, 0-shot, acc ↑": a label goes on with what was asked.
        asked = [asked_text(report.columns[at]) for at in places]
        titles = [
            ", ".join([f"{one[0]} {one[1]}", *one[2:]] if known in one[1:2] else one)
            for one, known in zip(headers, asked, strict=True)
        ]
        lines.append(_piped(["model", *map(_markdown, titles)]))
        lines.append(_piped(["---", *("---:" for _ in places)]))
        for model, cells in zip(report.models, report.cells, strict=True):
            own = [
                _cell(cells[at], report.columns[at], notes, _markdown, "**{}**", " <sup>{}</sup>")
                for at in places
            ]
            lines.append(_piped([_markdown(model.name), *own]))
        lines.append("")
    below = [*notes.lines(), *reason_lines(report), *legend(report, _BOLD)]
    return "\n".join([*lines, *(f"- {_markdown(line)}" for line in below), ""])


def latex_text(report: LeaderboardReport) -> str:
    """A booktabs table for each section (`\\usepackage{booktabs}`); notes below them."""
    notes = Notes()
    lines = ["% \\usepackage{booktabs}; with Japanese names: lualatex or xelatex and a font"]
    for section, places in sections(report):
        lines += [f"% {visible(section)}", f"\\begin{{tabular}}{{l{'r' * len(places)}}}"]
        lines += ["\\toprule", *_latex_head(report, section, places), "\\midrule"]
        for model, cells in zip(report.models, report.cells, strict=True):
            own = [
                _cell(cells[at], report.columns[at], notes, _latex, "\\textbf{{{}}}", "$^{{{}}}$")
                for at in places
            ]
            lines.append(_row([_latex(model.name), *own]))
        lines += ["\\bottomrule", "\\end{tabular}", ""]
    below = [*notes.lines(), *reason_lines(report), *legend(report, _BOLD)]
    noted = [f"\\noindent {_latex(line)}\\par" for line in below]
    return "\n".join([*lines, *(["{\\footnotesize", *noted, "}"] if noted else []), ""])


def _latex_head(report: LeaderboardReport, section: str, places: Sequence[int]) -> list[str]:
    """A line for what all columns share, and one for each line of their headers."""
    common, headers = _headers(report, places)
    count = len(places)
    shared = _latex(" · ".join([section, *common]))
    lines = [
        f" & \\multicolumn{{{count}}}{{c}}{{{shared}}} \\\\",
        f"\\cmidrule(l){{2-{count + 1}}}",
    ]
    height = max(map(len, headers))
    for at in range(height):
        # Short headers stand at the foot, above their numbers.
        parts = [one[at - height + len(one)] if at >= height - len(one) else "" for one in headers]
        lines.append(_row(["model" if at == height - 1 else "", *map(_latex, parts)]))
    return lines


def _headers(report: LeaderboardReport, places: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """What all columns of a section share, and what stands above each."""
    headers = [header_lines(report.columns[at]) for at in places]
    common = common_lines([one[1:] for one in headers])
    return common, [[one[0], *(line for line in one[1:] if line not in common)] for one in headers]


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
    if known := ", ".join(filter(None, (rank_text(cell), gap_text(cell, column)))):
        text += f" {escape(f'({known})')}"
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
