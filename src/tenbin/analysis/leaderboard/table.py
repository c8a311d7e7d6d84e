"""A leaderboard in long form: one row for each model and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenbin.analysis.leaderboard.report import LeaderboardReport

COLUMNS: dict[str, type] = {
    **dict.fromkeys(("model", "section", "column", "kind", "id", "metric", "unit"), str),
    **dict.fromkeys(("task", "version", "template"), str),
    "shots": int,
    **dict.fromkeys(("language", "data"), str),
    "higher_is_better": bool,
    **dict.fromkeys(("value", "stderr", "low", "high"), float),
    **dict.fromkeys(("n", "shared_n"), int),
    "shared_value": float,
    **dict.fromkeys(("ranked", "best", "tied"), bool),
    "p_value": float,
    **dict.fromkeys(("rank_low", "rank_high"), int),
    "gap": float,
    **dict.fromkeys(("differences", "missing", "run"), str),
}
"""Columns of the long form, one row for each cell, with the type of their values."""
_OF_COLUMN = (
    *("section", "kind", "id", "metric", "unit", "task", "version", "template", "shots"),
    *("language", "data", "higher_is_better"),
)
_OF_CELL = (
    *("value", "stderr", "low", "high", "n", "shared_value", "ranked", "best", "tied"),
    *("p_value", "rank_low", "rank_high", "gap", "missing"),
)


def rows(report: LeaderboardReport) -> list[dict[str, Any]]:
    """One row for each model and column, missing cells too."""
    found = []
    for model, cells in zip(report.models, report.cells, strict=True):
        for column, cell in zip(report.columns, cells, strict=True):
            row: dict[str, Any] = dict.fromkeys(COLUMNS)
            row |= {name: getattr(column, name) for name in _OF_COLUMN}
            row |= {name: getattr(cell, name) for name in _OF_CELL}
            row |= {
                "model": model.name,
                "column": column.label,
                "shared_n": column.n,
                "differences": "; ".join(f"{one.kind}: {one.text}" for one in cell.differences),
                "run": None if cell.run is None else model.runs[cell.run].name,
            }
            found.append(row)
    return found
