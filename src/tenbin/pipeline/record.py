"""Record a run: everything that result.json says, from what the stages gave."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tenbin.config import OPTIONS, RunConfig
from tenbin.metrics.registry import used_metric
from tenbin.pipeline.cell_record import cell_config, finished_config, prompt_entry, template_hash
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.group_scores import GroupScore
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.pipeline.notices import partial_notice, score_notices, stopping_notices
from tenbin.pipeline.prepare import Data, count_prompts
from tenbin.plugins import BACKENDS, Plugin, entry_points
from tenbin.records import Cell, ScoreRow
from tenbin.results.identity import RunIdentity, run_id
from tenbin.results.provenance import git_revision, library_versions
from tenbin.results.schema import (
    SCHEMA_VERSION,
    DataFileEntry,
    Detectable,
    DocumentCounts,
    EngineAnswers,
    GroupDefinition,
    MetricDetail,
    PartEntry,
    RunResult,
    Stopping,
    TemplateChoices,
    UnweightedMean,
    UsageEntry,
    stderr_key,
)
from tenbin.statistics.power import CORRELATION, TOO_FEW
from tenbin.tasks.installed import package_of
from tenbin.version import __version__


@dataclass(frozen=True, slots=True)
class Execution:
    """What a result records of one execution of a run: the model that answered, and the clock."""

    model: Mapping[str, object]
    """What the backend says of the model."""
    answered_by: Sequence[EngineAnswers]
    fingerprint: str
    date: str
    seconds: float
    from_journal: int
    """Requests that the journal answered."""
    timing: Mapping[str, float] = field(default_factory=dict)
    """Seconds by stage, up to here."""
    usage: UsageEntry | None = None
    scale: Mapping[str, object] | None = None
    """With workers: how the work was spread."""
    template_choice: TemplateChoices | None = None
    leaders: Mapping[str, list[list[str]]] = field(default_factory=dict)
    """With `--then`: the prompts that were run in full, as `RunResult` has them."""
    asked: Mapping[str, int] | None = None
    """Of a run that was stopped: task id → documents that were to be asked."""
    stopping: Stopping | None = None
    """With `--until`: when each task stopped."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Task id → why its data could not be had, with `--skip_missing`."""


def record(
    config: RunConfig,
    setups: Sequence[CellSetup],
    scores: Mapping[Cell, Sequence[ScoreRow]],
    groups: Sequence[GroupScore],
    data: Data,
    judged: JudgedDocuments,
    execution: Execution,
    notices: Sequence[str] = (),
) -> RunResult:
    """The result of a run, without the digest of its samples.

    Args:
        config: The options of the run.
        setups: Its cells.
        scores: Their scores.
        groups: The scores of groups.
        data: The rows.
        judged: The judged documents.
        execution: The model and the clock.
        notices: Shown to the user before anything was asked.
    """
    plugins = _used_plugins(config, setups)
    counts = _document_counts(setups, data, judged, execution.asked)
    warnings = [
        *data.notices(),
        *notices,
        *score_notices(scores, judged.counts_by_cell),
        *stopping_notices(execution.stopping, groups),
    ]
    if execution.asked is not None:
        warnings.insert(0, partial_notice(counts.values()))
    groups = [group for group in groups if group.members]
    result = RunResult(
        tenbin_version=__version__,
        schema_version=SCHEMA_VERSION,
        results={s.cell.id: _score_entries(s.cell.id, scores[s.cell]) for s in setups},
        details={s.cell.id: _details(scores[s.cell], percent_metrics([s])) for s in setups},
        versions={s.cell.id: s.cell.version for s in setups},
        n_shot={s.cell.id: s.cell.shots for s in setups},
        n_samples=counts,
        higher_is_better={
            s.cell.id: {row.metric: row.higher_is_better for row in scores[s.cell]} for s in setups
        },
        configs={s.cell.id: finished_config(s, judged) for s in setups},
        data={s.cell.id: _data_files(s, data) for s in setups},
        prompts={s.cell.id: prompt_entry(s, judged) for s in setups},
        lengths={
            s.cell.id: judged.counts_by_cell[s.cell].lengths.entry(s.task.thinking is not None)
            for s in setups
            if s.task.kind == "generate"
        },
        **group_entries(groups, percent_metrics(setups)),
        failures={
            cell.id: one.failures for cell, one in judged.counts_by_cell.items() if one.failures
        },
        warnings=warnings,
        config=config.recorded(),
        profile=config.profile_settings.name,
        libraries={**library_versions(), **{p.package: p.version for p in plugins.values()}},
        git_hash=git_revision(),
        run_id=run_id(identify(config, setups, data, execution.fingerprint)),
        partial=execution.asked is not None,
        model=dict(execution.model),
        engine=_engine(execution.model),
        answered_by=list(execution.answered_by),
        fingerprint=execution.fingerprint,
        answers_from_journal=execution.from_journal,
        date=execution.date,
        usage=execution.usage,
        total_evaluation_time_seconds=execution.seconds,
        timing=dict(execution.timing),
    )
    # Keys that only some runs have.
    rare = {
        "plugins": {name: plugin.origin for name, plugin in plugins.items()},
        "scale": execution.scale,
        "template_choice": execution.template_choice,
        "leaders": dict(execution.leaders),
        "stopping": execution.stopping,
        "group_definitions": group_definitions(groups),
        "chosen_by": {s.cell.id: dict(s.chosen_by) for s in setups if s.chosen_by},
        "skipped": dict(execution.skipped),
        "tags": list(config.tags),
        "note": config.note,
    }
    return result.model_copy(update={name: value for name, value in rare.items() if value})


