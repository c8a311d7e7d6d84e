"""A leaderboard as tables that fit the terminal: one line a model, a table for each section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.analysis.leaderboard.report import (
    LeaderboardCell,
    LeaderboardColumn,
    LeaderboardReport,
)
from tenbin.report.terminal.console import made_visible, make_console

_NAME_SHARE = 0.3
"""Of the width, what names of models take at most."""
_HEADER = 16
"""Columns of a header that is wider than its numbers; what is longer is folded between words."""
_WORD = 24
"""Columns that one word of a header may take, such as an id; what is longer is cut into lines."""
BEST, TIED = "*", "="


def print_leaderboard(report: LeaderboardReport, console: Console | None = None) -> None:
    """Print groups first, then tasks; below, what the marks mean."""
    console = console or make_console()
    report = made_visible(report)
    notes = Notes()
    for section, places in sections(report):
        columns = [
            _Column(
                header_lines(report.columns[at])[1:],
                report.columns[at].label,
                [cell_text(row[at], report.columns[at], notes) for row in report.cells],
                [row[at].best for row in report.cells],
            )
            for at in places
        ]
        heading, columns = _without_common(columns)
        console.print(Text(" · ".join([section, *heading]), style="bold"), soft_wrap=True)
        names = [model.name for model in report.models]
        for block in _blocks(names, columns, console.width):
            console.print(_table(names, block, console.width))
    for line in [*notes.lines(), *reason_lines(report), *legend(report)]:
        console.print(Text(line, style="dim"))
    for name, why in report.unread.items():
        console.print(Text(f"not read: {name}: {why}", style="yellow"))


def sections(report: LeaderboardReport) -> list[tuple[str, list[int]]]:
    """Each section with the positions of its columns."""
    found: dict[str, list[int]] = {}
    for at, column in enumerate(report.columns):
        found.setdefault(column.section, []).append(at)
    return list(found.items())


class Notes:
    """Reasons and differences that cells refer to by letter; what is the same has one letter."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def letter(self, text: str) -> str:
        """The letter of a note, a new one if it is new: a to z, aa, ab, …"""
        if text not in self._letters:
            number, letters = len(self._letters), ""
            while number >= 0:
                letters = chr(ord("a") + number % 26) + letters
                number = number // 26 - 1
            self._letters[text] = letters
        return self._letters[text]

    def lines(self) -> list[str]:
        """One line a note."""
        return [f"{letter}: {text}" for text, letter in self._letters.items()]


def cell_text(cell: LeaderboardCell, column: LeaderboardColumn, notes: Notes) -> str:
    """`0.678* 1–2` for the best, `0.671= 1–3` for one tied with it, `0.640 a` with a note."""
    if cell.value is None:
        return f"– {notes.letter(cell.missing or 'no score')}"
    text = written(cell.value, column)
    text += BEST if cell.best else TIED if cell.tied else " "
    if ranks := rank_text(cell):
        text += f" {ranks}"
    if cell.gap is not None:
        text += f" ({gap_text(cell, column)})"
    for one in cell.differences:
        text += f" {notes.letter(f'{one.kind}: {one.text}')}"
    return text.rstrip()


def written(value: float, column: LeaderboardColumn) -> str:
    """A value with as many digits as its scale bears."""
    if column.top is None:
        return f"{value:.4g}"
    return f"{value:.1f}" if column.unit else f"{value:.3f}"


def gap_text(cell: LeaderboardCell, column: LeaderboardColumn) -> str:
    """The difference to English with its sign; empty where there is none."""
    return "" if cell.gap is None else f"{cell.gap:+.{1 if column.unit else 3}f}"


def rank_text(cell: LeaderboardCell) -> str:
    """`1–3`, or `2` where only one rank is left; empty without ranks."""
    if cell.rank_low is None or cell.rank_high is None:
        return ""
    if cell.rank_low == cell.rank_high:
        return f"{cell.rank_low}"
    return f"{cell.rank_low}–{cell.rank_high}"


def header_lines(column: LeaderboardColumn) -> list[str]:
    """What stands above a column."""
    lines = [column.label]
    if column.kind == "group":
        lines.append(f"{len(column.members)} {'task' if len(column.members) == 1 else 'tasks'}")
    elif asked := asked_text(column):
        lines.append(asked)
    arrow = "↑" if column.higher_is_better else "↓"
    lines.append(f"{column.metric}{' %' if column.unit else ''} {arrow}")
    return lines if column.n is None else [*lines, f"n = {column.n:,}"]


