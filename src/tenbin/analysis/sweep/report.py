"""The report of a sweep: what it found on each task, and the options it chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenbin.analysis.document import ABSENT, to_json
from tenbin.analysis.sweep.distribution import (
    PromptDistribution,
    asked_prompts,
    prompt_distribution,
)
from tenbin.analysis.sweep.options import swept_tasks
from tenbin.analysis.sweep.task_sweep import TaskSweep, task_sweep
from tenbin.config import repeating_command
from tenbin.results.samples import Outcomes
from tenbin.results.schema import RunResult


@dataclass(frozen=True, slots=True)
class Chosen:
    """A task id with the chosen template, and its shots."""

    id: str
    shots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What `tenbin sweep` found."""

    model: Mapping[str, object]
    engine: Mapping[str, object] | None
    date: str
    tasks: tuple[TaskSweep, ...]
    chosen: tuple[Chosen, ...]
    distributions: tuple[PromptDistribution, ...] | None = field(default=None, metadata=ABSENT)
    """With `--budget`: the scores of each task over all of its prompts."""
    command: str | None = field(default=None, metadata=ABSENT)
    """The command that runs the chosen options; None if there was nothing to choose."""

    def to_json(self) -> dict[str, Any]:
        """What sweep.json holds."""
        document: dict[str, Any] = to_json(self)
        return document


def sweep_report(result: RunResult, outcomes: Outcomes, metric: str | None = None) -> SweepReport:
    """Analyse a run that holds several options of its tasks.

    Args:
        result: The run.
        outcomes: Its outcomes.
        metric: The metric to choose by; by default each task's first.
    """
    tasks = tuple(
        task_sweep(swept, result.seed, result.leaders.get(f"{swept.name}-{swept.version}", ()))
        for swept in swept_tasks(result, outcomes, metric)
    )
    asked = asked_prompts(result, outcomes, metric)
    choices = [task.choice for task in tasks if task.choice is not None]
    chosen = tuple(Chosen(choice.id, choice.shots) for choice in choices)
    return SweepReport(
        model=result.model,
        engine=result.engine,
        date=result.date,
        tasks=tasks,
        chosen=chosen,
        distributions=tuple(prompt_distribution(one, result.seed) for one in asked) or None,
        command=run_command(result.config, chosen) if chosen else None,
    )


_REPLACED = frozenset(
    {
        "tasks", "template", "templates", "formats", "chat_formats", "exclude_formats",
        "num_fewshot", "num_fewshot_sweep", "seeds", "rotations", "rotated_share",
        "select_on", "limit",
        "output_path", "cache_dir", "budget", "then",
    }
)  # fmt: skip
"""Options of the sweep that the command leaves out or names anew."""


def run_command(config: Mapping[str, object], chosen: Sequence[Chosen]) -> str:
    """`tenbin run …` with the chosen tasks and shots, and every other option of the run."""
    shots = [one.shots for one in chosen]
    numbers = ",".join(map(str, shots if len(set(shots)) > 1 else shots[:1]))
    words = ("--tasks", ",".join(one.id for one in chosen), "--num_fewshot", numbers)
    return repeating_command("run", _with_files(config), _REPLACED, always=("model",), more=words)


def _with_files(config: Mapping[str, object]) -> Mapping[str, object]:
    """The config with the task files of `tasks` among the included places, where ids find them."""
    tasks, included = config.get("tasks"), config.get("include_path")
    files = [
        entry
        for entry in (tasks if isinstance(tasks, list | tuple) else ())
        if str(entry).endswith((".yaml", ".yml"))
    ]
    if not files:
        return config
    places = [*(included if isinstance(included, list | tuple) else ()), *files]
    return {**config, "include_path": list(dict.fromkeys(map(str, places)))}
