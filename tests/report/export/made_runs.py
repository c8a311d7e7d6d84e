"""Runs with given scores, everything else as small as the schema allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.report.export import NamedRun
from tenbin.results.schema import (
    CellConfig,
    DataFileEntry,
    DocumentCounts,
    MetricDetail,
    PromptEntry,
    RunResult,
)
from tests.results.made_result import cell_config

Scores = Mapping[str, tuple[float | None, float | None, float | None]]
"""Metric → value and interval."""


def detail(low: float | None, high: float | None, **changes: Any) -> MetricDetail:
    values: dict[str, Any] = {
        "n": 100, "clusters": 100, "failed": 0, "aggregation": "mean", "stderr_method": "analytic",
        "low": low, "high": high, "interval_method": "wilson", "higher_is_better": True, "unit": "",
        **changes,
    }  # fmt: skip
    return MetricDetail(**values)


def entries(id: str, scores: Scores) -> dict[str, Any]:
    found: dict[str, Any] = {"alias": id}
    for metric, (value, _, _) in scores.items():
        name, comma, filter_name = metric.partition(",")
        found |= {metric: value, f"{name}_stderr{comma}{filter_name}": 0.05}
    return found


def data_file(sha256: str = "a" * 64, **changes: Any) -> DataFileEntry:
    values = {"path": "valid.json", "sha256": sha256, "rows": 100, "source": "data_dir", **changes}
    return DataFileEntry(**values)


def run(
    name: str,
    tasks: Mapping[str, Scores],
    configs: dict[str, CellConfig] | None = None,
    details: dict[str, dict[str, MetricDetail]] | None = None,
    groups: Mapping[str, tuple[Scores, list[str]]] | None = None,
    **changes: Any,
) -> NamedRun:
    """A run with a score for each metric of each task, and of each group."""
    configs, details, groups = configs or {}, details or {}, groups or {}
    values: dict[str, Any] = {
        "tenbin_version": "0.1.0",
        "results": {id: entries(id, scores) for id, scores in tasks.items()},
        "details": {
            id: details.get(id) or {m: detail(low, high) for m, (_, low, high) in scores.items()}
            for id, scores in tasks.items()
        },
        "n_samples": {id: DocumentCounts(original=100, effective=100) for id in tasks},
        "configs": {id: configs.get(id) or cell_config(task=id) for id in tasks},
        "data": {id: {"validation": [data_file()]} for id in tasks},
        "prompts": {id: PromptEntry(template_hash="b" * 32) for id in tasks},
        "groups": {id: entries(id, scores) for id, (scores, _) in groups.items()},
        "group_subtasks": {id: members for id, (_, members) in groups.items()},
        "group_details": {
            id: {m: detail(low, high, n=200) for m, (_, low, high) in scores.items()}
            for id, (scores, _) in groups.items()
        },
        "failures": {},
        "warnings": [],
        "config": {"seed": 1234},
        "run_id": "0123456789abcdef",
        "model": {"model": name},
        "fingerprint": "made",
        "date": "2026-01-02",
        **changes,
    }
    return NamedRun(name, RunResult(**values))


ACC: Scores = {"acc": (0.5, 0.4, 0.6)}
OTHER: Scores = {"acc": (0.75, 0.65, 0.85)}
HOSTILE = r"a_b|50% & $x$ #1 {~^} \end{tabular} [*] <i>--</i> ``q'' 天秤, " + '"x"'
