"""Scores as flat records, one for each model, task and metric: what CSV and JSON Lines hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenbin.report.export.numbers import show_score, unit_label
from tenbin.report.export.table import Cell, Column, NamedRun, ScoreTable
from tenbin.results.schema import DataFileEntry


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """One score, or why it is missing. Field names are the headings of the CSV file."""

    model: str
    kind: str
    """`task` or `group`."""
    id: str
    task: str
    version: str | None
    template: str | None
    language: str | None
    shots: int | str
    """Of a group whose tasks differ, those of each in order of ids."""
    variant: str
    """What sets it apart from scores of the same id that must not be compared with it."""
    metric: str
    value: float | None
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None
    stderr: float | None
    unit: str
    """`%`, `share`, or empty where a metric is neither."""
    higher_is_better: bool
    n: int | None
    """Documents behind the value."""
    clusters: int | None
    failed: int | None
    interval_method: str | None
    data_version: str | None
    data_sha256: str | None
    """Checksums of the files that were scored, separated by blanks."""
    missing: str
    """Why there is no value; empty if there is one."""
    remarks: str
    """What should be known of the score, separated by semicolons."""
    run_id: str | None
    date: str
    tenbin_version: str | None


def to_records(table: ScoreTable, percent: bool) -> Iterator[ScoreRecord]:
    """One record for each run and column, missing scores included."""
    for run, row in zip(table.runs, table.cells, strict=True):
        for column, cell in zip(table.columns, row, strict=True):
            yield _record(run, column, cell, percent)


def _record(run: NamedRun, column: Column, cell: Cell, percent: bool) -> ScoreRecord:
    result = run.result
    config = result.configs[column.id] if column.kind == "task" and cell.asked else None
    files = result.data[column.id].get(config.split, []) if config is not None else []
    score = cell.score
    detail = None if score is None else score.detail
    shown = None if score is None else show_score(score, column.unit, percent)
    return ScoreRecord(
        model=run.name,
        kind=column.kind,
        id=column.id,
        task=column.task,
        version=None if config is None else config.version,
        template=None if config is None else config.template,
        language=None if config is None else config.language,
        shots=int(column.shots) if column.shots.isdecimal() else column.shots,
        variant=column.variant,
        metric=column.metric,
        value=None if shown is None else shown.value,
        low=None if shown is None else shown.low,
        high=None if shown is None else shown.high,
        stderr=None if shown is None else shown.stderr,
        unit=unit_label(column.unit, percent),
        higher_is_better=column.higher_is_better,
        n=None if detail is None else detail.n,
        clusters=None if detail is None else detail.clusters,
        failed=None if detail is None else detail.failed,
        interval_method=None if detail is None else detail.interval_method,
        data_version=_version(files),
        data_sha256=" ".join(file.sha256 for file in files) or None,
        missing=cell.missing,
        remarks="; ".join(cell.remarks),
        run_id=result.run_id,
        date=result.date,
        tenbin_version=result.tenbin_version,
    )


def _version(files: Sequence[DataFileEntry]) -> str | None:
    return " ".join(dict.fromkeys(file.version for file in files if file.version)) or None
