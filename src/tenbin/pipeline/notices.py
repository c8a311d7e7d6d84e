"""Notices of a result: lines about windows, labels and values that a reader of scores must know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Commands without results use this module too, and need nothing that makes results.
    from tenbin.pipeline.group_scores import GroupScore
    from tenbin.pipeline.judge import CellCounts
    from tenbin.records import Cell, ScoreRow
    from tenbin.results.schema import DocumentCounts, Stopping

_LITTLE = 0.5
"""Share of the first token below which the letters are not what the model would say."""


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first names, and how many more there are."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def partial_notice(counts: Iterable[DocumentCounts]) -> str:
    """The line about a run that was stopped."""
    total = list(counts)
    answered, asked = sum(n.effective for n in total), sum(n.asked for n in total)
    return (
        f"partial: the run was stopped; scores rest on {answered:,} of {asked:,} "
        "documents, which are not a random sample: the same command goes on from here"
    )


def stopping_notices(stopping: Stopping | None, groups: Sequence[GroupScore]) -> list[str]:
    """Lines about scores of runs that stopped early, where they mean less than others."""
    if stopping is None:
        return []
    notices = [
        f"{id}: stopped by its value: the score and its interval lean towards the decision; "
        "the difference and its repeated interval do not"
        for id, one in stopping.decisions.items()
        if one.decision != "undecided"
    ]
    stopped = {*stopping.widths, *stopping.decisions}
    weighted = [group.id for group in groups if stopped.intersection(group.members)]
    if weighted:
        notices.append(
            f"{listed(weighted)}: means weighted by documents weigh tasks by the documents that "
            "were asked until they stopped"
        )
    return notices


def score_notices(
    scores: Mapping[Cell, Sequence[ScoreRow]], counts_by_cell: Mapping[Cell, CellCounts]
) -> list[str]:
    """Lines about scores that mean less than they seem to."""
    return [
        *label_notices(counts_by_cell),
        *window_notices(counts_by_cell),
        *_range_notices(scores),
    ]


def window_notices(counts_by_cell: Mapping[Cell, CellCounts]) -> list[str]:
    """One line a cell whose prompts did not fit the model's window."""
    notices = []
    for cell, counts in counts_by_cell.items():
        if counts.shortened:
            notices.append(
                f"{cell.id}: {counts.dropped_examples:,} examples left out of "
                f"{counts.shortened:,} documents to fit the window"
            )
        if counts.truncated:
            notices.append(
                f"{cell.id}: {counts.truncated:,} documents were cut from the left to fit the "
                "window"
            )
    return notices


def label_notices(counts_by_cell: Mapping[Cell, CellCounts]) -> list[str]:
    """One line a cell whose letters are hardly what the model would have said."""
    notices = []
    for cell, counts in counts_by_cell.items():
        share = counts.letter_share
        if share is not None and share < _LITTLE:
            notices.append(
                f"{cell.id}: the labels of the choices hold {share:.0%} of the first token's"
                " probability on average; this model would rather begin otherwise"
            )
    return notices


def _range_notices(scores: Mapping[Cell, Sequence[ScoreRow]]) -> list[str]:
    """One line a perplexity that is too large to be a number."""
    return [
        f"{cell.id}: {row.metric} is beyond the range of numbers, {row.weight:,.0f} units are too "
        "few for these texts: char_perplexity and bits_per_byte do not need words"
        for cell, rows in scores.items()
        for row in rows
        if row.value is None and row.n > 0 and row.weight is not None
    ]