def common_lines(headers: Sequence[Sequence[str]]) -> list[str]:
    """The lines that all headers of a section have; none of a single column."""
    first, *others = headers
    return [line for line in first if others and all(line in one for one in others)]


def asked_text(column: LeaderboardColumn) -> str:
    """Template and shots of a task, as far as its title does not say them; empty for a group."""
    parts = [] if column.kind == "group" else [str(column.template), f"{column.shots}-shot"]
    said = f"{column.section} {column.label}".split()
    return ", ".join(part for part in parts if part not in said)


def reason_lines(report: LeaderboardReport) -> Iterator[str]:
    """Columns without ranks, by the reason."""
    found: dict[str, list[str]] = {}
    for column in report.columns:
        if column.reason is not None and len(report.models) > 1:
            found.setdefault(column.reason, []).append(_name_of(column, report))
    for reason, labels in found.items():
        more = f" and {len(labels) - 4} more" if len(labels) > 4 else ""
        yield f"no ranks: {', '.join(labels[:4])}{more}: {reason}"


def _name_of(column: LeaderboardColumn, report: LeaderboardReport) -> str:
    """A column's name in the whole leaderboard."""
    if report.by == "suite":
        return column.label
    # By language and by template, labels repeat from section to section, and an id with its shots.
    same = [one for one in report.columns if one.id == column.id]
    return column.id if len(same) == 1 else f"{column.id} ({column.shots}-shot)"


def legend(report: LeaderboardReport, best: str = BEST) -> list[str]:
    """What marks and numbers mean, as far as there are any; `best` marks the best score."""
    cells = [cell for row in report.cells for cell in row]
    lines = []
    if any(cell.best for cell in cells):
        lines.append(
            f"{best} best; {TIED} not shown to differ from it (paired test, corrected for the "
            "number of models); n: documents that all ranked models scored."
        )
    if any(cell.rank_low is not None for cell in cells):
        lines.append("1–3: ranks that a model may have, 95% for all models of a column at once.")
    if any(cell.differences for cell in cells):
        lines.append("A score with a letter but without ranks is not comparable with its column.")
    if any(cell.gap is not None for cell in cells):
        lines.append("With a sign: the difference to the same model's score in English.")
    return lines


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as it is printed."""

    header: list[str]
    """Below the label."""
    label: str
    texts: list[str]
    """For each model."""
    best: list[bool]

    @property
    def width(self) -> int:
        """Of the numbers; longer headers are folded."""
        lines = (self.label, *self.header)
        header = (min(cell_len(line), _HEADER) for line in lines)
        words = (min(cell_len(word), _WORD) for line in lines for word in line.split())
        return max(*header, *words, *map(cell_len, self.texts))


def _without_common(columns: Sequence[_Column]) -> tuple[list[str], list[_Column]]:
    """Header lines that all columns of a section share, and the columns without them."""
    common = common_lines([one.header for one in columns])
    return common, [
        replace(one, header=[line for line in one.header if line not in common]) for one in columns
    ]


def _blocks(
    names: Sequence[str], columns: Sequence[_Column], width: int
) -> Iterator[list[_Column]]:
    """Columns that fit beside the names, as many as possible at a time."""
    left = width - _name_width(names, width) - 2
    block: list[_Column] = []
    used = 0
    for column in columns:
        own = column.width + 2
        if block and used + own > left:
            yield block
            block, used = [], 0
        block.append(column)
        used += own
    yield block


def _name_width(names: Sequence[str], width: int) -> int:
    return max(5, min(max(map(cell_len, names)), int(_NAME_SHARE * width)))


def _table(names: Sequence[str], block: Sequence[_Column], width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    own = _name_width(names, width)
    table.add_column("model", width=own, overflow="fold", vertical="bottom")
    for column in block:
        header = "\n".join([column.label, *column.header])
        table.add_column(header, width=column.width, overflow="fold")
    for at, name in enumerate(names):
        cells = (Text(one.texts[at], style="bold" if one.best[at] else "") for one in block)
        table.add_row(_cut(name, own), *cells)
    return table


def _cut(name: str, width: int) -> str:
    """The end of a long name distinguishes models as often as its beginning."""
    if cell_len(name) <= width:
        return name
    half = (width - 1) // 2
    end = name
    while cell_len(end) > width - 1 - half:
        end = end[1:]
    return f"{set_cell_size(name, half).rstrip()}…{end}"