def _used_plugins(config: RunConfig, setups: Sequence[CellSetup]) -> dict[str, Plugin]:
    """Other packages whose backend, metrics or tasks take part, by what they give."""
    used: dict[str, Plugin] = {}
    backend = entry_points(BACKENDS).get(config.model)
    if backend is not None:
        used[f"backend {config.model}"] = backend
    for setup in setups:
        for use in setup.task.metrics:
            plugin = used_metric(setup.task, use).plugin
            if plugin is not None:
                used[f"metric {use.metric}"] = plugin
        plugin = package_of(setup.task.source)
        if plugin is not None:
            used[f"task {setup.task.name}"] = plugin
    return used


def _document_counts(
    setups: Sequence[CellSetup],
    data: Data,
    judged: JudgedDocuments,
    asked: Mapping[str, int] | None,
) -> dict[str, DocumentCounts]:
    counts = {
        s.cell.id: DocumentCounts(
            original=len(data.for_cell(s)[0].documents),
            effective=judged.counts_by_cell[s.cell].documents,
        )
        for s in setups
    }
    if asked is None:
        return counts
    return {id: n.model_copy(update={"asked": asked[id]}) for id, n in counts.items()}


def _engine(model: Mapping[str, object]) -> dict[str, object] | None:
    engine = model.get("engine")
    return dict(engine) if isinstance(engine, Mapping) else None


def identify(
    config: RunConfig, setups: Sequence[CellSetup], data: Data, fingerprint: str | None
) -> RunIdentity:
    """What a run is, before anything is asked.

    Args:
        config: The options of the run.
        setups: Its cells; with `--template auto` all that can be chosen.
        data: The rows.
        fingerprint: Of the model; None if it is not known yet.
    """
    return RunIdentity(
        # As a file gives it back, since it is compared with stored runs.
        config=json.loads(json.dumps(config.recorded(), ensure_ascii=False)),
        profile=config.profile_settings.name,
        fingerprint=fingerprint,
        configs={s.cell.id: cell_config(s) for s in setups},
        template_hashes={
            s.cell.id: template_hash(s.task.templates[s.cell.template]) for s in setups
        },
        documents={s.cell.id: count_prompts(s, data) for s in setups},
        digests={
            s.cell.id: {
                split: [file.sha256 for file in files] for split, files in data.files(s).items()
            }
            for s in setups
        },
    )


