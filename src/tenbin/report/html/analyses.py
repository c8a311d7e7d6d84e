"""Analyses for a report: sweeps, consistency across languages, comparisons of runs.

If an analysis refuses, because runs cannot be compared or items cannot be aligned, the report shows
its reason instead of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenbin.analysis.compare import Side, Wanted, compare_runs
from tenbin.analysis.consistency.answers import COLUMNS, ExaminedSamples
from tenbin.analysis.consistency.examine import examine
from tenbin.analysis.sweep.report import sweep_report
from tenbin.errors import TenbinError
from tenbin.results.read import StoredRun
from tenbin.results.samples import outcomes_of
from tenbin.results.schema import RunResult

_MOST_CHANGES = 300
"""Changed documents listed per comparison; the document browser can show all of them."""


def review_sweep(run: StoredRun) -> dict[str, Any] | None:
    """Return the report of a sweep; None if the run has one option per task only."""
    options: dict[tuple[str, str], set[str]] = {}
    for id, config in run.result.configs.items():
        if config.role in (None, "score"):
            options.setdefault((config.task, config.version), set()).add(id)
    swept = {task for task, ids in options.items() if len(ids) > 1}
    if not swept:
        return None
    configs = {
        id: config
        for id, config in run.result.configs.items()
        if (config.task, config.version) in swept
    }
    result = run.result.model_copy(update={"configs": configs})
    try:
        report = sweep_report(result, outcomes_of(run.samples()))
    except TenbinError as error:
        return {"tasks": [], "error": error.message}
    return {"tasks": report.to_json()["tasks"]}


def review_languages(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """Return the consistency of each model: of all its runs, or one by one if they overlap."""
    models: dict[str, list[StoredRun]] = {}
    for run in runs:
        if _languages(run.result) > 1:
            models.setdefault(run.result.fingerprint, []).append(run)
    found: list[dict[str, Any]] = []
    for group in models.values():
        together = _examined(group)
        if "error" in together and len(group) > 1:
            found += [_examined([run]) for run in group]
        else:
            found.append(together)
    return found


def _languages(result: RunResult) -> int:
    """Return the number of languages of a run's parallel tasks."""
    return len({config.language for config in result.configs.values() if config.parallel})


def _examined(runs: Sequence[StoredRun]) -> dict[str, Any]:
    given = [ExaminedSamples(run.path.name, run.result, run.samples(COLUMNS)) for run in runs]
    try:
        return examine(given).to_json()
    except TenbinError as error:
        return {"error": f"{error.message}\n{error.hint}".strip(), "sets": {}, "modes": []}


def review_differences(runs: Sequence[StoredRun]) -> dict[str, Any] | None:
    """Return the comparison of each run with the first; None for a single run."""
    if len(runs) < 2:
        return None
    sides = [Side(run.path.name, run.result, list(run.samples())) for run in runs]
    try:
        compared = compare_runs(sides, Wanted()).to_json()
    except TenbinError as error:
        return {"error": error.message, "comparisons": []}
    rows = [
        {**row, "changed": len(row["changes"]), "changes": row["changes"][:_MOST_CHANGES]}
        for row in compared["comparisons"]
    ]
    return {**compared, "comparisons": rows}
