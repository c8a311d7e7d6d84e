"""A diagnosis as plain values, for JSON and for the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tenbin.analysis.doctor.cost import Cost
from tenbin.analysis.doctor.template_fit import chat_kind
from tenbin.analysis.doctor.vocabulary import Spelling
from tenbin.pipeline.doctor.cell import CellDiagnosis
from tenbin.pipeline.doctor.examine import EVERYTHING, Examination
from tenbin.records.task import stored_kind


def as_document(found: Examination) -> dict[str, Any]:
    """Everything that was found, in types that JSON has."""
    vocabulary, config = found.vocabulary, found.config
    return {
        "kind": "diagnosis",
        "model": {
            "backend": config.model,
            "names": list(vocabulary.names),
            "tokenizer": vocabulary.kind,
            "vocabulary": vocabulary.size,
            "max_length": vocabulary.max_length,
            "encoding": vocabulary.encoding,
            "has_bos": vocabulary.bos is not None,
            "adds_bos": bool(vocabulary.prefix),
            "has_unknown": vocabulary.unknown is not None,
            "special_tokens": sum(vocabulary.added.values()),
            "chat_template": chat_kind(vocabulary.chat_template),
        },
        "settings": {
            "limit": list(config.limit) or EVERYTHING,
            "sample": "first" if config.profile_settings.draw == "running" else "spread evenly",
            "apply_chat_template": config.apply_chat_template,
            "profile": config.profile_settings.name,
            "seed": config.seed,
        },
        "severity": found.severity,
        "cells": {cell.id: _cell_document(cell) for cell in found.cells},
        "languages": {one.language: _spelling_document(one) for one in found.languages},
        "cost": _cost_document(found),
        "notices": list(found.notices),
    }


def _cell_document(cell: CellDiagnosis) -> dict[str, Any]:
    setup, found = cell.setup, cell.measures
    document: dict[str, Any] = {
        "task": setup.cell.task,
        "version": setup.cell.version,
        "template": setup.cell.template,
        "language": setup.task.language,
        "kind": stored_kind(setup.task.kind),
        "num_fewshot": setup.cell.shots,
        "meant_for": setup.task.templates[setup.cell.template].meant_for,
        "severity": cell.severity,
        "fit": asdict(cell.fit),
        "findings": [asdict(finding) for finding in cell.findings],
    }
    if found is None:
        return {**document, "documents": 0, "measures": None}
    measures = asdict(found)
    # JSON has no numbers as keys: the same names in Python and in a file.
    measures["beginning"]["leading"] = {str(k): n for k, n in found.beginning.leading.items()}
    measures["spelling"] = _spelling_document(found.spelling)
    return {
        **document,
        "documents": found.cost.documents,
        "of": found.cost.of,
        "measures": measures,
    }


def _spelling_document(found: Spelling) -> dict[str, Any]:
    return {
        **asdict(found),
        "unknown_share": round(found.unknown_share, 6),
        "broken_share": round(found.broken_share, 6),
        "characters_per_token": round(found.characters_per_token, 4),
    }


def _cost_document(found: Examination) -> dict[str, Any]:
    costs = [cell.measures.cost for cell in found.cells if cell.measures is not None]
    by_task: dict[str, Cost] = {}
    for cell in found.cells:
        if cell.measures is not None:
            by_task.setdefault(cell.task_id, cell.measures.cost)
    return {
        "tokens": sum(cost.scaled(cost.tokens) for cost in costs),
        "distinct": sum(cost.scaled(cost.distinct) for cost in costs),
        "together": sum(
            by_task[task].scaled(number)
            for task, number in found.shared_tokens.items()
            if task in by_task
        ),
        "written": sum(cost.scaled(cost.written) for cost in costs),
    }
