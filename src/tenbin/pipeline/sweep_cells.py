"""What a sweep runs: every template, number of shots and draw of examples that was asked for.

Knows the config and selected tasks; does not know data or models.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from tenbin.config import RunConfig
from tenbin.errors import ConfigError
from tenbin.records import Cell, Task
from tenbin.tasks.registry import Selected

ALL = "all"


def swept_templates(config: RunConfig, selected: Iterable[Selected]) -> list[Selected]:
    """The selected tasks under each template of `--templates`.

    Raises:
        ConfigError: A task is named with its template, or lacks one that was asked for.
    """
    if not config.templates:
        return list(selected)
    swept: dict[str, Selected] = {}
    for chosen in selected:
        if chosen.named:
            raise ConfigError(
                f"{chosen.entry!r} names its template, and --templates names others",
                f"write {chosen.task.name}-{chosen.task.version} to sweep over its templates",
            )
        for name in _asked(config.templates, chosen.task):
            one = replace(chosen, template=name)
            swept.setdefault(one.full_id, one)
    return list(swept.values())


def all_templates(selected: Iterable[Selected]) -> list[Selected]:
    """The selected tasks under every template they have; one that was named stands alone."""
    return [
        replace(chosen, template=name)
        for chosen in selected
        for name in ([chosen.template] if chosen.named else chosen.task.templates)
    ]


def _asked(templates: tuple[str, ...], task: Task) -> list[str]:
    if ALL in templates:
        return list(task.templates)
    # A pattern (native*) stands for what it matches, in the task's own order.
    matching = {
        written: [name for name in task.templates if fnmatchcase(name, written)] or [written]
        for written in templates
    }
    templates = tuple(dict.fromkeys(name for names in matching.values() for name in names))
    missing = [name for name in templates if name not in task.templates]
    if missing:
        raise ConfigError(
            f"--templates: {task.name} {task.version} has no template {missing[0]!r}",
            f"templates of {task.name} {task.version}: {', '.join(task.templates)}; "
            "or sweep the task by itself",
        )
    return list(templates)


def swept_cells(config: RunConfig, task: Task, template: str, shots: int) -> list[Cell]:
    """One cell for each number of shots and each draw of examples.

    Without examples there is nothing to draw, so a cell without shots stands once.
    """
    cells = []
    for number in config.num_fewshot_sweep or (shots,):
        for seed in range(config.seed, config.seed + (config.seeds if number else 1)):
            mark = f"@{number}shot" if config.num_fewshot_sweep else ""
            mark += f"@seed{seed}" if config.seeds > 1 and number else ""
            cells.append(Cell(task.name, task.version, template, number, seed, mark))
    return cells


def check_sweep(config: RunConfig, cells: Iterable[Cell]) -> None:
    """Refuse a sweep over nothing.

    Raises:
        ConfigError: Examples are to be drawn anew but no prompt shows any, or a choice is to be
            made and there is nothing to choose from.
    """
    if config.select_on and not (config.templates or config.num_fewshot_sweep):
        raise ConfigError(
            "--select_on says where a template is chosen, but there is nothing to choose from",
            "use it with --template auto, or with `tenbin sweep`",
        )
    if config.seeds > 1 and not any(cell.shots for cell in cells):
        raise ConfigError(
            "--seeds draws examples anew, but no task has shots",
            "give --num_fewshot, or leave --seeds out",
        )
