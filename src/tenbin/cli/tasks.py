"""`tenbin tasks`: list tasks, templates, groups, tags and their data."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable
from fnmatch import translate
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from tenbin.sandbox.printable import counted

if TYPE_CHECKING:
    from rich.console import Console

    from tenbin.tasks.lm_eval.index_cache import Entry
    from tenbin.tasks.registry import Registry
    from tenbin.tasks.summary import TaskSummary

_MOST_ROWS = 60
"""Files of folders that are listed one by one; more of them with --all."""
_MOST_LANGUAGES = 12
"""Of tasks in one row that are named; more are counted."""
_LONGEST_LIST = 60
_LONGEST_REASON = 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin tasks`."""
    from tenbin.cli.flags import add_options

    parser.add_argument(
        "pattern", nargs="?", metavar="PATTERN", help="part of a name, or a pattern"
    )
    parser.add_argument(
        "--all", action="store_true", help="list every file of a folder, however many there are"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--show",
        metavar="NAME",
        help="what a task asks, its data, known faults, metrics and citation",
    )
    parser.add_argument(
        "--formats",
        dest="formats_of",
        nargs="?",
        const="",
        metavar="TASK",
        help="the grammar of a task's prompt formats, with its rules; without TASK the tasks",
    )
    parser.add_argument(
        "--suites",
        action="store_true",
        help="list suites: averages, documents, tokens; with the name of one as PATTERN its tasks",
    )
    parser.add_argument(
        "--parameters",
        metavar="N",
        help="with --suites: estimate the time of a model of N parameters (8B, 135M) here",
    )
    parser.add_argument(
        "--tokenizer", metavar="PATH", help="with --suites: count tokens with this tokenizer"
    )
    add_options(parser, "tasks")


def execute(options: argparse.Namespace) -> int:
    """Print the tasks, groups and tags whose name, id, group or tag matches."""
    if options.show:
        return _show(options)
    if options.formats_of is not None:
        from tenbin.cli.task_formats import list_formats

        return list_formats(options)
    if options.suites:
        from tenbin.cli.suites import list_suites

        return list_suites(options)
    from tenbin.cli.flags import flags_of
    from tenbin.report.terminal.console import make_console
    from tenbin.tasks.registry import load_registry

    include = flags_of(options).get("include_path", ())
    registry = load_registry(include, report=_progress())
    registry.add_installed()
    fits = _matcher(options.pattern)
    tasks = [task for task in registry.summaries() if any(map(fits, _names(task)))]
    entries = [one for one in registry.library.entries() if any(map(fits, (one.name, *one.tags)))]
    tags = {tag: size for tag, size in _tags(registry).items() if fits(tag)}
    console = make_console()
    if not (tasks or entries or tags):
        from tenbin.tasks.selection import closest

        hint = closest(registry, options.pattern)
        console.print(f"no task matches {options.pattern!r}: {hint}")
        return 1
    if options.json:
        _print_json(tasks, entries, tags)
        return 0
    if tasks:
        few = len(tasks) <= _MOST_ROWS
        if options.all and not few:
            _print_all_tasks(tasks)
        else:
            _print_tasks([[task] for task in tasks] if few else _alike(tasks), console)
        _print_groups(registry, tasks, console)
    if entries or tags:
        few = len(entries) + len(tags) <= _MOST_ROWS
        if options.all and not few:
            _print_all(registry, entries, tags)
        elif options.pattern or few:
            _print_entries(registry, entries, tags, console)
        else:
            _print_folders(registry, entries, console)
        _print_counts(entries, tags, console)
    return 0


def _show(options: argparse.Namespace) -> int:
    """Print what is known of the tasks of one file."""
    from html import unescape

    from tenbin.cli.flags import flags_of
    from tenbin.report.task_page import task_facts
    from tenbin.sandbox.printable import visible
    from tenbin.tasks.registry import load_registry

    registry = load_registry(flags_of(options).get("include_path", ()))
    chosen = registry.select([options.show])[0].task
    tasks = [
        registry.task(one.name, one.version)
        for one in registry.summaries()
        if one.source == chosen.source
    ]
    print(visible(unescape(task_facts(tasks or [chosen]))))
    print(f"\nexample prompts: tenbin preview --tasks {chosen.name} --sample_data --limit 1")
    return 0


