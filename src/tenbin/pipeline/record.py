"""Record a run: everything that result.json says, from what the stages gave."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from tenbin.config import OPTIONS, RunConfig
from tenbin.metrics.registry import metric_names, used_metric
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.judge import CellCounts, JudgedDocuments
from tenbin.pipeline.prepare import Data, count_prompts
from tenbin.pipeline.requests import content_key
from tenbin.pipeline.score import GroupScore
from tenbin.plugins import BACKENDS, Plugin, entry_points
from tenbin.records import Cell, ExampleWording, ScoreRow, TaskFunction, TaskOrigin, Template
from tenbin.records.task import stored_kind
from tenbin.results.identity import RunIdentity, run_id
from tenbin.results.provenance import git_revision, library_versions
from tenbin.results.schema import (
    SCHEMA_VERSION,
    CellConfig,
    DataFileEntry,
    Detectable,
    DocumentCounts,
    EngineAnswers,
    FunctionEntry,
    MetricDetail,
    OriginEntry,
    ParallelEntry,
    PromptEntry,
    RunResult,
    TemplateChoices,
    ThinkingEntry,
    UnweightedMean,
    UsageEntry,
    stderr_key,
)
from tenbin.tasks.installed import package_of
from tenbin.version import __version__

LIKELIHOODS = "likelihoods of their texts"
_WAYS = {
    "letter_logprobs": "letter (first-token log-probabilities)",
    "generated": "letter (read out of generated text)",
}
_LITTLE = 0.5
"""Share of the first token below which the letters are not what the model would say."""


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
    usage: UsageEntry | None = None
    scale: Mapping[str, object] | None = None
    """With workers: how the work was spread."""
    template_choice: TemplateChoices | None = None
    asked: Mapping[str, int] | None = None
    """Of a run that was stopped: task id → documents that were to be asked."""


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
        notices: Told to the user before anything was asked.
    """
    plugins = _used_plugins(config, setups)
    counts = _document_counts(setups, data, judged, execution.asked)
    warnings = [*data.notices(), *notices, *_score_notices(scores, judged.counts_by_cell)]
    if execution.asked is not None:
        warnings.insert(0, _partial_notice(counts.values()))
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
        configs={s.cell.id: _finished_config(s, judged) for s in setups},
        data={s.cell.id: _data_files(s, data) for s in setups},
        prompts={s.cell.id: _prompt_entry(s, judged) for s in setups},
        lengths={
            s.cell.id: judged.counts_by_cell[s.cell].lengths.entry(s.task.thinking is not None)
            for s in setups
            if s.task.kind == "generate"
        },
        groups={g.id: _score_entries(g.alias or g.id, g.rows) for g in groups},
        group_subtasks={g.id: list(g.members) for g in groups},
        group_details={g.id: _group_details(g, percent_metrics(setups)) for g in groups},
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
    )
    # Keys that only some runs have.
    rare = {
        "plugins": {name: plugin.origin for name, plugin in plugins.items()},
        "scale": execution.scale,
        "template_choice": execution.template_choice,
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
        configs={s.cell.id: _cell_config(s) for s in setups},
        template_hashes={s.cell.id: template_hash(_template(s)) for s in setups},
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
    detectable = Detectable(unpaired=row.detectable_unpaired, paired=row.detectable_paired)
    if row.detectable_unpaired is None:
        detectable = detectable.model_copy(update={"reason": "too few documents"})
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
    return detail if row.weight is None else detail.model_copy(update={"weight": row.weight})


def _group_details(group: GroupScore, percent: frozenset[str]) -> dict[str, MetricDetail]:
    """Means weighted by documents, and beside each the plain mean of the tasks."""
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
    return frozenset(
        name for setup in setups for name, metric in metric_names(setup.task) if metric.percent
    )


def _cell_config(setup: CellSetup) -> CellConfig:
    """A task as it is asked; settings of generation are null if nothing is generated."""
    task, cell, template = setup.task, setup.cell, _template(setup)
    generates, sampling = task.kind == "generate", task.sampling
    config = CellConfig(
        task=task.name,
        version=task.version,
        template=template.name,
        language=task.language,
        family=task.family,
        parallel=ParallelEntry(**asdict(task.parallel)) if task.parallel is not None else None,
        output_type=stored_kind(task.kind),
        dataset=task.dataset.name,
        dataset_config=task.dataset.config,
        split=task.split,
        role="select" if setup.selects else "score",
        fewshot_split=task.fewshot.split,
        fewshot_sampler=task.fewshot.sampler,
        num_fewshot=cell.shots,
        limit=setup.limit,
        seed=cell.seed,
        description=template.description,
        doc_to_text=_written(template.text),
        doc_to_choice=_written(template.choices),
        doc_to_target=_written(template.target),
        num_choices=task.num_choices,
        target_delimiter=template.target_delimiter,
        fewshot_delimiter=template.fewshot_delimiter,
        until=template.stop,
        max_gen_toks=task.max_gen_toks if generates else None,
        do_sample=sampling is not None if generates else None,
        temperature=sampling.temperature if sampling else None,
        top_p=sampling.top_p if sampling else None,
        top_k=sampling.top_k if sampling else None,
        repeats=task.repeats if generates else None,
        thinking=ThinkingEntry(**asdict(task.thinking)) if task.thinking else None,
        metrics=tuple(use.name for use in task.metrics),
        filters={
            use.name: [{"function": _written(name), **options} for name, options in use.steps]
            for use in task.filters
        },
    )
    if task.origin is None:
        return config
    return config.model_copy(update={"origin": _origin(task.origin)})


def _origin(origin: TaskOrigin) -> OriginEntry:
    return OriginEntry(
        path=origin.path,
        sha256=origin.sha256,
        package=origin.package,
        functions=[
            FunctionEntry(file=one.file, name=one.name, sha256=one.sha256)
            for one in origin.functions
        ],
    )


def _finished_config(setup: CellSetup, judged: JudgedDocuments) -> CellConfig:
    """The same with how choices were made, which is known afterwards."""
    made = choices_by(judged.counts_by_cell[setup.cell])
    return _cell_config(setup).model_copy(update={"choices_by": made})


def _template(setup: CellSetup) -> Template:
    return setup.task.templates[setup.cell.template]


def _prompt_entry(setup: CellSetup, judged: JudgedDocuments) -> PromptEntry:
    counts = judged.counts_by_cell[setup.cell]
    return PromptEntry(
        template_hash=template_hash(_template(setup)),
        prompts_hash=prompts_hash(judged.keys_by_document(setup.cell)),
        documents_with_dropped_examples=counts.shortened,
        dropped_examples=counts.dropped_examples,
        truncated_documents=counts.truncated,
        letter_share=counts.letter_share,
    )


def _written(source: Any) -> Any:
    """A part of a template as results record it: a function by its name and its file's hash."""
    if isinstance(source, TaskFunction):
        return f"!function {source.name} ({source.sha256[:16]})"
    return source


def template_hash(template: Template) -> str:
    """A hash of a template's own words."""
    parts: list[Any] = [
        template.description,
        _written(template.text),
        _written(template.choices),
        _written(template.target),
        template.target_delimiter,
        template.fewshot_delimiter,
        template.stop,
        template.example_target,
    ]
    # Parts that lm-eval's files alone have: without them a hash stays what it was.
    if template.gen_prefix is not None:
        parts.append({"gen_prefix": template.gen_prefix})
    if template.example is not None:
        own = {
            one.name: _written(getattr(template.example, one.name))
            for one in fields(ExampleWording)
        }
        parts.append({"example": own})
    return content_key(*parts)


def prompts_hash(asked: Iterable[tuple[str, str]]) -> str:
    """A hash of everything asked in a cell, from sorted pairs of a document and a key."""
    digest = hashlib.sha256()
    for at, (document, key) in enumerate(asked):
        digest.update(f"{chr(10) if at else ''}{document}\0{key}".encode())
    return digest.hexdigest()[:32]


def _partial_notice(counts: Iterable[DocumentCounts]) -> str:
    total = list(counts)
    answered, asked = sum(n.effective for n in total), sum(n.asked for n in total)
    return (
        f"partial: the run was stopped; scores rest on {answered:,} of {asked:,} "
        "documents, which are not a random sample: the same command goes on from here"
    )


def _score_notices(
    scores: Mapping[Cell, Sequence[ScoreRow]], counts_by_cell: Mapping[Cell, CellCounts]
) -> list[str]:
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


def choices_by(counts: CellCounts) -> str | None:
    """How the choices of a cell were made, in words; None where it has none."""
    named = [_WAYS[way] for way in sorted(counts.named)]
    if counts.scored:
        named.insert(0, LIKELIHOODS)
    return " and ".join(named) or None


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


def run_file(config: RunConfig) -> dict[str, Any]:
    """A file for `--config` that runs this again."""
    return {
        name: value
        for name, value in config.as_dict().items()
        if value is not None and value is not False and value != [] and value != {}
        if name not in ("output_path", "overwrite") and OPTIONS[name].in_files
    }
