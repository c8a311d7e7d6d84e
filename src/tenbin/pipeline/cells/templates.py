"""Which templates a task is asked under: those named, their rotations, and prompt formats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from tenbin.config import RunConfig
from tenbin.errors import ConfigError
from tenbin.records import Task
from tenbin.tasks.rotation import (
    FORMAT,
    MARK,
    all_templates,
    rotations_of,
    split_rotation,
    with_template,
)
from tenbin.tasks.selection import Selected

ALL = "all"


def selected_templates(
    config: RunConfig, entries: Sequence[Sequence[Selected]], every_template: bool
) -> list[list[Selected]]:
    """The selected tasks under each template that the config asks for, entry by entry.

    Args:
        config: What the user wrote.
        entries: What each entry of `--tasks` and each suite stands for.
        every_template: Whether a bare name stands for all templates of its task where the config
            says nothing of templates.

    Raises:
        ConfigError: Options contradict each other or the entries, or change nothing.
    """
    selected = [_swept_templates(config, chosen) for chosen in entries]
    if every_template and not (config.template or config.templates or config.formats):
        selected = [_all_templates(entry) for entry in selected]
    if config.rotated_share is not None and (config.budget or not config.rotations):
        raise ConfigError(
            "--rotated_share says how many documents --rotations asks in other orders, and "
            "--budget has shares of its own",
            "give it with --rotations, and without --budget",
        )
    if config.rotations:
        selected = _with_rotations(selected)
    return selected


def _swept_templates(config: RunConfig, selected: Iterable[Selected]) -> list[Selected]:
    """The selected tasks under each template of `--templates`.

    Raises:
        ConfigError: A task is named with its template, or lacks one that was asked for.
    """
    if not config.templates:
        return list(selected)
    swept: dict[str, Selected] = {}
    for chosen in selected:
        if chosen.named:
            asks = "all are asked" if ALL in config.templates else "--templates names others"
            raise ConfigError(
                f"{chosen.entry!r} names its template, and {asks}",
                f"write {chosen.task.name}-{chosen.task.version} to sweep over its templates",
            )
        for name in _asked(config.templates, chosen.task):
            one = replace(chosen, task=with_template(chosen.task, name), template=name)
            swept.setdefault(one.full_id, one)
    return list(swept.values())


def _asked(templates: tuple[str, ...], task: Task) -> list[str]:
    if ALL in templates:
        return list(task.templates)
    # A pattern (native*) stands for what it matches, in the task's own order.
    known = all_templates(task) if any(MARK in written for written in templates) else task.templates
    matching = {
        written: [
            name
            for name in (known if MARK in written else task.templates)
            if fnmatchcase(name, written)
        ]
        or [written]
        for written in templates
    }
    templates = tuple(dict.fromkeys(name for names in matching.values() for name in names))
    missing = [
        name
        for name in templates
        if split_rotation(name)[0] not in task.templates and not name.startswith(FORMAT)
    ]
    if missing:
        raise ConfigError(
            f"--templates: {task.name} {task.version} has no template {missing[0]!r}",
            f"templates of {task.name} {task.version}: {', '.join(task.templates)}; "
            "or sweep the task by itself",
        )
    return list(templates)


def _all_templates(selected: Iterable[Selected]) -> list[Selected]:
    """The selected tasks under every template they have; one that was named stands alone."""
    return [
        replace(chosen, template=name)
        for chosen in selected
        for name in ([chosen.template] if chosen.named else chosen.task.templates)
    ]


def _with_rotations(selected: list[list[Selected]]) -> list[list[Selected]]:
    """The selected tasks, each template with all rotations of its options.

    Raises:
        ConfigError: No selected template can be rotated.
    """
    found: list[list[Selected]] = []
    for entry in selected:
        rotated: dict[str, Selected] = {}
        for chosen in entry:
            for name in rotations_of(chosen.task, split_rotation(chosen.template)[0]):
                one = replace(chosen, task=with_template(chosen.task, name), template=name)
                rotated.setdefault(one.full_id, one)
        found.append(list(rotated.values()))
    if not any(split_rotation(one.template)[1] for entry in found for one in entry):
        from tenbin.pipeline.notices import listed

        tasks = {one.task.name: one.task for entry in selected for one in entry}.values()
        able = [
            f"{task.name}-{task.version}-{name}"
            for task in tasks
            for name in task.templates
            if len(rotations_of(task, name)) > 1
        ]
        raise ConfigError(
            "--rotations changes nothing: no chosen template lists options in an order that its "
            "task can change (docs/option-order.md)",
            f"these do: {listed(able)}" if able else "leave it out",
        )
    return found


def with_asked_formats(
    config: RunConfig, chosen: Selected, task: Task, shots: int, known: set[str]
) -> tuple[Task, list[str]]:
    """The task with its formats among its templates, and the names of those that are asked.

    Args:
        config: What the user wrote.
        chosen: What was selected.
        task: Its task, as it is asked.
        shots: Examples of each prompt.
        known: Tasks whose formats are asked already, under another template; this one is added.

    Raises:
        ConfigError: The entry names its template.
        TaskError: The task declares no formats, or too few.
    """
    if config.formats is None:
        return task, [chosen.template]
    if chosen.named:
        raise ConfigError(
            f"{chosen.entry!r} names its template, and --formats asks for others",
            f"write {task.name}-{task.version} to ask its prompt formats",
        )
    published = [chosen.template] if config.templates else []
    if f"{task.name}-{task.version}" in known:
        return task, published
    known.add(f"{task.name}-{task.version}")
    from tenbin.tasks.prompt_formats import excluded_formats, sample_formats, with_formats

    most = max(config.num_fewshot_sweep or (shots,))
    excluded = excluded_formats(config.exclude_formats)
    formats = sample_formats(task, config.formats, config.seed, excluded, most, config.chat_formats)
    return with_formats(task, formats), [*published, *(one.id for one in formats)]


def check_excluded(config: RunConfig, asked: Iterable[Task]) -> None:
    """Refuse exclusions that are about no asked task."""
    if config.exclude_formats:
        from tenbin.tasks.prompt_formats import check_exclusions, excluded_formats

        tasks = {f"{task.name}-{task.version}": task for task in asked}
        check_exclusions(list(tasks.values()), excluded_formats(config.exclude_formats))