def _progress() -> Callable[[int, int], None]:
    """Say how far the indexing of a folder is, once it takes long."""
    from tenbin.report.terminal.progress import open_progress

    listener = open_progress()
    return lambda number, total: listener.prepare("indexing task files", number, total, "files")


def _matcher(pattern: str | None) -> Callable[[str], bool]:
    if not pattern:
        return lambda name: True
    if any(mark in pattern for mark in "*?["):
        matches = re.compile(translate(pattern)).match
        return lambda name: matches(name) is not None
    return lambda name: pattern in name


def _names(task: TaskSummary) -> list[str]:
    names = [task.name, f"{task.name}-{task.version}", task.group or ""]
    return names + [f"{task.name}-{task.version}-{template}" for template in task.templates]


def _tags(registry: Registry) -> dict[str, int]:
    """Tags, with how many tasks have each."""
    sizes: Counter[str] = Counter()
    for index in registry.library.indexes:
        sizes.update({tag: len(names) for tag, names in index.tags.items()})
    return dict(sorted(sizes.items()))


def _print_tasks(rows: list[list[TaskSummary]], console: Console) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("id", "language", "templates", "kind", "data"):
        table.add_column(name, overflow="fold")
    table.add_column("documents", justify="right", no_wrap=True)
    for tasks in rows:
        table.add_row(*_row(tasks))
    console.print(table)
    console.print(
        "An id is task-version-template: jnli-1.3-0.2. A bare name takes the newest version, and\n"
        "its default template (marked *) or the one given with --template.",
        highlight=False,
    )


def _templates(task: TaskSummary) -> str:
    """Template names; variants of scoring are named once, since every template has them."""
    plain = [name for name in task.templates if "+" not in name]
    variants = dict.fromkeys(name.partition("+")[2] for name in task.templates if "+" in name)
    shown = [f"{name}*" if name == task.default_template else name for name in plain]
    return " ".join([*shown, *(f"(+{variant})" for variant in variants)])


def _alike(tasks: list[TaskSummary]) -> list[list[TaskSummary]]:
    """The tasks, those of a file that differ only in language or subset together."""
    alike: dict[tuple[object, ...], list[TaskSummary]] = {}
    for task in tasks:
        shared = (task.source, task.version, task.kind, task.templates, task.data)
        alike.setdefault(shared, []).append(task)
    return list(alike.values())


def _row(tasks: list[TaskSummary]) -> list[str]:
    """A row of the table: one task, or several as a pattern that matches them."""
    first, sizes = tasks[0], {task.documents for task in tasks}
    languages = dict.fromkeys(task.language for task in tasks)
    name, times = first.name, ""
    if len(tasks) > 1:
        name = f"{commonprefix([task.name for task in tasks])}*"  # noqa: RUF071
        times = f"{len(tasks)} × "
    return [
        f"{name}-{first.version}",
        " ".join(languages) if len(languages) <= _MOST_LANGUAGES else f"{len(languages)} languages",
        _templates(first),
        first.kind,
        first.data,
        times + (f"{first.documents:,}" if first.documents and len(sizes) == 1 else "–"),
    ]


def _print_groups(registry: Registry, tasks: list[TaskSummary], console: Console) -> None:
    names = {task.name for task in tasks}
    for group, members in registry.groups().items():
        if names & set(members):
            console.print(f"group {group}: {counted(len(members), 'task')}", highlight=False)
    from tenbin.tasks.summary import averages

    known = names | {task.group for task in tasks if task.group}
    for one in averages():
        if any(member.partition("-")[0] in known for member in one.members):
            refused = " (refused: members are missing)" if one.lacks_members else ""
            console.print(f"average {one.name}: {_list(one.members)}{refused}", highlight=False)


