"""What a run leaves behind: the document that becomes result.json.

Takes what the stages gave and computes nothing new but hashes and counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tenbin.config import RunConfig
from tenbin.metrics.registry import find_metric, metric_names
from tenbin.pipeline.cells import CellSetup
from tenbin.pipeline.judge import CellCounts, JudgedDocuments
from tenbin.pipeline.prepare import Data, count_prompts
from tenbin.pipeline.requests import content_key
from tenbin.pipeline.score import GroupScore
from tenbin.plugins import BACKENDS, Plugin, entry_points
from tenbin.records import Cell, ScoreRow, Task, Template
from tenbin.results.document import (
    SCHEMA_VERSION,
    data_entries,
    git_revision,
    group_details,
    library_versions,
    score_details,
    score_entries,
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


def record(
    config: RunConfig,
    setups: Sequence[CellSetup],
    scores: Mapping[Cell, Sequence[ScoreRow]],
    groups: Sequence[GroupScore],
    data: Data,
    judged: JudgedDocuments,
    notices: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything of result.json that does not come from the model or the clock.

    `notices` were said before anything was asked.
    """
    counts_by_cell = judged.counts_by_cell
    return {
        "tenbin_version": __version__,
        "schema_version": SCHEMA_VERSION,
        **_cell_entries(setups, scores, data, judged),
        "groups": {g.id: {"alias": g.id, **score_entries(g.rows)} for g in groups},
        "group_subtasks": {g.id: list(g.members) for g in groups},
        "group_details": {
            g.id: group_details(g.rows, g.unweighted, percent_metrics(setups)) for g in groups
        },
        "failures": {
            cell.id: counts.failures for cell, counts in counts_by_cell.items() if counts.failures
        },
        "warnings": [
            *data.notices(),
            *notices,
            *label_notices(counts_by_cell),
            *window_notices(counts_by_cell),
            *_range_notices(scores),
        ],
        "config": config.recorded(),
        "profile": config.profile_settings.name,
        **_versions(config, setups),
        "git_hash": git_revision(),
    }


def _versions(config: RunConfig, setups: Sequence[CellSetup]) -> dict[str, Any]:
    """Versions of libraries, and of other packages whose backend, metrics or tasks took part."""
    used = _used_plugins(config, setups)
    packages = {plugin.package: plugin.version for plugin in used.values()}
    entries: dict[str, Any] = {"libraries": {**library_versions(), **packages}}
    if used:
        entries["plugins"] = {name: plugin.origin for name, plugin in used.items()}
    return entries


def _used_plugins(config: RunConfig, setups: Sequence[CellSetup]) -> dict[str, Plugin]:
    used: dict[str, Plugin] = {}
    backend = entry_points(BACKENDS).get(config.model)
    if backend is not None:
        used[f"backend {config.model}"] = backend
    for setup in setups:
        for use in setup.task.metrics:
            plugin = find_metric(use.metric).plugin
            if plugin is not None:
                used[f"metric {use.metric}"] = plugin
        plugin = package_of(setup.task.source)
        if plugin is not None:
            used[f"task {setup.task.name}"] = plugin
    return used


def prospect(
    config: RunConfig, setups: Sequence[CellSetup], data: Data, fingerprint: str | None
) -> dict[str, Any]:
    """What result.json will say of what a run is, before anything is asked.

    A fingerprint of None stands for a model that is not known yet.
    """
    document = {
        "config": config.recorded(),
        "profile": config.profile_settings.name,
        "fingerprint": fingerprint,
        "configs": {setup.cell.id: _cell_config(setup) for setup in setups},
        "data": {setup.cell.id: data_entries(data.files(setup)) for setup in setups},
        "prompts": {
            setup.cell.id: {"template_hash": template_hash(_template(setup))} for setup in setups
        },
        "n-samples": {setup.cell.id: {"effective": count_prompts(setup, data)} for setup in setups},
    }
    plain: dict[str, Any] = json.loads(json.dumps(document, ensure_ascii=False))
    return plain


def part_entries(entries: Mapping[str, Any], asked: Mapping[str, int]) -> dict[str, Any]:
    """What is recorded of a run that was stopped: how much of it there is comes first.

    Args:
        entries: The same as of a run that is over, for the documents that were answered.
        asked: Documents of every id that were to be asked.
    """
    counts = {id: {**n, "asked": asked[id]} for id, n in entries["n-samples"].items()}
    answered = sum(n["effective"] for n in counts.values())
    notice = (
        f"partial: the run was stopped; scores rest on {answered:,} of {sum(asked.values()):,} "
        "documents, which are no random choice among them: the same command goes on from here"
    )
    return {**entries, "n-samples": counts, "warnings": [notice, *entries["warnings"]]}


