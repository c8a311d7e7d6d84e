"""What a run leaves behind: the document that becomes result.json.

Takes what the stages gave and computes nothing new but hashes and counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tenbin.config import SCALE, RunConfig
from tenbin.metrics.judge import metric_names
from tenbin.naming import choices_by, letter_share, naming_notices
from tenbin.planning.plan import content_key
from tenbin.preparation import CellSetup, Data
from tenbin.records import Cell, Prompt, ScoreRow, Scores, Task, Template, Text
from tenbin.results.document import (
    SCHEMA_VERSION,
    data_entries,
    git_revision,
    group_details,
    library_versions,
    score_details,
    score_entries,
)
from tenbin.results.lengths import written_lengths
from tenbin.scoring import GroupScore, Judged, failure_reasons
from tenbin.version import __version__


def record(
    config: RunConfig,
    setups: Sequence[CellSetup],
    scores: Mapping[Cell, Sequence[ScoreRow]],
    groups: Sequence[GroupScore],
    data: Data,
    judged: Sequence[Judged],
    notices: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything of result.json that does not come from the model or the clock.

    `notices` were said before anything was asked.
    """
    return {
        "tenbin_version": __version__,
        "schema_version": SCHEMA_VERSION,
        **_cell_entries(setups, scores, data, judged),
        "groups": {g.id: {"alias": g.id, **score_entries(g.rows)} for g in groups},
        "group_subtasks": {g.id: list(g.members) for g in groups},
        "group_details": {
            g.id: group_details(g.rows, g.unweighted, percent_metrics(setups)) for g in groups
        },
        "failures": failure_reasons(judged),
        "warnings": [
            *data.notices(),
            *notices,
            *naming_notices(setups, judged),
            *window_notices(setups, judged),
            *_range_notices(scores),
        ],
        "config": recorded_config(config),
        "profile": config.way.name,
        "libraries": library_versions(),
        "git_hash": git_revision(),
    }


def recorded_config(config: RunConfig) -> dict[str, Any]:
    """The settings that say what a run is; where it was worked out is no part of that."""
    return {name: value for name, value in config.as_dict().items() if name not in SCALE}


def _cell_entries(
    setups: Sequence[CellSetup],
    scores: Mapping[Cell, Sequence[ScoreRow]],
    data: Data,
    judged: Sequence[Judged],
) -> dict[str, Any]:
    """The parts of result.json that are keyed by task id."""
    asked: dict[Cell, list[Judged]] = {setup.cell: [] for setup in setups}
    for one in judged:
        asked[one.planned.prompt.cell].append(one)
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
        scored, _ = data.for_cell(setup)
        entries["results"][cell.id] = {"alias": cell.id, **score_entries(rows)}
        entries["details"][cell.id] = score_details(rows, percent_metrics([setup]))
        entries["versions"][cell.id] = cell.version
        entries["n-shot"][cell.id] = cell.shots
        entries["n-samples"][cell.id] = {
            "original": len(scored.documents),
            "effective": len(asked[cell]),
        }
        entries["higher_is_better"][cell.id] = {r.metric: r.higher_is_better for r in rows}
        entries["configs"][cell.id] = {
            **_cell_config(setup),
            "choices_by": choices_by(asked[cell]),
        }
        entries["data"][cell.id] = data_entries(data.files(setup))
        entries["prompts"][cell.id] = _prompt_entries(setup, asked[cell])
        if setup.task.kind == "generate":
            drawn = (answer for one in asked[cell] for answer in one.drawn)
            entries["lengths"][cell.id] = written_lengths(drawn, setup.task.thinking is not None)
    return entries


def percent_metrics(setups: Sequence[CellSetup]) -> frozenset[str]:
    """Names of the metrics whose values run from 0 to 100."""
    return frozenset(
        name for setup in setups for name, metric in metric_names(setup.task) if metric.percent
    )


def _cell_config(setup: CellSetup) -> dict[str, Any]:
    task, cell = setup.task, setup.cell
    template = task.templates[cell.template]
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


def _prompt_entries(setup: CellSetup, judged: Sequence[Judged]) -> dict[str, Any]:
    """Hashes that tell whether two runs asked the same, and what the window did to prompts."""
    prompts = [one.planned.prompt for one in judged]
    return {
        "template_hash": template_hash(setup.task.templates[setup.cell.template]),
        "prompts_hash": prompts_hash(judged),
        "documents_with_dropped_examples": sum(p.dropped_examples > 0 for p in prompts),
        "dropped_examples": sum(p.dropped_examples for p in prompts),
        "truncated_documents": sum(_truncated(one) for one in judged),
        "letter_share": letter_share(judged),
    }


def _truncated(one: Judged) -> bool:
    return any(isinstance(a, Scores | Text) and a.truncated > 0 for a in one.drawn)


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


def prompts_hash(judged: Sequence[Judged]) -> str:
    """A hash of everything asked in a cell, whatever the order."""
    lines = sorted(
        f"{one.planned.prompt.document}\0{key}"
        for one in judged
        for key in (one.planned.key, *one.planned.further_keys)
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def window_notices(setups: Sequence[CellSetup], judged: Sequence[Judged]) -> list[str]:
    """One line a cell whose prompts did not fit the model's window."""
    notices = []
    for setup in setups:
        mine = [one for one in judged if one.planned.prompt.cell == setup.cell]
        dropped = [p for p in (one.planned.prompt for one in mine) if p.dropped_examples]
        cut = sum(_truncated(one) for one in mine)
        if dropped:
            notices.append(_dropped_notice(setup.cell, dropped))
        if cut:
            notices.append(
                f"{setup.cell.id}: {cut:,} documents were cut from the left to fit the window"
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


def _dropped_notice(cell: Cell, dropped: Sequence[Prompt]) -> str:
    examples = sum(prompt.dropped_examples for prompt in dropped)
    return (
        f"{cell.id}: {examples:,} examples left out of {len(dropped):,} documents to fit the window"
    )


def run_file(config: RunConfig) -> dict[str, Any]:
    """A file for `--config` that runs this again."""
    return {
        name: value
        for name, value in config.as_dict().items()
        if value is not None and value is not False and value != [] and value != {}
        if name != "output_path"
    }