def _score_entries(id: str, rows: Sequence[ScoreRow]) -> dict[str, float | str | None]:
    """Metrics as lm-eval writes them: `acc`, `acc_stderr`."""
    entries: dict[str, float | str | None] = {"alias": id}
    for row in rows:
        entries[row.metric] = row.value
        entries[stderr_key(row.metric)] = row.stderr
    return entries


def _details(rows: Sequence[ScoreRow], percent: frozenset[str]) -> dict[str, MetricDetail]:
    return {row.metric: _detail(row, row.metric in percent) for row in rows}


def _detail(row: ScoreRow, percent: bool) -> MetricDetail:
    paired = row.detectable_paired
    detectable = Detectable(unpaired=row.detectable_unpaired, paired=paired.get(CORRELATION))
    added: dict[str, object] = {"reason": TOO_FEW}
    if row.detectable_unpaired is not None:
        added = {"by_correlation": {f"{of:g}": step for of, step in paired.items()}}
    detectable = detectable.model_copy(update=added)
    detail = MetricDetail(
        n=row.n,
        clusters=row.clusters,
        failed=row.failed,
        aggregation=row.aggregation,
        stderr_method=row.stderr_method,
        low=row.low,
        high=row.high,
        interval_method=row.interval_method,
        detectable=detectable,
        higher_is_better=row.higher_is_better,
        unit="%" if percent else "",
    )
    rare: dict[str, object] = {}
    if row.weight is not None:
        rare["weight"] = row.weight
    if row.parts:
        rare["parts"] = {
            name: PartEntry(value=total / count, n=count)
            for name, (total, count) in row.parts.items()
        }
    return detail.model_copy(update=rare) if rare else detail


def group_entries(groups: Sequence[GroupScore], percent: frozenset[str]) -> dict[str, Any]:
    """Scores of groups, as `groups`, `group_subtasks` and `group_details` hold them.

    Args:
        groups: The groups.
        percent: Names of the metrics whose values run from 0 to 100.
    """
    return {
        "groups": {g.id: _score_entries(g.alias or g.id, g.rows) for g in groups},
        "group_subtasks": {g.id: list(g.members) for g in groups},
        "group_details": {g.id: _group_details(g, percent) for g in groups},
    }


def group_definitions(groups: Sequence[GroupScore]) -> dict[str, GroupDefinition]:
    """What the means of the catalogue's groups are made of."""
    return {g.id: _group_definition(g) for g in groups if g.parts}


def _group_definition(group: GroupScore) -> GroupDefinition:
    return GroupDefinition(
        weighting=group.weighting,
        metrics={part.cell: part.metric for part in group.parts},
        weights={part.cell: part.weight for part in group.parts},
    )


def _group_details(group: GroupScore, percent: frozenset[str]) -> dict[str, MetricDetail]:
    """Means weighted by documents, and beside each the plain mean of the tasks."""
    if group.percent is not None:
        percent = frozenset(row.metric for row in group.rows) if group.percent else frozenset()
    details = _details(group.rows, percent)
    for row in group.unweighted:
        mean = UnweightedMean(
            value=row.value,
            stderr=row.stderr,
            low=row.low,
            high=row.high,
            interval_method=row.interval_method,
        )
        details[row.metric] = details[row.metric].model_copy(update={"unweighted": mean})
    return details


def _data_files(setup: CellSetup, data: Data) -> dict[str, list[DataFileEntry]]:
    return {
        split: [DataFileEntry(**asdict(file)) for file in files]
        for split, files in data.files(setup).items()
    }


def percent_metrics(setups: Sequence[CellSetup]) -> frozenset[str]:
    """Names of the metrics whose values run from 0 to 100."""
    return frozenset(name for setup in setups for name, metric in setup.metrics if metric.percent)


def run_file(config: RunConfig) -> dict[str, Any]:
    """A file for `--config` that runs this again."""
    return {
        name: value
        for name, value in config.as_dict().items()
        if value is not None and value is not False and value != [] and value != {}
        if name not in ("output_path", "overwrite") and OPTIONS[name].in_files
    }
