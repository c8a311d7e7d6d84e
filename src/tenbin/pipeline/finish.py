"""Finish a run: score the judged documents, record them, write the files.

A run that is stopped is finished in the same way, with the documents that were answered by then,
and marked as partial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib import import_module
from typing import Any

from tenbin.backends.base import Backend
from tenbin.config import RunConfig
from tenbin.journal.answers import Answers
from tenbin.metrics.registry import metric_names
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.interrupt import finishing, note_saved, seconds_to_save
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.pipeline.output_folder import stored_result
from tenbin.pipeline.partial_scores import PartialScores
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.prepare import Data
from tenbin.pipeline.progress import Listener, ProgressCounter
from tenbin.pipeline.record import part_entries, prospect, record, run_file
from tenbin.pipeline.score import GroupScore, summarise_cells, summarise_groups
from tenbin.pipeline.usage import TokenUsage, usage_entry, usage_of_both
from tenbin.records import Cell, ScoreRow
from tenbin.records.model_info import engine_notices, engines_of, model_entries
from tenbin.results.folder import RunFolder, discard_reports, write_run
from tenbin.results.identity import run_id
from tenbin.results.progress import clear_progress
from tenbin.results.rows import sample_row


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A run that is over: its scores, its judged documents, and what result.json says."""

    config: RunConfig
    setups: tuple[CellSetup, ...]
    scores: Mapping[Cell, Sequence[ScoreRow]]
    groups: tuple[GroupScore, ...]
    judged: JudgedDocuments
    document: Mapping[str, Any]
    folder: RunFolder | None

    def samples(self) -> Iterator[dict[str, Any]]:
        """Every document as plain values, one at a time."""
        aggregations = {
            setup.cell: {name: metric.aggregation for name, metric in metric_names(setup.task)}
            for setup in self.setups
        }
        for one in self.judged:
            yield sample_row(
                one.planned.prompt,
                one.response,
                one.unconditional,
                one.outcomes,
                one.further,
                aggregations[one.planned.prompt.cell],
            )


@dataclass(frozen=True, slots=True)
class RunState:
    """A run under way."""

    config: RunConfig
    setups: tuple[CellSetup, ...]
    """The cells as this model can answer them."""
    notices: tuple[str, ...]
    """Told to the user before anything was asked."""
    data: Data
    plan: Plan
    answers: Answers
    """To be closed."""
    partial_scores: PartialScores
    """Judges documents as they are answered."""
    backend: Backend
    folder: RunFolder | None
    replaces: bool = False
    """Whether the folder holds a result of another run, which is to be replaced."""
    also: Mapping[str, Any] = field(default_factory=dict)
    """Recorded beside the scores."""
    usage: TokenUsage = field(default_factory=TokenUsage)
    usage_before: Mapping[str, Any] | None = None
    """The entry `usage` of what was asked before, on behalf of this run."""
    stamp: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    started: float = field(default_factory=time.monotonic)
    """On the monotonic clock."""


def finish(
    state: RunState,
    judged: JudgedDocuments,
    partial: bool = False,
    notify: Callable[[str], None] = lambda text: None,
) -> CompletedRun:
    """Score judged documents and record them.

    Args:
        state: The run.
        judged: Its documents.
        partial: Whether they are only a part of what the run asks.
        notify: Told what the user should know.
    """
    setups = state.setups
    scores, groups = summarise_cells(setups, judged), summarise_groups(setups, judged)
    description = dict(state.backend.describe())
    engines = engines_of(state.answers.given_by(description))
    notices = engine_notices(engines)
    for notice in notices:
        notify(notice)
    usage = usage_entry(state.usage, description.get("prices"))
    entries = record(
        state.config,
        setups,
        scores,
        groups,
        state.data,
        judged,
        (*state.notices, *notices),
    )
    if partial:
        entries = part_entries(entries, {cell.id: len(s) for cell, s in state.plan.spans.items()})
    fingerprint = state.backend.fingerprint
    document = {
        **entries,
        "run_id": run_id(prospect(state.config, setups, state.data, fingerprint)),
        "partial": partial,
        **model_entries(engines, description),
        "fingerprint": fingerprint,
        "answers_from_journal": state.usage.from_journal,
        **({"scale": description["scale"]} if "scale" in description else {}),
        "date": state.stamp.isoformat(timespec="seconds"),
        "usage": usage_of_both(state.usage_before, usage),
        "total_evaluation_time_seconds": round(time.monotonic() - state.started, 3),
        **state.also,
    }
    return CompletedRun(state.config, setups, scores, tuple(groups), judged, document, state.folder)


def write_completed(state: RunState, run: CompletedRun, listener: Listener) -> CompletedRun:
    """Write the folder of a run that is over, where it has one.

    A signal waits for the end of it, as long as its time lasts.
    """
    if state.folder is None:
        return run
    state.partial_scores.write("writing")
    counter = ProgressCounter(listener.prepare, "writing samples", len(run.judged))
    with finishing():
        return _write(state, run, counter.through(run.samples()))


def _write(state: RunState, run: CompletedRun, rows: Iterable[Mapping[str, Any]]) -> CompletedRun:
    folder = run.folder
    assert folder is not None
    if state.replaces:
        discard_reports(folder)
    document = write_run(folder, run.document, rows, run_file(run.config))
    if not document["partial"]:
        clear_progress(folder.path)
    return replace(run, document=document)


def prepare_to_save() -> None:
    """Load the libraries that scores and files need; a run has not come to them yet."""
    for name in ("pyarrow.parquet", "scipy.special", "yaml", "pandas"):
        # Pyarrow loads pandas by itself where there is some.
        with suppress(ImportError):
            import_module(name)


def save_part(state: RunState) -> None:
    """Write what there is of a run that is being stopped: its state, and a partial result.

    A result of the same run that holds more documents stays.
    """
    if state.folder is None:
        return
    state.partial_scores.write("stopped")
    # Scoring and writing take about three times as long as this.
    part = state.partial_scores.judge.answered_part(seconds_to_save() / 4)
    if not len(part) or _documents(stored_result(state.folder), state) >= len(part):
        return
    run = finish(state, part, partial=True)
    _write(state, run, run.samples())
    note_saved(f"a partial result of {len(part):,} documents is at {state.folder.result_file}")


def _documents(stored: Mapping[str, Any] | None, state: RunState) -> int:
    """How many documents the stored result of this run rests on; 0 where there is none."""
    if stored is None or state.replaces:
        return 0
    return sum(int(counts["effective"]) for counts in stored.get("n-samples", {}).values())
