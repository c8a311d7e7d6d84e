"""One run in the JSON of Every Eval Ever, schema version 0.3.0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from tenbin.report.export.jsonl import harmless_json
from tenbin.report.export.names import hub_id, model_label, short_name
from tenbin.report.export.numbers import Unit, show_score
from tenbin.report.export.published import find_source
from tenbin.report.export.table import Cell, Column, NamedRun, build_table
from tenbin.results.schema import CellConfig, RunResult
from tenbin.version import __version__

SCHEMA_VERSION = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]

_LOCAL = ("hf", "vllm", "scripted")
"""Backends that run the model themselves."""
_LIBRARIES = {"hf": "transformers", "vllm": "vllm"}


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Who evaluated; a stored run does not know."""

    name: str = "unknown"
    relationship: Relationship = "other"
    """Of the evaluator to the model."""


def to_every_eval_ever(
    run: NamedRun, percent: bool, all_metrics: bool, evaluator: Evaluator, created: datetime
) -> str:
    """The record of one run.

    Args:
        run: The run.
        percent: Whether scores are in per cent instead of shares.
        all_metrics: Whether every metric is a result, not only the first of each task and group.
        evaluator: Who evaluated.
        created: When this record is made.
    """
    table = build_table([run], all_metrics)
    result, row = run.result, list(zip(table.columns, table.cells[0], strict=True))
    stamp = f"{created.astimezone(timezone.utc).timestamp():.0f}"
    model = _model(run)
    missing = [f"{one.id} {one.metric}: {cell.missing}" for one, cell in row if cell.missing]
    document = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"tenbin/{model['id']}/{stamp}",
        "evaluation_timestamp": result.date,
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": "tenbin",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.name,
            "evaluator_relationship": evaluator.relationship,
            "additional_details": _texts(
                run_id=result.run_id,
                partial="the run was stopped before its end" if result.partial else None,
                not_scored="; ".join(missing) or None,
                without_data=", ".join(result.skipped) or None,
            ),
        },
        "eval_library": {
            "name": "tenbin",
            "version": result.tenbin_version or "unknown",
            "additional_details": _texts(
                git_hash=result.git_hash, profile=result.profile, exported_by=__version__
            ),
        },
        "model_info": model,
        "evaluation_results": [
            _result(result, column, cell, percent) for column, cell in row if cell.score is not None
        ],
    }
    return harmless_json(document, indent=2) + "\n"


def _model(run: NamedRun) -> dict[str, Any]:
    result = run.result
    backend = str(result.config.get("model") or (result.engine or {}).get("name") or "unknown")
    found: dict[str, Any] = {
        "name": run.name,
        "id": hub_id(result) or model_label(result),
    }
    if hub_id(result):
        found["developer"] = found["id"].partition("/")[0]
    library = _LIBRARIES.get(backend)
    engine = {"name": library or backend}
    if library and (version := result.libraries.get(library)):
        engine["version"] = version
    found["inference_engine"] = engine
    facts = ("revision", "dtype", "device", "quantisation", "gguf", "parameters")
    adapter = result.model.get("adapter")
    found["additional_details"] = {
        "deployment_type": "self_deployed" if backend in _LOCAL else "unknown",
        # Whether others can have the weights does not show in a run.
        "model_availability": "unknown",
        **_texts(
            fingerprint=result.fingerprint,
            backend=backend,
            adapter=None if adapter is None else short_name(str(adapter)),
            **{name: value for name in facts if (value := result.model.get(name)) != "none"},
        ),
    }
    return found


