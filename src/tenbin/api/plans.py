"""Plans: documents that a difference needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tenbin.api.analyses import compare
from tenbin.api.run import Run, load_run
from tenbin.api.tables import Row, Tabular
from tenbin.errors import ConfigError

if TYPE_CHECKING:
    from tenbin.analysis.plan import Candidate, PlanReport
    from tenbin.config import RunConfig


@dataclass(frozen=True, repr=False)
class Plan(Tabular):
    """Documents that a difference needs, task by task, over how alike two runs may answer."""

    record: PlanReport
    """What is to be found, and what each task needs and can show."""

    columns: ClassVar[Mapping[str, type]] = {
        "id": str,
        "score": float,
        "correlation": float,
        **dict.fromkeys(("needed", "documents"), int),
        "detectable": float,
    }
    shown_columns: ClassVar[tuple[str, ...]] = tuple(columns)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The record as plain values: what `tenbin plan --format json` prints."""
        return self.record.to_json()

    def table(self) -> list[Row]:
        """One row for each task and correlation; scores and differences in points."""
        return [
            {
                "id": task.id,
                "score": task.score,
                "correlation": float(of),
                "needed": number,
                "documents": task.documents,
                "detectable": (task.detectable or {}).get(of),
            }
            for task in self.record.tasks
            for of, number in task.needed.items()
        ]

    def _heading(self) -> str:
        return f"Documents needed to detect {self.record.detect:g} points"


def plan(
    detect: float,
    *runs: Run | str | Path,
    tasks: str | Sequence[str] = (),
    suite: str | Sequence[str] = (),
    include_path: str | Sequence[str] = (),
    score: float | None = None,
    correlations: Sequence[float] = (),
    power: float | None = None,
    tests: int | None = None,
) -> Plan:
    """How many documents a difference needs, and what the data sets of tasks can detect.

    Args:
        detect: The difference in points.
        *runs: A stored run, for its scores and clusters; a second one, for how alike they answer.
        tasks: Names of tasks or groups, where no run is given.
        suite: Names of suites, likewise.
        include_path: Folders with further task files.
        score: The score that is expected, in points.
        correlations: Between two runs over documents.
        power: How often the difference is found, from 0.5 to 1.
        tests: Comparisons that share the level of 5 %; by default one per task.

    Raises:
        TenbinError: Anything the user can mend, with a hint.
    """
    from tenbin.analysis.plan import (
        PlanSettings,
        candidates_of_comparisons,
        candidates_of_run,
        check_settings,
        make_plan,
    )
    from tenbin.statistics.power import CORRELATIONS, POWER

    settings = PlanSettings(
        detect, tuple(correlations) or CORRELATIONS, score, POWER if power is None else power, tests
    )
    check_settings(settings)
    if runs and (tasks or suite):
        raise ConfigError(
            "a plan is made for stored runs or for named tasks, not for both",
            "leave out the runs, or --tasks and --suite",
        )
    if len(runs) > 2:
        raise ConfigError("a plan takes at most two runs", "name one run, or two to compare")
    if not runs:
        from tenbin.config import build_config

        given = {"tasks": tasks, "suite": suite, "include_path": include_path}
        config = build_config({name: value for name, value in given.items() if value})
        found, left_out = _candidates_of_tasks(config)
        return Plan(make_plan(found, settings, left_out))
    opened = [run if isinstance(run, Run) else load_run(run) for run in runs]
    if len(opened) == 1:
        found, left_out = candidates_of_run(opened[0].result)
    else:
        rows = compare(*opened).record.comparisons
        found, left_out = candidates_of_comparisons(rows, opened[0].result)
    return Plan(make_plan(found, settings, left_out))


def _candidates_of_tasks(config: RunConfig) -> tuple[list[Candidate], dict[str, str]]:
    """The tasks that the config names with the published sizes of their data sets, and why others
    are left out. No data are read.

    Where a task is chosen under several templates, each has its own comparison.
    """
    from tenbin.analysis.plan import Candidate
    from tenbin.pipeline.cells.choose import choose_cells
    from tenbin.tasks.summary import summary_of

    found, left_out = [], {}
    for setup in choose_cells(config):
        if setup.task.kind == "perplexity":
            left_out[setup.cell.id] = "a perplexity has no points"
        else:
            found.append(Candidate(setup.cell.id, summary_of(setup.task).documents))
    return found, left_out
