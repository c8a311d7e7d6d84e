"""What result.json says of one cell: its task as it was asked, its prompts, their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from tenbin.metrics.registry import tools_of
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.judge import CellCounts, JudgedDocuments
from tenbin.pipeline.requests import content_key
from tenbin.records import ExampleWording, Parallel, TaskFunction, TaskOrigin, Template
from tenbin.records.task import stored_kind
from tenbin.results.schema import (
    CellConfig,
    FunctionEntry,
    OriginEntry,
    ParallelEntry,
    PromptEntry,
    ThinkingEntry,
)

LIKELIHOODS = "likelihoods of their texts"
_WAYS = {
    "letter_logprobs": "letter (first-token log-probabilities)",
    "generated": "letter (read out of generated text)",
}


def _parallel(parallel: Parallel | None) -> ParallelEntry | None:
    if parallel is None:
        return None
    entry = asdict(parallel)
    if parallel.compares == "answers":
        # As runs of earlier versions have it.
        del entry["compares"]
    return ParallelEntry(**entry)


def cell_config(setup: CellSetup) -> CellConfig:
    """A task as it is asked; settings of generation are null if nothing is generated."""
    task, cell, template = setup.task, setup.cell, setup.template
    generates, sampling = task.kind == "generate", task.sampling
    config = CellConfig(
        task=task.name,
        version=task.version,
        template=template.name,
        language=task.language,
        family=task.family,
        parallel=_parallel(task.parallel),
        output_type=stored_kind(task.kind),
        dataset=task.dataset.name,
        dataset_config=task.dataset.config,
        split=task.split,
        role=setup.role,
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
            use.name: [_step(name, options) for name, options in use.steps] for use in task.filters
        },
    )
    # Keys that only some tasks have.
    rare: dict[str, object] = {}
    if tools := tools_of(task):
        rare["tools"] = tools
    if task.origin is not None:
        rare["origin"] = _origin(task.origin)
    if template.rotation:
        rare["rotation"] = template.rotation
    if template.format is not None:
        rare["format"] = dict(template.format)
    return config.model_copy(update=rare) if rare else config


def _step(function: str | TaskFunction, options: Mapping[str, Any]) -> dict[str, Any]:
    """A step of a filter as results record it: `custom` has a function among its options."""
    return {"function": _written(function), **{k: _written(one) for k, one in options.items()}}


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


def finished_config(setup: CellSetup, judged: JudgedDocuments) -> CellConfig:
    """The same with how choices were made, which is known afterwards."""
    made = choices_by(judged.counts_by_cell[setup.cell])
    return cell_config(setup).model_copy(update={"choices_by": made})


def prompt_entry(setup: CellSetup, judged: JudgedDocuments) -> PromptEntry:
    """The prompts of a cell: hashes, and how many did not fit the window."""
    counts = judged.counts_by_cell[setup.cell]
    return PromptEntry(
        template_hash=template_hash(setup.template),
        prompts_hash=prompts_hash(judged.keys_by_document(setup.cell)),
        documents_with_dropped_examples=counts.shortened,
        dropped_examples=counts.dropped_examples,
        truncated_documents=counts.truncated,
        letter_share=counts.letter_share,
    )


def _written(source: Any) -> Any:
    """A part of a task as results record it: a function by its name and its file's hash."""
    if isinstance(source, TaskFunction):
        return f"!function {source.name} ({source.sha256[:16]})"
    if isinstance(source, Mapping):
        return {key: _written(one) for key, one in source.items()}
    return [_written(one) for one in source] if isinstance(source, list) else source


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
    if template.rotation:
        parts.append({"rotation": template.rotation})
    if template.reverses_examples:
        parts.append({"reverses_examples": True})
    if template.chat:
        parts.append({"chat": True})
    return content_key(*parts)


def prompts_hash(asked: Iterable[tuple[str, str]]) -> str:
    """A hash of everything asked in a cell, from sorted pairs of a document and a key."""
    digest = hashlib.sha256()
    for at, (document, key) in enumerate(asked):
        digest.update(f"{chr(10) if at else ''}{document}\0{key}".encode())
    return digest.hexdigest()[:32]


def choices_by(counts: CellCounts) -> str | None:
    """How the choices of a cell were made, in words; None where it has none."""
    named = [_WAYS[way] for way in sorted(counts.named)]
    if counts.scored:
        named.insert(0, LIKELIHOODS)
    return " and ".join(named) or None
