"""Scores of several runs by model and task: what belongs into one column, what is missing and why.

Scores that were asked otherwise (other template, data, shots, seed, decoding, members of a group)
are never in one column. What leaves a score comparable but should be known, such as a run that was
stopped, becomes a remark on its cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from tenbin.report.export.numbers import Unit, find_unit
from tenbin.report.export.remarks import score_remarks
from tenbin.report.export.variants import (
    Asked,
    Variant,
    asked_cell,
    asked_group,
    find_variants,
)
from tenbin.results.schema import MetricScore, RunResult

Kind = Literal["group", "task"]


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A run and what it is called."""

    name: str
    result: RunResult


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of one task or group, asked in one way."""

    kind: Kind
    id: str
    task: str
    """Name of the task; of a group, its own."""
    metric: str
    shots: str
    """Examples in a prompt: `3`; of a group whose tasks differ, those of each in order of ids."""
    variant: str
    """What sets it apart from other columns of the same id, besides shots; empty if nothing."""
    unit: Unit
    higher_is_better: bool

    @property
    def asked(self) -> str:
        """How it was asked, in words."""
        return ", ".join(part for part in (f"{self.shots}-shot", self.variant) if part)


@dataclass(frozen=True, slots=True)
class Cell:
    """The score of one run in one column, or why there is none."""

    score: MetricScore | None
    missing: str = ""
    """Why there is no score; empty if there is one."""
    remarks: tuple[str, ...] = ()
    """What should be known of the score."""
    asked: bool = True
    """Whether the run asked what the column holds."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The scores of all runs: `cells` has a row for each run and an entry for each column."""

    runs: tuple[NamedRun, ...]
    columns: tuple[Column, ...]
    cells: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    """What columns do not have in common."""


def build_table(runs: Sequence[NamedRun], all_metrics: bool = False) -> ScoreTable:
    """The scores of one or several runs, groups before tasks.

    Args:
        runs: The runs, each with a name.
        all_metrics: Whether every metric gets a column; otherwise the first of each task and group.
    """
    asked = [_asked(run.result) for run in runs]
    variants = {
        key: find_variants([found.get(key) for found in asked])
        for key in sorted(dict.fromkeys(k for one in asked for k in one), key=lambda k: k[0])
    }
    columns, cells = [], []
    for (kind, id), found in variants.items():
        for number, variant in enumerate(found.variants):
            members = [run for run, of in zip(runs, found.of_run, strict=True) if of == number]
            notes = score_remarks([run.result for run in members], kind, id)
            remarks = dict(zip((run.name for run in members), notes, strict=True))
            for metric in _metrics(members, kind, id, all_metrics):
                column = _column(members, kind, id, metric, variant)
                columns.append(column)
                cells.append(
                    [
                        _cell(run.result, column, remarks[run.name])
                        if of == number
                        else _missing(run.result, column, variant.asked, own)
                        for run, of, own in zip(runs, found.of_run, asked, strict=True)
                    ]
                )
    rows = tuple(tuple(column[at] for column in cells) for at in range(len(runs)))
    return ScoreTable(tuple(runs), tuple(columns), rows, tuple(_notes(columns)))


def _column(
    members: Sequence[NamedRun], kind: Kind, id: str, metric: str, variant: Variant
) -> Column:
    scores = [_score(run.result, kind, id, metric) for run in members]
    known = [score for score in scores if score is not None]
    return Column(
        kind=kind,
        id=id,
        task=variant.asked.task,
        metric=metric,
        shots=variant.asked.shots,
        variant=variant.text,
        unit=find_unit(known),
        higher_is_better=known[0].detail.higher_is_better,
    )


def _asked(result: RunResult) -> dict[tuple[Kind, str], Asked]:
    """How each group and task of a run was asked, without cells that have no score of their own."""
    found: dict[tuple[Kind, str], Asked] = {}
    for id in result.groups:
        if result.group_details[id]:
            found["group", id] = asked_group(result, id)
    for id, config in result.configs.items():
        if config.role not in ("select", "part"):
            found["task", id] = asked_cell(result, id)
    return found


def _scores(result: RunResult, kind: Kind, id: str) -> list[MetricScore]:
    return result.scores(id) if kind == "task" else result.group_scores(id)


def _score(result: RunResult, kind: Kind, id: str, metric: str) -> MetricScore | None:
    return next((one for one in _scores(result, kind, id) if one.metric == metric), None)


def _metrics(members: Sequence[NamedRun], kind: Kind, id: str, every: bool) -> list[str]:
    names: dict[str, None] = {}
    for run in members:
        found = [score.metric for score in _scores(run.result, kind, id)]
        names |= dict.fromkeys(found if every else found[:1])
    return list(names)


def _cell(result: RunResult, column: Column, remarks: tuple[str, ...]) -> Cell:
    score = _score(result, column.kind, column.id, column.metric)
    if score is None:
        return Cell(None, "the run does not have this metric")
    failed = score.detail.failed
    if score.value is None:
        why = f"all {failed:,} documents failed" if failed else "no document was answered"
        return Cell(None, f"nothing could be scored: {why}", remarks)
    if failed:
        remarks = (*remarks, f"{failed:,} {'document' if failed == 1 else 'documents'} failed")
    return Cell(score, "", remarks)


def _missing(
    result: RunResult, column: Column, wanted: Asked, asked: Mapping[tuple[Kind, str], Asked]
) -> Cell:
    return Cell(None, _why_missing(result, column, wanted, asked), asked=False)


def _why_missing(
    result: RunResult, column: Column, wanted: Asked, asked: Mapping[tuple[Kind, str], Asked]
) -> str:
    """Why a run has no score in a column, by what it has instead."""
    found = asked.get((column.kind, column.id))
    if found is not None:
        return f"asked otherwise: {found.against(wanted)}"
    if column.id in result.skipped:
        # The reason that the run recorded names folders of the machine that it ran on.
        return "skipped: its data could not be had"
    if column.kind == "group":
        return "the run does not have this group"
    others = [
        id
        for id, config in result.configs.items()
        if config.task == wanted.task and ("task", id) in asked
    ]
    if others:
        return f"asked as {', '.join(others[:3])}{', …' if len(others) > 3 else ''} instead"
    roles = {config.role for config in result.configs.values() if config.task == wanted.task}
    if "part" in roles:
        return "asked of a part of the documents for each prompt, in a sweep on a budget"
    return "not run"


def _notes(columns: Sequence[Column]) -> Iterator[str]:
    """A line for each task or group that has several columns which must not be compared."""
    for (_, id), same in groupby(columns, key=lambda column: (column.kind, column.id)):
        asked = list(dict.fromkeys(column.asked for column in same))
        if len(asked) > 1:
            yield f"{id}: asked in {len(asked)} ways, not comparable: {'; '.join(asked)}"
