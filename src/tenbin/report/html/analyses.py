"""Analyses for a report: sweeps, option order, consistency across languages.

If an analysis refuses, because items cannot be aligned for example, the report shows its reason
instead of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenbin.analysis.consistency.answers import COLUMNS, ExaminedSamples
from tenbin.analysis.consistency.examine import examine
from tenbin.analysis.option_order.answers import COLUMNS as ORDER_COLUMNS
from tenbin.analysis.option_order.answers import rotations_of_others
from tenbin.analysis.option_order.report import (
    OptionOrderReport,
    has_rotations,
    option_order_report,
)
from tenbin.analysis.sweep.report import sweep_report
from tenbin.errors import TenbinError
from tenbin.report.html.model import PageConsistency, PageSweep
from tenbin.results.read import StoredRun
from tenbin.results.samples import outcomes_of
from tenbin.results.schema import RunResult


def review_sweep(run: StoredRun) -> PageSweep | None:
    """Return the report of a sweep; None if the run has one option per task only."""
    options: dict[tuple[str, str], set[str]] = {}
    rotated = rotations_of_others(run.result)
    for id, config in run.result.configs.items():
        if config.role in (None, "score", "part") and id not in rotated:
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
        found = sweep_report(result, outcomes_of(run.samples()))
        return PageSweep(found.tasks, found.distributions or ())
    except TenbinError as error:
        return PageSweep(error=error.message)


def review_order(run: StoredRun) -> OptionOrderReport | None:
    """Return how scores depend on the order of options; None if there was one order only."""
    if not has_rotations(run.result):
        return None
    return option_order_report(run.result, run.samples(ORDER_COLUMNS))


def review_languages(runs: Sequence[StoredRun], names: Sequence[str]) -> list[PageConsistency]:
    """Return the consistency of each model: of all its runs, or one by one if they overlap."""
    models: dict[str, list[tuple[str, StoredRun]]] = {}
    for name, run in zip(names, runs, strict=True):
        if _languages(run.result) > 1:
            models.setdefault(run.result.fingerprint, []).append((name, run))
    found: list[PageConsistency] = []
    for group in models.values():
        together = _examined(group)
        if together.error is not None and len(group) > 1:
            found += [_examined([run]) for run in group]
        else:
            found.append(together)
    return found


def _languages(result: RunResult) -> int:
    """Return the number of languages of a run's parallel tasks."""
    return len({config.language for config in result.configs.values() if config.parallel})


def _examined(runs: Sequence[tuple[str, StoredRun]]) -> PageConsistency:
    given = [ExaminedSamples(name, run.result, run.samples(COLUMNS)) for name, run in runs]
    try:
        report = examine(given)
    except TenbinError as error:
        return PageConsistency(error=f"{error.message}\n{error.hint}".strip())
    return PageConsistency(report.runs, report.reference, report.sets, report.modes)