def _result(result: RunResult, column: Column, cell: Cell, percent: bool) -> dict[str, Any]:
    assert cell.score is not None, "asked for cells with a score"
    shown, detail = show_score(cell.score, column.unit, percent), cell.score.detail
    uncertainty: dict[str, Any] = {"num_samples": detail.n}
    if shown.stderr is not None:
        uncertainty["standard_error"] = {
            "value": shown.stderr,
            "method": detail.stderr_method or "unknown",
        }
    if shown.low is not None and shown.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": shown.low,
            "upper": shown.high,
            "confidence_level": 0.95,
            "method": detail.interval_method or "normal",
        }
    found: dict[str, Any] = {
        "evaluation_result_id": f"{column.id}/{column.shots}-shot/{column.metric}",
        "evaluation_name": column.id,
        "source_data": _source(result, column),
        "evaluation_timestamp": result.date,
        "metric_config": _metric(column, percent, detail.aggregation),
        "score_details": {
            "score": shown.value,
            "details": _texts(
                documents=detail.n,
                clusters=detail.clusters,
                failed=detail.failed,
                remarks="; ".join(cell.remarks) or None,
            ),
            "uncertainty": uncertainty,
        },
    }
    if column.kind == "task":
        found["generation_config"] = _generation(result.configs[column.id], column)
    return found


def _metric(column: Column, percent: bool, aggregation: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "metric_id": column.metric,
        "metric_name": column.metric,
        "lower_is_better": not column.higher_is_better,
        "additional_details": _texts(aggregation=aggregation or None),
    }
    if column.unit != "none":
        found["metric_unit"] = "percent" if percent else "proportion"
    bounds = _bounds(column.unit, percent, aggregation)
    if bounds is not None:
        found |= {"score_type": "continuous", "min_score": bounds[0], "max_score": bounds[1]}
    return found


def _bounds(unit: Unit, percent: bool, aggregation: str) -> tuple[float, float | str] | None:
    """The lowest and highest value that a metric can have; None if they are not known."""
    if aggregation == "ter":
        return 0, "Infinity"
    if unit != "none":
        return 0, 100 if percent else 1
    known: dict[str, tuple[float, float | str]] = {
        "mcc": (-1, 1),
        "weighted_perplexity": (1, "Infinity"),
        "perplexity": (1, "Infinity"),
        "bits_per_byte": (0, "Infinity"),
    }
    return known.get(aggregation)


def _source(result: RunResult, column: Column) -> dict[str, Any]:
    if column.kind == "group":
        definition = result.group_definitions.get(column.id)
        details = _texts(
            tasks=", ".join(result.group_subtasks[column.id]),
            weighting="weighted by documents" if definition is None else definition.weighting,
        )
        name = f"average of {len(result.group_subtasks[column.id])} tasks: {column.id}"
        return {"dataset_name": name, "source_type": "other", "additional_details": details}
    config, source = result.configs[column.id], find_source(result, column.id)
    details = _texts(
        split=config.split,
        part=config.dataset_config,
        sha256=source.files or None,
        revision=source.revision or None,
    )
    found: dict[str, Any] = {"dataset_name": source.name, "additional_details": details}
    if source.host == "hub":
        counts = result.n_samples[column.id]
        return {
            **found,
            "source_type": "hf_dataset",
            "hf_repo": source.repository,
            "hf_split": config.split,
            "samples_number": counts.original,
        }
    if source.host == "github":
        return {**found, "source_type": "url", "url": [source.url]}
    return {**found, "source_type": "other"}


def _generation(config: CellConfig, column: Column) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if config.output_type == "generate":
        arguments = {
            "temperature": config.temperature if config.do_sample else 0,
            "reasoning": config.thinking is not None,
        }
        if config.do_sample:
            arguments |= {"top_p": config.top_p, "top_k": config.top_k}
        if config.max_gen_toks:
            arguments["max_tokens"] = config.max_gen_toks
    if isinstance(config.doc_to_text, str):
        arguments["prompt_template"] = config.doc_to_text
    details = _texts(
        num_fewshot=column.shots,
        template=config.template,
        task_version=config.version,
        language=config.language,
        output_type=config.output_type,
        seed=config.seed,
        choices_by=config.choices_by,
        description=config.description,
    )
    return {"generation_args": arguments, "additional_details": details}


def _texts(**values: object) -> dict[str, str]:
    """Values as the texts that the schema asks for; without those that are not known."""
    return dict(_known(values))


def _known(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if value is not None and value != "":
            yield name, str(value)
