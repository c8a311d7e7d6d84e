"""Which cells a run has: tasks × templates × shots × samples of examples, as the config asks for.

Every fault of a name, a number or a metric shows here, before data is read or a model loads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from tenbin.config import RunConfig
from tenbin.errors import ConfigError
from tenbin.metrics.registry import metric_names
from tenbin.pipeline.cells.documents import rotated_part
from tenbin.pipeline.cells.per_task import (
    left_plain,
    number_per_task,
    shots_of,
    stop_per_task,
    takes_examples,
)
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.cells.task_settings import adjusted, check_extra_metrics, check_generation
from tenbin.pipeline.cells.templates import check_excluded, selected_templates, with_asked_formats
from tenbin.pipeline.task_files import reach_of, with_trust
from tenbin.records import Cell, Task
from tenbin.tasks.registry import load_registry
from tenbin.tasks.sampling import check_repeats
from tenbin.timing import stage


@stage("tasks")
def choose_cells(
    config: RunConfig, every_template: bool = False, runnable: bool = True
) -> list[CellSetup]:
    """What `--tasks`, `--num_fewshot` and `--limit` ask for, in the order written.

    Args:
        config: What the user wrote.
        every_template: Whether a bare name stands for all templates of its task where the config
            says nothing of templates.
        runnable: Whether the functions of task files are loaded, which the user has to trust.
    """
    registry = load_registry(config.include_path, config.profile, reach_of(config))
    entries = [registry.select([entry], config.template) for entry in config.tasks]
    if config.suite:
        expansion = registry.expansion(config.template)
        entries += [expansion.suite(name) for name in config.suite]
    selected = selected_templates(config, entries, every_template)
    shots = number_per_task(config, "num_fewshot", config.num_fewshot, selected)
    limits = number_per_task(config, "limit", config.limit, selected)
    stops = stop_per_task(config, selected)
    plain = left_plain(config, selected)
    setups: dict[str, CellSetup] = {}
    formatted: set[str] = set()
    chosen_tasks = [chosen for entry in selected for chosen in entry]
    if config.template and config.template not in {chosen.template for chosen in chosen_tasks}:
        raise ConfigError(
            f"--template {config.template} changes nothing: every entry of --tasks names its own",
            "leave it out, or name tasks without version and template",
        )
    for chosen, number, limit, until in zip(chosen_tasks, shots, limits, stops, strict=True):
        task = adjusted(chosen.task, config)
        check_repeats(task)
        metric_names(task)  # refuses metrics, filters and options that do not fit, before all else
        task = with_trust(task, config) if runnable else task
        alone = chosen.full_id in plain
        own, chosen_by = shots_of(config, chosen, task, None if alone else number)
        task, templates = with_asked_formats(config, chosen, task, own, formatted)
        for cell in _swept_cells(config, task, templates, own):
            groups = (chosen.group,) if chosen.group else ()
            setup = CellSetup(
                cell, task, limit, until, groups=groups, chosen_by=chosen_by, left_plain=alone
            )
            if not alone:
                _check_shown(config, setup, chosen.entry)
            _add(setups, setup, chosen.full_id)
    _check_sweep(config, [setup.cell for setup in setups.values()])
    tasks = [setup.task for setup in setups.values()]
    check_extra_metrics(config, tasks)
    check_generation(config, tasks)
    check_excluded(config, tasks)
    return [rotated_part(config, setup) for setup in setups.values()]


def _add(setups: dict[str, CellSetup], setup: CellSetup, full_id: str) -> None:
    """Add a cell; one that is there already is in the groups of both.

    Raises:
        ConfigError: It is there with other shots, limits or widths.
    """
    known = setups.setdefault(setup.cell.id, setup)
    if known != setup:
        raise ConfigError(
            f"{full_id} is asked for twice, with different shots, limits or widths of --until",
            "name it once, or make two runs",
        )
    together = tuple(dict.fromkeys((*known.groups, *setup.groups)))
    setups[setup.cell.id] = replace(known, groups=together)


def _swept_cells(config: RunConfig, task: Task, templates: list[str], shots: int) -> list[Cell]:
    """One cell for each template, each number of shots and each sample of examples.

    Without examples there is nothing to sample, so a cell without shots stands once.
    """
    cells = []
    for template, number in product(templates, config.num_fewshot_sweep or (shots,)):
        for seed in range(config.seed, config.seed + (config.seeds if number else 1)):
            mark = f"@{number}shot" if config.num_fewshot_sweep else ""
            mark += f"@seed{seed}" if config.seeds > 1 and number else ""
            cells.append(Cell(task.name, task.version, template, number, seed, mark))
    return cells


def _check_shown(config: RunConfig, setup: CellSetup, entry: str) -> None:
    """Refuse examples for tasks that show none, and what is about prompts for perplexity tasks."""
    measures = setup.task.kind == "perplexity"
    if setup.cell.shots and not takes_examples(setup.task):
        what = "measures the perplexity of whole texts" if measures else "asks each prompt alone"
        several = f"give a number for each entry of --tasks, 0 for {entry}"
        raise ConfigError(
            f"{setup.cell.id} {what} and takes no examples, but {setup.cell.shots} were asked for",
            several if len(config.tasks) > 1 else "leave --num_fewshot out",
        )
    if not measures:
        return
    for flag in ("apply_chat_template", "system_instruction"):
        if getattr(config, flag):
            raise ConfigError(
                f"{setup.cell.id} measures the perplexity of whole texts: "
                f"--{flag} would change nothing",
                "leave it out, or make a run of its own for this task",
            )


def _check_sweep(config: RunConfig, cells: Iterable[Cell]) -> None:
    """Refuse a sweep over nothing.

    Raises:
        ConfigError: Examples are to be sampled anew but no prompt shows any, or a choice is to be
            made and there is nothing to choose from.
    """
    if config.select_on and not (config.templates or config.formats or config.num_fewshot_sweep):
        raise ConfigError(
            "--select_on says where a template is chosen, but there is nothing to choose from",
            "use it with --template auto, or with `tenbin sweep`",
        )
    if config.seeds > 1 and not any(cell.shots for cell in cells):
        raise ConfigError(
            "--seeds samples examples anew, but no task has shots",
            "give --num_fewshot, or leave --seeds out",
        )
