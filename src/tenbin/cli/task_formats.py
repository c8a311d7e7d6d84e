"""`tenbin tasks --formats`: which tasks declare prompt formats, and the grammar of one of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenbin.records import Task
    from tenbin.tasks.registry import Registry
    from tenbin.tasks.summary import TaskSummary


def list_formats(options: argparse.Namespace) -> int:
    """Print the dimensions, levels and rules of a task's formats; without a task, the tasks."""
    import json

    from tenbin.cli.flags import flags_of
    from tenbin.report.terminal.console import make_console
    from tenbin.tasks.registry import load_registry

    registry = load_registry(flags_of(options).get("include_path", ()))
    if not options.formats_of:
        names = _declaring(registry)
        print(json.dumps(names) if options.json else "\n".join(names))
        return 0
    task = registry.select([options.formats_of])[0].task
    described = describe_formats(task)
    if options.json:
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return 0
    from rich import box
    from rich.table import Table

    console = make_console()
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=described["task"], title_justify="left"
    )
    for column in ("dimension", "what it is", "digit: level"):
        table.add_column(column, overflow="fold")
    for one in described["dimensions"]:
        levels = ", ".join(f"{digit}: {level}" for digit, level in one["levels"].items())
        table.add_row(one["name"], one["about"], levels)
    console.print(table, markup=False)
    for rule in described["rules"]:
        console.print(f"rule {rule['name']}: {rule['reason']}", highlight=False, markup=False)
    console.print(
        f"\nAn id is f- and a digit of each dimension, in this order. Examples:\n"
        f"tenbin preview --tasks {task.name} --formats 5 --limit 1 --sample_data",
        highlight=False,
        markup=False,
    )
    return 0


def describe_formats(task: Task) -> dict[str, Any]:
    """The grammar of a task's formats, as JSON has it.

    Raises:
        TaskError: The task declares none.
    """
    from tenbin.tasks.prompt_formats.dimensions import DIGITS, DIMENSIONS
    from tenbin.tasks.prompt_formats.format_id import usable_levels
    from tenbin.tasks.prompt_formats.grammar import require_grammar
    from tenbin.tasks.prompt_formats.rules import RULES

    grammar = require_grammar(task)
    dimensions = []
    for one in DIMENSIONS:
        usable = {
            level
            for language in grammar.wordings
            for level in (
                [language] if one.name == "language" else usable_levels(grammar, one.name, language)
            )
        }
        known = enumerate(one.levels(grammar))
        levels = {DIGITS[at]: level for at, level in known if level in usable}
        dimensions.append({"name": one.name, "about": one.about, "levels": levels})
    return {
        "task": f"{task.name}-{task.version}",
        "languages": {name: wording.language for name, wording in grammar.wordings.items()},
        "dimensions": dimensions,
        "rules": [{"name": rule.name, "reason": rule.reason} for rule in RULES],
    }


def _declaring(registry: Registry) -> list[str]:
    """The tasks that declare formats; those of one file as a pattern, by the first of them."""
    from os.path import commonprefix

    names: dict[str, dict[str, None]] = {}
    first: dict[str, TaskSummary] = {}
    for one in registry.summaries():
        names.setdefault(one.source, {})[one.name] = None
        first.setdefault(one.source, one)
    return [
        f"{commonprefix(list(names[source]))}*"  # noqa: RUF071
        if len(names[source]) > 1
        else one.name
        for source, one in first.items()
        if one.kind == "choice" and registry.task(one.name, one.version).formats is not None
    ]
