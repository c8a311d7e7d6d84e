"""result.json: the shape lm-eval's users parse, and what makes a number reproducible beside it."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tenbin.records import DataFile, ScoreRow

SCHEMA_VERSION = 3
_LIBRARIES = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "datasets",
    "pyarrow",
    "numpy",
    "scipy",
    "jinja2",
    "fugashi",
    "unidic-lite",
    "neologdn",
    "emoji",
)


def score_entries(rows: Sequence[ScoreRow]) -> dict[str, float | None]:
    """Metrics of one cell as lm-eval writes them: `acc`, `acc_stderr`."""
    entries: dict[str, float | None] = {}
    for row in rows:
        entries[row.metric] = row.value
        # lm-eval's order where a filter has a name: exact_match_stderr,strict-match
        metric, comma, filter_name = row.metric.partition(",")
        entries[f"{metric}_stderr{comma}{filter_name}"] = row.stderr
    return entries


def score_details(rows: Sequence[ScoreRow], percent: frozenset[str]) -> dict[str, Any]:
    """What each value rests on; `percent` names the metrics that run from 0 to 100."""
    return {
        row.metric: {
            "n": row.n,
            "clusters": row.clusters,
            "failed": row.failed,
            "aggregation": row.aggregation,
            "stderr_method": row.stderr_method,
            "low": row.low,
            "high": row.high,
            "interval_method": row.interval_method,
            "detectable": _detectable(row),
            "higher_is_better": row.higher_is_better,
            "unit": "%" if row.metric in percent else "",
            **({} if row.weight is None else {"weight": row.weight}),
        }
        for row in rows
    }


def _detectable(row: ScoreRow) -> dict[str, Any]:
    found = {"unpaired": row.detectable_unpaired, "paired": row.detectable_paired}
    return (
        found if row.detectable_unpaired is not None else {**found, "reason": "too few documents"}
    )


def group_details(
    weighted: Sequence[ScoreRow], unweighted: Sequence[ScoreRow], percent: frozenset[str]
) -> dict[str, Any]:
    """The details of the means weighted by documents, and beside each the members' plain mean."""
    details = score_details(weighted, percent)
    for row in unweighted:
        details[row.metric]["unweighted"] = {
            "value": row.value,
            "stderr": row.stderr,
            "low": row.low,
            "high": row.high,
            "interval_method": row.interval_method,
        }
    return details


def data_entries(files: Mapping[str, Sequence[DataFile]]) -> dict[str, Any]:
    """The files behind a cell, with their checksums."""
    return {split: [asdict(file) for file in group] for split, group in files.items()}


def library_versions() -> dict[str, str]:
    """Versions of everything that a score can depend on."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def git_revision() -> str | None:
    """The revision of tenbin's own checkout, with `+dirty` when files differ; None outside one."""
    folder = Path(__file__).resolve().parent
    try:
        head = _git(folder, "rev-parse", "HEAD")
        if not _git(folder, "ls-files", "--", Path(__file__).name):
            return None  # installed inside somebody else's repository
        return f"{head}+dirty" if _git(folder, "status", "--porcelain", "--", ".") else head
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    completed = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=10
    )
    return completed.stdout.strip()
