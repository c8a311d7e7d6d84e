"""Templates with rotated options: their names, `0.3~2`, and how they are found.

A task file has no entry for them: each template that shows its options stands for its rotations.
"""

from __future__ import annotations

from dataclasses import replace

from tenbin.errors import TaskError
from tenbin.records import Task, Template

MARK = "~"
FORMAT = "f-"
"""What the ids of prompt formats begin with."""


def split_rotation(name: str) -> tuple[str, int]:
    """The template that a name stands for, and the places its options are rotated by."""
    base, mark, places = name.rpartition(MARK)
    if mark and base and places.isdecimal() and len(places) < 5:
        return base, int(places)
    return name, 0


def rotated_name(base: str, rotation: int) -> str:
    """The name of a rotated template; without rotation it is the template's own."""
    return f"{base}{MARK}{rotation}" if rotation else base


def shows_options(task: Task, template: Template) -> bool:
    """Whether a prompt of the template shows the options, in an order that can be another one."""
    options = task.options
    if options is None or task.origin is not None or template.format is not None:
        return False
    if template.name.partition("+")[0] in options.fixed:
        return False
    return options.named_in(template.description) or options.named_in(template.text)


def rotations_of(task: Task, base: str) -> tuple[str, ...]:
    """The names of a template and its rotations; the template alone where it cannot be rotated."""
    if task.options is None or not shows_options(task, task.templates[base]):
        return (base,)
    return tuple(rotated_name(base, rotation) for rotation in range(task.options.count))


def all_templates(task: Task) -> tuple[str, ...]:
    """The names of all templates of a task with their rotations."""
    bases = (name for name, one in task.templates.items() if not one.rotation)
    return tuple(name for base in bases for name in rotations_of(task, base))


def with_template(task: Task, name: str) -> Task:
    """The task with a template of this name, which may be a rotated one or a prompt format.

    Raises:
        TaskError: There is no such template.
    """
    if name in task.templates:
        return task
    base, rotation = split_rotation(name)
    if base.startswith(FORMAT):
        # Only now: other names do without the grammar.
        from tenbin.tasks.prompt_formats import with_format

        if rotation:
            raise TaskError(
                f"{name}: a prompt format has its rotation in its id, and no {MARK}{rotation}"
            )
        return with_format(task, name)
    if base not in task.templates:
        raise TaskError(
            f"{task.name} {task.version} has no template {name!r}",
            f"templates of {task.name} {task.version}: {', '.join(task.templates)}",
        )
    template, options = task.templates[base], task.options
    if options is None or not shows_options(task, template):
        raise TaskError(
            f"{task.name} {task.version}: template {base!r} cannot be rotated: {_reason(task)}",
            f"leave {MARK}{rotation} out",
        )
    if not 0 < rotation < options.count:
        raise TaskError(
            f"{task.name} {task.version}: template {base!r} has no rotation {rotation}",
            f"{options.count} options can be rotated by 1 to {options.count - 1}",
        )
    turned = replace(template, name=name, rotation=rotation)
    return replace(task, templates={**task.templates, name: turned})


def _reason(task: Task) -> str:
    if task.origin is not None:
        return "it is of an lm-eval file, which does not say which fields hold its options"
    if task.options is None:
        return "the task's file does not say which fields hold its options (`options:`)"
    return "it does not list the options, or explains each where it stands"
