"""`tenbin validate`: check tasks before spending time on a model, or count what a folder holds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenbin.config import RunConfig
    from tenbin.pipeline.progress import Listener
    from tenbin.pipeline.validate import Checked
    from tenbin.records import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin validate`."""
    from tenbin.cli.flags import add_options

    parser.add_argument(
        "names",
        nargs="*",
        metavar="TASK_OR_FILE",
        help="names as in --tasks, or task files; none: a census of the folders of --include_path",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_options(parser, "validate")


def execute(options: argparse.Namespace) -> int:
    """Print what was checked; the exit code is 1 when there is an error.

    A census informs: refused files of a folder are no error.
    """
    from tenbin.cli.flags import flags_of
    from tenbin.config import build_config
    from tenbin.report.terminal.progress import open_progress

    flags = flags_of(options)
    if not options.names:
        return _print_census(build_config({"tasks": "*", **flags}), options.json)
    config = build_config({"tasks": options.names, **flags})
    listener = open_progress()
    tasks = _tasks(options, config)
    checked = _each_checked(tasks, config, listener)
    if options.json:
        found = list(checked)
        _print_json({"tasks": [one.to_json() for one in found]})
    else:
        found = [_printed(one) for one in checked]
    return 1 if any(one.errors for one in found) else 0


def _each_checked(tasks: list[Task], config: RunConfig, listener: Listener) -> Iterator[Checked]:
    """Check one task after the other; of a single one its templates are the steps."""
    from tenbin.pipeline.validate import validate_selected

    for done, task in enumerate(tasks, 1):
        yield validate_selected(task, config, listener if len(tasks) == 1 else None)
        if len(tasks) > 1:
            listener.prepare("checking tasks", done, len(tasks), "tasks")


def _printed(checked: Checked) -> Checked:
    """Print one task as soon as it is checked."""
    from rich.text import Text

    from tenbin.report.terminal.console import make_console
    from tenbin.sandbox.printable import visible

    console, task = make_console(), checked.task
    mark, style = ("✗", "red") if checked.errors else ("✓", "green")
    console.print(
        Text(visible(f"{mark} {task.name} {task.version}"), style=style),
        f"{checked.templates} templates × {checked.documents:,} documents",
        highlight=False,
    )
    for finding in checked.findings:
        style = "red" if finding.severity == "error" else "yellow"
        line = visible(f"  {finding.severity}: {finding.where}: {finding.message}")
        console.print(Text(line, style), soft_wrap=True)
    return checked


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, ensure_ascii=False, indent=1))


def _print_census(config: RunConfig, as_json: bool) -> int:
    from tenbin.errors import ConfigError
    from tenbin.pipeline.census import take_census
    from tenbin.pipeline.task_files import reach_of
    from tenbin.report.terminal.census import print_census
    from tenbin.report.terminal.progress import open_progress
    from tenbin.tasks.installed import included_place

    folders = [included_place(place) for place in config.include_path]
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(
                f"--include_path {folder}: a census is taken of folders",
                "name the file itself: tenbin validate FILE",
            )
    if not folders:
        raise ConfigError(
            "nothing to validate: neither tasks nor folders are named",
            "name tasks or task files, or a folder of them with --include_path",
        )
    census = take_census(folders, reach_of(config), open_progress())
    if as_json:
        _print_json(census.to_json())
    else:
        print_census(census, ", ".join(config.include_path))
    return 0


def _tasks(options: argparse.Namespace, config: RunConfig) -> list[Task]:
    from pathlib import Path

    from tenbin.pipeline.task_files import reach_of
    from tenbin.tasks.registry import load_registry

    reach = reach_of(config)
    registry = load_registry(config.include_path, reach=reach)
    tasks: dict[tuple[str, str], Task] = {}
    for name in options.names:
        if name.endswith((".yaml", ".yml")):
            chosen = registry.tasks_of(Path(name))
        else:
            chosen = [selected.task for selected in registry.select([name])]
        tasks.update({(task.name, task.version): task for task in chosen})
    return list(tasks.values())
