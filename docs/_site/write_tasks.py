"""Write docs/tasks/: a page per task file of the catalogue, and the lists in docs/tasks.md.

`make tasks` runs it; tests/test_task_pages.py fails when a page is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tenbin.records import Task
from tenbin.report.task_page import newest_tasks, page_name, task_examples, task_facts
from tenbin.tasks.groups import MemberBlock, group_definitions, suite_definitions
from tenbin.tasks.registry import load_registry
from tenbin.tasks.summary import catalogue

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "tasks"
INDEX = ROOT / "docs" / "tasks.md"
_MOST_LANGUAGES = 16
"""That a row of the list names; more are counted."""
_BEGIN, _END = "<!-- written by `make tasks` -->\n", "<!-- end -->\n"


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page below docs/tasks."""
    for name, tasks in _files().items():
        facts = task_facts(tasks)
        yield f"{name}.md", f"{facts}\n\n{task_examples(tasks)}".rstrip() + "\n"


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
