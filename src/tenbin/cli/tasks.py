"""`tenbin tasks`: list tasks, templates, groups and their data."""

from __future__ import annotations

import argparse
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from tenbin.records import Task
    from tenbin.tasks.registry import Registry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin tasks`."""
    from tenbin.cli.flags import add_options

    parser.add_argument(
        "pattern", nargs="?", metavar="PATTERN", help="part of a name, or a pattern"
    )
    add_options(parser, "tasks")


def execute(options: argparse.Namespace) -> int:
    """Print the tasks whose name, id or group matches."""
    from rich import box
    from rich.table import Table

    from tenbin.cli.flags import flags_of
    from tenbin.report.terminal.console import make_console
    from tenbin.tasks.registry import load_registry

    registry = load_registry(flags_of(options).get("include_path", ()))
    tasks = [task for task in registry.all() if _matches(task, options.pattern)]
    console = make_console()
    if not tasks:
        console.print(f"no task matches {options.pattern!r}; `tenbin tasks` lists all")
        return 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("id", "language", "templates", "kind", "data"):
        table.add_column(name, overflow="fold")
    table.add_column("documents", justify="right", no_wrap=True)
    for task in tasks:
        data, size = _data(task)
        table.add_row(
            f"{task.name}-{task.version}",
            task.language,
            _templates(task),
            task.kind,
            data,
            size,
        )
    console.print(table)
    _print_groups(registry, tasks, console)
    console.print(
        "An id is task-version-template: jnli-1.3-0.2. A bare name takes the newest version, and\n"
        "its default template (marked *) or the one given with --template.",
        highlight=False,
    )
    return 0


def _matches(task: Task, pattern: str | None) -> bool:
    if not pattern:
        return True
    names = [task.name, f"{task.name}-{task.version}", task.group or ""]
    names += [f"{task.name}-{task.version}-{template}" for template in task.templates]
    if any(mark in pattern for mark in "*?["):
        return any(fnmatchcase(name, pattern) for name in names)
    return any(pattern in name for name in names)


def _templates(task: Task) -> str:
    """Template names; variants of scoring are named once, since every template has them."""
    plain = [name for name in task.templates if "+" not in name]
    variants = dict.fromkeys(name.partition("+")[2] for name in task.templates if "+" in name)
    shown = [f"{name}*" if name == task.default_template else name for name in plain]
    return " ".join([*shown, *(f"(+{variant})" for variant in variants)])


def _data(task: Task) -> tuple[str, str]:
    if not task.dataset.pinned:
        return task.dataset.name, "–"
    from tenbin.data.sources.pinned import describe_dataset

    described = describe_dataset(task.dataset)
    # Newer data versions only add splits; the oldest is what a run reads by default.
    size = next(iter(described.sizes.values())).get(task.split)
    return described.title, f"{size:,}" if size else "–"


def _print_groups(registry: Registry, tasks: list[Task], console: Console) -> None:
    names = {task.name for task in tasks}
    for group, members in registry.groups().items():
        if names & set(members):
            console.print(f"group {group}: {len(members)} tasks", highlight=False)
