"""The result of a run with given tasks, everything else as small as the schema allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.results.schema import CellConfig, DocumentCounts, MetricDetail, PromptEntry, RunResult

DETAIL: dict[str, Any] = {
    "n": 1, "failed": 0, "aggregation": "mean", "higher_is_better": True, "unit": "",
}  # fmt: skip


def cell_config(**changes: Any) -> CellConfig:
    values = {
        "task": "jnli", "version": "1.1", "template": "0.1", "language": "ja",
        "output_type": "choice", "split": "validation", "num_fewshot": 0, "seed": 1234, **changes,
    }  # fmt: skip
    return CellConfig(**values)


def made_result(configs: Mapping[str, CellConfig], **changes: Any) -> RunResult:
    """A run in which every task has the metric `acc`."""
    values: dict[str, Any] = {
        "results": {id: {"alias": id, "acc": 0.5, "acc_stderr": 0.1} for id in configs},
        "details": {id: {"acc": MetricDetail(**DETAIL)} for id in configs},
        "n_samples": {id: DocumentCounts(original=1, effective=1) for id in configs},
        "configs": dict(configs),
        "data": {id: {} for id in configs},
        "prompts": {id: PromptEntry(template_hash="a" * 32) for id in configs},
        "groups": {},
        "group_subtasks": {},
        "group_details": {},
        "failures": {},
        "warnings": [],
        "config": {"seed": 1234},
        "model": {"model": "m"},
        "fingerprint": "made",
        "date": "2026-01-01",
        **changes,
    }
    return RunResult(**values)
