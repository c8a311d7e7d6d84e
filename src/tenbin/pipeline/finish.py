"""Finish a run: score the judged documents, record them, write the files.

A run that is stopped is finished in the same way, with the documents that were answered by then,
and marked as partial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib import import_module
from typing import Any

from tenbin.backends.base import Backend
from tenbin.config import RunConfig
from tenbin.journal.answers import Answers
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.group_scores import GroupScore, summarise_groups
from tenbin.pipeline.interrupt import finishing, note_saved, seconds_to_save
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.pipeline.output_folder import stored_result
from tenbin.pipeline.partial_scores import PartialScores
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.prepare import Data
from tenbin.pipeline.progress import Listener, ProgressCounter
from tenbin.pipeline.record import Execution, record, run_file
from tenbin.pipeline.score import summarise_cells
from tenbin.pipeline.until.stop_rule import StopRule
from tenbin.pipeline.usage import TokenUsage, usage_entry, usage_of_both
from tenbin.records import Cell, ScoreRow
from tenbin.records.model_info import engine_notices, engines_of, model_entries
from tenbin.results.folder import RunFolder, discard_reports
from tenbin.results.progress import clear_progress
from tenbin.results.samples import make_sample
from tenbin.results.schema import EngineAnswers, RunResult, Sample, TemplateChoices, UsageEntry
from tenbin.results.write import write_run
from tenbin.statistics.special import special
from tenbin.timing import Timing, stage


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A run that is over: its scores, its judged documents, and what result.json says."""

    config: RunConfig
    setups: tuple[CellSetup, ...]
    scores: Mapping[Cell, Sequence[ScoreRow]]
    groups: tuple[GroupScore, ...]
    judged: JudgedDocuments
    result: RunResult
    folder: RunFolder | None
    timing: Timing | None = None
    """Where the time went; the one of `result` ends before the files are written."""

    @property
    def document(self) -> dict[str, Any]:
        """result.json as plain values."""
        return self.result.to_json()

    def samples(self) -> Iterator[Sample]:
        """Every document as a row of samples.parquet, made when it is asked for."""
        aggregations = {
            cell: {row.metric: row.aggregation for row in rows}
            for cell, rows in self.scores.items()
        }
        for one in self.judged:
            yield make_sample(
                one.planned.prompt,
                one.response,
                one.unconditional,
                one.outcomes,
                one.further,
                aggregations[one.planned.prompt.cell],
            )

    def sample_rows(self) -> Iterator[dict[str, Any]]:
        """The same as plain values."""
        return (sample.to_json() for sample in self.samples())


@dataclass(frozen=True, slots=True)
class RunState:
    """A run under way."""

    config: RunConfig
    setups: tuple[CellSetup, ...]
    """The cells as this model can answer them."""
    notices: tuple[str, ...]
    """Shown to the user before anything was asked."""
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
    stop_rule: StopRule = field(default_factory=StopRule)
    """With `--until`: when its tasks stop."""
    template_choice: TemplateChoices | None = None
    """With `--template auto`: what was chosen."""
    leaders: Mapping[str, list[list[str]]] = field(default_factory=dict)
    """With `--then`: the prompts that are run in full, as `RunResult` has them."""
    usage: TokenUsage = field(default_factory=TokenUsage)
    usage_before: UsageEntry | None = None
    """What was asked before, on behalf of this run."""
    stamp: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    started: float = field(default_factory=time.monotonic)
    """On the monotonic clock."""
    timing: Timing | None = None
    """Where the time goes."""


@stage("statistics")
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
        notify: Called with what the user should know.
    """
    setups = state.setups
    scores = summarise_cells(setups, judged)
    groups = summarise_groups(setups, judged, scores)
    description = dict(state.backend.describe())
    engines = engines_of(state.answers.given_by(description))
    notices = [
        *engine_notices(engines),
        *(
            f"{row.id}: {row.metric}: {row.notice}"
            for rows in scores.values()
            for row in rows
            if row.notice
        ),
        *(notice for group in groups for notice in group.notices),
    ]
    for notice in notices:
        notify(notice)
    entries = model_entries(engines, description)
    execution = Execution(
        model=entries["model"],
        answered_by=[EngineAnswers(**engine) for engine in entries["answered_by"]],
        fingerprint=state.backend.fingerprint,
        date=state.stamp.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - state.started, 3),
        timing=state.timing.seconds if state.timing is not None else {},
        from_journal=state.usage.from_journal,
        usage=usage_of_both(
            state.usage_before, usage_entry(state.usage, description.get("prices"))
        ),
        scale=description.get("scale"),
        template_choice=state.template_choice,
        leaders=state.leaders,
        stopping=state.stop_rule.entry() if not partial else None,
        asked={cell.id: len(s) for cell, s in state.plan.spans.items()} if partial else None,
        skipped=state.data.skipped,
    )
    result = record(
        state.config, setups, scores, groups, state.data, judged, execution,
        (*state.notices, *notices),
    )  # fmt: skip
    return CompletedRun(
        state.config, setups, scores, tuple(groups), judged, result, state.folder, state.timing
    )


def write_completed(state: RunState, run: CompletedRun, listener: Listener) -> CompletedRun:
    """Write the folder of a run that is over, where it has one.

    A signal waits for the end of it, as long as its time lasts.
    """
    if state.folder is None:
        return run
    with stage("writing"):
        return _write_completed(state, run, listener)


def _write_completed(state: RunState, run: CompletedRun, listener: Listener) -> CompletedRun:
    state.partial_scores.write("writing")
    counter = ProgressCounter(listener.prepare, "writing samples", len(run.judged))
    with finishing():
        return _write(state, run, counter.through(run.samples()))


def _write(state: RunState, run: CompletedRun, samples: Iterable[Sample]) -> CompletedRun:
    folder = run.folder
    assert folder is not None
    if state.replaces:
        discard_reports(folder)
    result = write_run(folder, run.result, samples, run_file(run.config))
    if not result.partial:
        clear_progress(folder.path)
    return replace(run, result=result)


def prepare_to_save() -> None:
    """Load the libraries that scores and files need; a run has not come to them yet."""
    special()
    for name in ("pyarrow.parquet", "yaml"):
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


def _documents(stored: RunResult | None, state: RunState) -> int:
    """How many documents the stored result of this run rests on; 0 where there is none."""
    if stored is None or state.replaces:
        return 0
    return sum(counts.effective for counts in stored.n_samples.values())
