"""The last part of a run: from judged documents to scores, the document that records them, files.

The same for a run that is over and for one that was stopped: what was answered by then is judged,
scored and written, and marked as partial. Knows no terminal and asks no model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib import import_module
from typing import Any

from tenbin.backends.base import Backend
from tenbin.config import RunConfig
from tenbin.journal.answers import Answers
from tenbin.metrics.registry import metric_names
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.interrupt import finishing, note_saved, seconds_to_save
from tenbin.pipeline.judge import JudgedDocuments, judge_all
from tenbin.pipeline.output_folder import stored_result
from tenbin.pipeline.partial_scores import Watch
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.prepare import Data
from tenbin.pipeline.progress import Listener, ProgressCounter
from tenbin.pipeline.record import part_entries, prospect, record, run_file
from tenbin.pipeline.score import GroupScore, summarise_cells, summarise_groups
from tenbin.pipeline.usage import TokenUsage, usage_entry, usage_of_both
from tenbin.records import Cell, Prompt, ScoreRow
from tenbin.records.model_info import engine_notices, engines_of, model_entries
from tenbin.results.folder import RunFolder, discard_reports, write_run
from tenbin.results.identity import run_id
from tenbin.results.progress import clear_progress
from tenbin.results.rows import sample_row


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that is over: its scores, its documents, and the document that records it."""

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
    """A run under way: what it asks, whom, and where it goes."""

    config: RunConfig
    setups: tuple[CellSetup, ...]
    """The cells as this model can answer them."""
    notices: tuple[str, ...]
    """What was said before anything was asked."""
    data: Data
    plan: Plan
    answers: Answers
    """To be closed."""
    backend: Backend
    folder: RunFolder | None
    replaces: bool = False
    """Whether the folder holds a result of another run, which is to be replaced."""
    watch: Watch | None = None
    also: Mapping[str, Any] = field(default_factory=dict)
    """Recorded beside the scores."""
    spent: TokenUsage = field(default_factory=TokenUsage)
    usage_before: Mapping[str, Any] | None = None
    """The entry `usage` of what was asked before, on behalf of this run."""
    stamp: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    started: float = field(default_factory=time.monotonic)
    """By a clock that nobody sets."""


def conclude(
    state: RunState,
    judged: JudgedDocuments,
    part: Plan | None = None,
    tell: Callable[[str], None] | None = None,
) -> RunResult:
    """Score judged documents and record them.

    Args:
        state: The run.
        judged: The documents.
        part: What they belong to where that is only a part of what the run asks.
        tell: Told what is worth a line.
    """
    setups = state.setups
    scores, groups = summarise_cells(setups, judged), summarise_groups(setups, judged)
    description = dict(state.backend.describe())
    engines = engines_of(state.answers.given_by(description))
    notices = engine_notices(engines)
    if tell is not None:
        for notice in notices:
            tell(notice)
    usage = usage_entry(state.spent, description.get("prices"))
    entries = record(
        state.config,
        setups,
        scores,
        groups,
        state.data,
        part or state.plan,
        judged.counts_by_cell,
        (*state.notices, *notices),
    )
    if part is not None:
        entries = part_entries(entries, {cell.id: len(s) for cell, s in state.plan.spans.items()})
    fingerprint = state.backend.fingerprint
    document = {
        **entries,
        "run_id": run_id(prospect(state.config, setups, state.data, fingerprint)),
        "partial": part is not None,
        **model_entries(engines, description),
        "fingerprint": fingerprint,
        "answers_from_journal": state.spent.from_journal,
        **({"scale": description["scale"]} if "scale" in description else {}),
        "date": state.stamp.isoformat(timespec="seconds"),
        "usage": usage_of_both(state.usage_before, usage),
        "total_evaluation_time_seconds": round(time.monotonic() - state.started, 3),
        **state.also,
    }
    return RunResult(state.config, setups, scores, tuple(groups), judged, document, state.folder)


def write_finished(state: RunState, finished: RunResult, listener: Listener) -> RunResult:
    """Write the folder of a run that is over, where it has one.

    A stop waits for the end of it, as long as its time lasts.
    """
    if state.folder is None:
        return finished
    if state.watch is not None:
        state.watch.write("writing")
    counter = ProgressCounter(listener.prepare, "writing samples", len(finished.judged))
    with finishing():
        return _write(state, finished, counter.through(finished.samples()))


def _write(state: RunState, finished: RunResult, rows: Iterable[Mapping[str, Any]]) -> RunResult:
    folder = finished.folder
    assert folder is not None
    if state.replaces:
        discard_reports(folder)
    document = write_run(folder, finished.document, rows, run_file(finished.config))
    if not document["partial"]:
        clear_progress(folder.path)
    return RunResult(
        finished.config,
        finished.setups,
        finished.scores,
        finished.groups,
        finished.judged,
        document,
        folder,
    )


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
    if state.watch is not None:
        state.watch.write("stopped")
    plan = _answered(state)
    if not len(plan) or _documents(stored_result(state.folder), state) >= len(plan):
        return
    silent = ProgressCounter(lambda what, done, total: None, "", 0)
    finished = conclude(state, judge_all(state.setups, plan, state.answers, silent), plan)
    _write(state, finished, finished.samples())
    note_saved(f"a partial result of {len(plan):,} documents is at {state.folder.result_file}")


def _answered(state: RunState) -> Plan:
    """The documents that have all their answers, as many as there is time to look at."""
    plan, until = Plan(), time.monotonic() + seconds_to_save() / 2

    def prompts(cell: Cell) -> Iterator[Prompt]:
        for chunk in state.plan.planned(cell):
            if time.monotonic() > until:
                return
            found = state.answers.find([key for one in chunk for key in one.keys])
            yield from (one.prompt for one in chunk if all(key in found for key in one.keys))

    for setup in state.setups:
        plan.add(setup.cell, prompts(setup.cell), setup.scores_unconditionally)
    return plan


def _documents(stored: Mapping[str, Any] | None, state: RunState) -> int:
    """How many documents the stored result of this run rests on; 0 where there is none."""
    if stored is None or state.replaces:
        return 0
    return sum(int(counts["effective"]) for counts in stored.get("n-samples", {}).values())
