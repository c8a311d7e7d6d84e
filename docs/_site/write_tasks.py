"""Write docs/tasks/: a page per task file of the catalogue, and the lists in docs/tasks.md.

`make tasks` runs it; tests/test_task_pages.py fails when a page is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tenbin.config import build_config
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.prepare import Data, data_choice, prompt_settings, prompts_of
from tenbin.prompts.build import PromptSettings
from tenbin.records import Cell, Prompt, Task
from tenbin.report.task_page import newest_tasks, page_name, task_facts
from tenbin.tasks.groups import MemberBlock, group_definitions, suite_definitions
from tenbin.tasks.registry import load_registry
from tenbin.tasks.summary import catalogue

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "tasks"
INDEX = ROOT / "docs" / "tasks.md"
_MOST_LANGUAGES = 16
"""That a row of the list names; more are counted."""
_SHOWN_FIRST = ("ja", "en")
"""Languages that examples are shown in, the first that a task has."""
_BEGIN, _END = "<!-- written by `make tasks` -->\n", "<!-- end -->\n"


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page below docs/tasks."""
    for name, tasks in _files().items():
        facts = task_facts(tasks)
        yield f"{name}.md", f"{facts}\n\n{_examples(tasks)}".rstrip() + "\n"


def _examples(tasks: Sequence[Task]) -> str:
    """The first sample row under every template, in one language of the file's tasks."""
    newest = newest_tasks(tasks)
    by_language = {task.language: task for task in reversed(newest)}
    shown = next((by_language[one] for one in _SHOWN_FIRST if one in by_language), newest[0])
    config = build_config({"tasks": shown.name, "sample_data": True})
    data, settings = Data(data_choice(config)), prompt_settings(config)
    parts = [f"## Prompts\n\n`{shown.name}`, the first sample row, without examples.\n"]
    for name in shown.templates:
        if "+" not in name:
            parts.append(_example(_first_prompt(shown, name, data, settings), name))
    return "\n".join(parts)


def _first_prompt(task: Task, template: str, data: Data, settings: PromptSettings) -> Prompt:
    cell = Cell(task.name, task.version, template, 0, settings.seed)
    return next(iter(prompts_of(CellSetup(cell, task, 1), data, settings, None)))


def _example(prompt: Prompt, template: str) -> str:
    fence = "````"
    parts = [f"### {template}\n"]
    if prompt.text:
        parts.append(f"{fence}text\n{prompt.text}\n{fence}\n")
    if prompt.continuations is not None:
        scored = "\n".join(
            f"{'→' if at in (prompt.gold, *prompt.golds) else ' '} {one!r}"
            for at, one in enumerate(prompt.continuations)
        )
        parts.append(f"Scored after it (→: right):\n\n{fence}text\n{scored}\n{fence}\n")
    elif prompt.target is not None:
        parts.append(f"Right: `{prompt.target!r}`\n")
    return "\n".join(parts)


def _files() -> dict[str, list[Task]]:
    """The tasks of the catalogue by their file's name."""
    registry, files = load_registry(), {}
    for entry in catalogue():
        task = registry.task(entry.summary.name, entry.summary.version)
        files.setdefault(page_name(task), []).append(task)
    return dict(sorted(files.items()))


def index() -> str:
    """The text of docs/tasks.md."""
    before, _, rest = INDEX.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    return f"{before}{_BEGIN}\n{''.join(_lists())}\n{_END}{after}"


def _lists() -> Iterator[str]:
    yield "### Suites\n\n| suite | | averages |\n|---|---|---|\n"
    for name, suite in suite_definitions().items():
        groups = ", ".join(f"`{one}`" for one in suite.groups)
        yield f"| `{name}` | {suite.title}. {suite.about} | {groups} |\n"
    yield "\n### Averages\n\n| group | | weighting | members |\n|---|---|---|---|\n"
    for name, group in group_definitions().items():
        members = ", ".join(_member(one) for one in group.members)
        weighting = "by documents" if group.mean == "size" else "each member the same"
        missing = f" Refused, since members are missing: {', '.join(group.missing)}."
        about = group.about + (missing if group.missing else "")
        yield f"| `{name}` | {about} | {weighting} | {members} |\n"
    yield "\n### Pages\n\n| page | tasks | languages | asks |\n|---|---|---|---|\n"
    for name, tasks in _files().items():
        yield _row(name, newest_tasks(tasks))


def _member(member: MemberBlock) -> str:
    name = member.group or member.task
    shots = "" if member.shots is None else f" ({member.shots})"
    return f"`{name}`{shots}"


def _row(name: str, tasks: Sequence[Task]) -> str:
    codes = list(dict.fromkeys(task.language for task in tasks))
    languages = ", ".join(codes) if len(codes) <= _MOST_LANGUAGES else f"{len(codes)} of them"
    about = tasks[0].about
    asks = (about.asks if about else "").replace("|", "\\|").replace("<", "&lt;")
    return f"| [{name}](tasks/{name}.md) | {len(tasks)} | {languages} | {asks} |\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    written = dict(pages())
    for old in FOLDER.glob("*.md"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    INDEX.write_text(index(), encoding="utf-8")
