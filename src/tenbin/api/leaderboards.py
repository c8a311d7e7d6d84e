"""Leaderboards of stored runs, or of runs in memory."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tenbin.analysis.leaderboard.table import COLUMNS, rows
from tenbin.api.run import Run
from tenbin.api.tables import Row, Tabular
from tenbin.sandbox.printable import visible

if TYPE_CHECKING:
    from tenbin.analysis.leaderboard.models import Source
    from tenbin.analysis.leaderboard.report import LeaderboardReport


@dataclass(frozen=True, repr=False)
class Leaderboard(Tabular):
    """Models × tasks and groups, with rank intervals and ties."""

    record: LeaderboardReport
    """Models, columns, and a cell for each of both."""

    columns: ClassVar[Mapping[str, type]] = COLUMNS
    shown_columns: ClassVar[tuple[str, ...]] = (
        *("model", "column", "metric", "value", "low", "high", "n"),
        *("best", "tied", "rank_low", "rank_high", "missing"),
    )

    @cached_property
    def document(self) -> dict[str, Any]:
        """The record as plain values: what `tenbin leaderboard --format json` prints."""
        return self.record.to_json()

    def table(self) -> list[Row]:
        """One row for each model and column, missing cells too, with the reason."""
        return rows(self.record)

    def __repr__(self) -> str:
        import io

        from tenbin.report.terminal.console import PlainConsole
        from tenbin.report.terminal.leaderboard import print_leaderboard

        page = io.StringIO()
        print_leaderboard(self.record, PlainConsole(file=page, width=120, color_system=None))
        return f"{self._heading()}\n{page.getvalue()}".rstrip()

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of models for each section, the best scores in bold."""
        from tenbin.report.terminal.leaderboard import (
            Notes,
            cell_text,
            header_lines,
            legend,
            reason_lines,
            sections,
        )

        report, notes, parts = self.record, Notes(), [f"<p>{_escaped(self._heading())}</p>"]
        for section, places in sections(report):
            head = "".join(
                f"<th>{'<br>'.join(map(_escaped, header_lines(report.columns[at])))}</th>"
                for at in places
            )
            body = ""
            for model, cells in zip(report.models, report.cells, strict=True):
                body += f"<tr><th>{_escaped(model.name)}</th>"
                for at in places:
                    text = _escaped(cell_text(cells[at], report.columns[at], notes))
                    body += f"<td>{f'<b>{text}</b>' if cells[at].best else text}</td>"
                body += "</tr>"
            parts.append(
                f"<p><b>{_escaped(section)}</b></p><table><thead><tr><th>model</th>{head}</tr>"
                f"</thead><tbody>{body}</tbody></table>"
            )
        below = [*notes.lines(), *reason_lines(report), *legend(report)]
        parts += [f"<p>{_escaped(line)}</p>" for line in below]
        return f"<div>{''.join(parts)}</div>"

    def _heading(self) -> str:
        models, columns = len(self.record.models), len(self.record.columns)
        return (
            f"Leaderboard of {models:,} {'model' if models == 1 else 'models'} in {columns:,} "
            f"{'column' if columns == 1 else 'columns'}"
        )


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def leaderboard(
    *runs: Run | str | Path,
    by: Literal["suite", "language", "template"] = "suite",
    allow: Sequence[str] = (),
) -> Leaderboard:
    """Models × tasks and groups: scores, the best, ties with it, and rank intervals.

    Args:
        *runs: Runs, their paths, or folders of runs.
        by: What columns are arranged by.
        allow: What may differ between scores that are ranked together: `data`, `prompts`, `shots`,
            `seed`, `decoding`, `profile`, `partial`.

    Raises:
        TenbinError: There is no run, or one that is named cannot be read.
    """
    from tenbin.analysis.leaderboard.build import build_leaderboard
    from tenbin.report.stored_runs import read_sources

    sources: list[Source] = []
    unread: dict[str, str] = {}
    for at, run in enumerate(runs):
        if isinstance(run, Run):
            sources.append(_in_memory(run, at))
        else:
            found, failed = read_sources([run])
            sources += found
            unread |= failed
    return Leaderboard(build_leaderboard(sources, by, allow, unread))


def _in_memory(run: Run, at: int) -> Source:
    from tenbin.analysis.leaderboard.models import Source

    return Source(str(run.path or f"run {at + 1}"), run.result, run.sample_records)