def _cell_entries(
    setups: Sequence[CellSetup],
    scores: Mapping[Cell, Sequence[ScoreRow]],
    data: Data,
    judged: JudgedDocuments,
) -> dict[str, Any]:
    """The parts of result.json that are keyed by task id."""
    entries: dict[str, dict[str, Any]] = {
        key: {}
        for key in (
            "results",
            "details",
            "versions",
            "n-shot",
            "n-samples",
            "higher_is_better",
            "configs",
            "data",
            "prompts",
            "lengths",
        )
    }
    for setup in setups:
        cell, rows = setup.cell, scores[setup.cell]
        counts = judged.counts_by_cell[cell]
        scored, _ = data.for_cell(setup)
        entries["results"][cell.id] = {"alias": cell.id, **score_entries(rows)}
        entries["details"][cell.id] = score_details(rows, percent_metrics([setup]))
        entries["versions"][cell.id] = cell.version
        entries["n-shot"][cell.id] = cell.shots
        entries["n-samples"][cell.id] = {
            "original": len(scored.documents),
            "effective": counts.documents,
        }
        entries["higher_is_better"][cell.id] = {r.metric: r.higher_is_better for r in rows}
        entries["configs"][cell.id] = {
            **_cell_config(setup),
            "choices_by": choices_by(counts),
        }
        entries["data"][cell.id] = data_entries(data.files(setup))
        entries["prompts"][cell.id] = _prompt_entries(setup, judged)
        if setup.task.kind == "generate":
            entries["lengths"][cell.id] = counts.lengths.entry(setup.task.thinking is not None)
    return entries


def percent_metrics(setups: Sequence[CellSetup]) -> frozenset[str]:
    """Names of the metrics whose values run from 0 to 100."""
    return frozenset(
        name for setup in setups for name, metric in metric_names(setup.task) if metric.percent
    )


def _cell_config(setup: CellSetup) -> dict[str, Any]:
    task, cell = setup.task, setup.cell
    template = _template(setup)
    return {
        "task": task.name,
        "version": task.version,
        "template": template.name,
        "language": task.language,
        "family": task.family,
        "parallel": asdict(task.parallel) if task.parallel is not None else None,
        "output_type": task.kind,
        "dataset": task.dataset.name,
        "dataset_config": task.dataset.config,
        "split": task.split,
        "role": "select" if setup.selects else "score",
        "fewshot_split": task.fewshot.split,
        "fewshot_sampler": task.fewshot.sampler,
        "num_fewshot": cell.shots,
        "limit": setup.limit,
        "seed": cell.seed,
        "description": template.description,
        "doc_to_text": template.text,
        "doc_to_choice": template.choices,
        "doc_to_target": template.target,
        "num_choices": task.num_choices,
        "target_delimiter": template.target_delimiter,
        "fewshot_delimiter": template.fewshot_delimiter,
        "until": list(template.stop),
        **_generation_config(task),
        "metrics": [use.name for use in task.metrics],
        "filters": {
            use.name: [{"function": name, **options} for name, options in use.steps]
            for use in task.filters
        },
    }


def _template(setup: CellSetup) -> Template:
    return setup.task.templates[setup.cell.template]


def _generation_config(task: Task) -> dict[str, Any]:
    """How answers are generated; nulls where none are, or where settings have no meaning."""
    writes, sampling = task.kind == "generate", task.sampling
    return {
        "max_gen_toks": task.max_gen_toks if writes else None,
        "do_sample": sampling is not None if writes else None,
        "temperature": sampling.temperature if sampling else None,
        "top_p": sampling.top_p if sampling else None,
        "top_k": sampling.top_k if sampling else None,
        "repeats": task.repeats if writes else None,
        "thinking": asdict(task.thinking) if task.thinking else None,
    }


def _prompt_entries(setup: CellSetup, judged: JudgedDocuments) -> dict[str, Any]:
    """Hashes that tell whether two runs asked the same, and what the window did to prompts."""
    counts = judged.counts_by_cell[setup.cell]
    return {
        "template_hash": template_hash(_template(setup)),
        "prompts_hash": prompts_hash(judged.keys_by_document(setup.cell)),
        "documents_with_dropped_examples": counts.shortened,
        "dropped_examples": counts.dropped_examples,
        "truncated_documents": counts.truncated,
        "letter_share": counts.letter_share,
    }


def template_hash(template: Template) -> str:
    """A hash of a template's own words."""
    return content_key(
        template.description,
        template.text,
        template.choices,
        template.target,
        template.target_delimiter,
        template.fewshot_delimiter,
        template.stop,
        template.example_target,
    )


def prompts_hash(asked: Iterable[tuple[str, str]]) -> str:
    """A hash of everything asked in a cell, from sorted pairs of a document and a key."""
    digest = hashlib.sha256()
    for at, (document, key) in enumerate(asked):
        digest.update(f"{chr(10) if at else ''}{document}\0{key}".encode())
    return digest.hexdigest()[:32]


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
    if counts.weighed:
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
        if name not in ("output_path", "overwrite", "allow_outside_files")
    }