def _print_entries(
    registry: Registry, entries: list[Entry], tags: dict[str, int], console: Console
) -> None:
    """The first files one by one: names, kinds, what belongs to them, and what they need."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("name", "kind", "tags, or what it stands for", "needs", "file"):
        table.add_column(name, overflow="fold")
    # Groups and tags come first: they are fewer, and stand for the rest.
    groups = [entry for entry in entries if entry.kind == "group"][:_MOST_ROWS]
    for entry in groups:
        listed = f"{counted(len(entry.members), 'member')}: {_list(entry.members)}"
        table.add_row(entry.name, "group", listed, "", _place(registry, entry))
    for tag, size in list(tags.items())[: _MOST_ROWS - table.row_count]:
        table.add_row(tag, "tag", counted(size, "task"), "", "")
    tasks = [entry for entry in entries if entry.kind != "group"]
    for entry in tasks[: _MOST_ROWS - table.row_count]:
        kind, needs = _needs(registry, entry)
        table.add_row(entry.name, kind, _list(entry.tags), needs, _place(registry, entry))
    console.print(table)
    hidden = len(entries) + len(tags) - table.row_count
    if hidden:
        console.print(f"and {hidden:,} more: narrow the pattern, or give --all", highlight=False)


def _print_all_tasks(tasks: list[TaskSummary]) -> None:
    from tenbin.sandbox.printable import visible

    for task in tasks:
        print(visible("\t".join(_row([task]))))


def _print_all(registry: Registry, entries: list[Entry], tags: dict[str, int]) -> None:
    """A line for each name: a table of thousands of rows takes long and has no use.

    The third column of a file that cannot be read says why.
    """
    from tenbin.sandbox.printable import visible

    for entry in entries:
        belongs = _reason(entry.reason, entry) or ",".join(entry.tags or entry.members)
        print(visible("\t".join((entry.name, entry.kind, belongs, _place(registry, entry)))))
    for tag, size in tags.items():
        print(visible("\t".join((tag, "tag", counted(size, "task"), ""))))


def _needs(registry: Registry, entry: Entry) -> tuple[str, str]:
    """What a task is, and what stands before a run of it."""
    from tenbin.errors import TaskError

    if entry.kind == "python":
        return "python", "a Python class: run it with lm-eval"
    try:
        translation = registry.library.translation(entry)
    except TaskError as error:
        return "refused", _reason(error.message, entry)
    if translation.task is None:
        return "refused", _reason("; ".join(map(str, translation.refusals)), entry)
    packages = sorted({need.what for need in translation.needs if need.kind == "package"})
    trust = ["trust"] if any(need.kind == "trust" for need in translation.needs) else []
    return translation.task.kind, ", ".join([*trust, *packages]) or "–"


def _reason(text: str, entry: Entry) -> str:
    """The first line of a reason, without the path that stands beside it."""
    line = text.replace(f"{entry.path}: ", "").split("\n")[0]
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 1]}…"


def _list(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= _LONGEST_LIST else f"{text[: _LONGEST_LIST - 1]}…"


def _place(registry: Registry, entry: Entry) -> str:
    """The path of a file, from its folder of `--include_path` on."""
    for index in registry.library.indexes:
        folder = f"{index.folder}/"
        if entry.path.startswith(folder):
            return entry.path.removeprefix(folder)
    return entry.path


def _print_folders(registry: Registry, entries: list[Entry], console: Console) -> None:
    """How many files each folder holds: thousands of names help nobody."""
    from rich.columns import Columns

    sizes = Counter(_place(registry, entry).split("/")[0] for entry in entries)
    console.print(Columns([f"{name} ({size:,})" for name, size in sorted(sizes.items())]))
    console.print(
        "`tenbin tasks PATTERN` lists names (xnli*, or a part of one), --all lists every one;\n"
        "--tasks takes names of tasks, groups and tags, patterns, and paths of task files.",
        highlight=False,
    )


def _print_counts(entries: list[Entry], tags: dict[str, int], console: Console) -> None:
    kinds = Counter(entry.kind for entry in entries)
    parts = [
        counted(kinds["task"], "task"),
        counted(kinds["group"], "group"),
        counted(len(tags), "tag"),
        f"{counted(kinds['python'], 'Python class', 'Python classes')} (refused)",
    ]
    if kinds["refused"]:
        parts.append(f"{counted(kinds['refused'], 'file')} that cannot be read")
    console.print(", ".join(parts), highlight=False)


def _print_json(tasks: list[TaskSummary], entries: list[Entry], tags: dict[str, int]) -> None:
    import json

    own: list[dict[str, Any]] = [
        {
            "name": task.name,
            "version": task.version,
            "language": task.language,
            "kind": task.kind,
            "templates": list(task.templates),
            "path": task.source,
        }
        for task in tasks
    ]
    files = [
        {
            "name": entry.name,
            "kind": entry.kind,
            "tags": list(entry.tags),
            "members": list(entry.members),
            "path": entry.path,
            "reason": entry.reason,
        }
        for entry in entries
    ]
    print(json.dumps({"tasks": own, "files": files, "tags": tags}, ensure_ascii=False, indent=1))
