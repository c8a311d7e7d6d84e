"""The golden prompts: which there are, and how they are written and read.

One file a task version, one line a prompt: every template at 0 and 2 shots (whole texts and
instructions take none), on the first sample document. A byte that changes under an unchanged
version changes scores silently; the test beside this file refuses that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tenbin.config import build_config
from tenbin.data.load import SAMPLE_DATA
from tenbin.data.sources.pinned import pinned_sets
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.records import INSTRUCTIONS, Task
from tenbin.tasks.registry import Registry, load_registry

FOLDER = Path(__file__).parent / "prompts"
WORDED = Path(__file__).parent / "worded_prompts.jsonl"
"""Prompts of tasks whose sample rows are those of another language, one line each."""
PROFILES = (None, "jp-stable")


def shots_of(task: Task) -> tuple[int, ...]:
    """The numbers of examples that a task's golden prompts are rendered with."""
    alone = task.kind == "perplexity" or task.references == INSTRUCTIONS
    return (0,) if alone else (0, 2)


def current() -> dict[str, list[dict[str, Any]]]:
    """What tenbin renders today, by task and version."""
    tasks = {f"{task.name}-{task.version}": task for task in golden_tasks()}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in tasks}
    for profile in PROFILES:
        for shots in (0, 2):
            # All in one go: reading the catalogue takes longer than rendering a few prompts.
            names = [
                name
                for name, task in tasks.items()
                if profile in profiles_of(task) and shots in shots_of(task)
            ]
            for name, row in rows_of(names, shots, profile):
                found[name].append(row)
    return found


def golden_tasks() -> list[Task]:
    """The tasks that have golden prompts: those with sample rows of their own.

    Of the subsets of one file, which share their templates, the first has them.
    """
    first: dict[tuple[str, str], Task] = {}
    tasks: list[Task] = []
    for task in load_registry().all():
        same = first.setdefault((task.family, task.version), task) if task.dataset.where else task
        assert task.templates == same.templates
        if same is task and not borrows_samples(task) and not repeats_a_version(task):
            tasks.append(task)
    return tasks


@cache
def _registry() -> Registry:
    return load_registry()


def repeats_a_version(task: Task) -> bool:
    """Whether an older version of the task is the same in all but its number."""
    registry = _registry()
    older = [one for one in registry.tasks[task.name] if one < task.version]
    return any(replace(task, version=one) == registry.task(task.name, one) for one in older)


def worded() -> list[dict[str, str]]:
    """What tenbin renders today of tasks with own words and the sample rows of another language.

    Only the templates that use the words, on the first document and without examples.
    """
    tasks = {
        f"{task.name}-{task.version}": task
        for task in load_registry().all()
        if borrows_samples(task) and task.version != "1.0" and not repeats_a_version(task)
    }
    return [
        {"task": name, "template": row["template"], "prompt": row["prompt"]}
        for name, row in rows_of(list(tasks), 0, None)
        if "words." in tasks[name].templates[row["template"]].text
    ]


def borrows_samples(task: Task) -> bool:
    """Whether the sample rows of another language are shown for this task's."""
    pinned = pinned_sets().get(task.dataset.name)
    if pinned is None or pinned.sample_config is None:
        return False
    split = next(iter(pinned.versions.values()))[task.split]
    return not (SAMPLE_DATA / split.folder.replace("{config}", task.dataset.config or "")).is_dir()


def profiles_of(task: Task) -> tuple[str | None, ...]:
    """The profiles that a task's golden prompts are rendered with."""
    return PROFILES if task.language == "ja" and task.group is None else (None,)


def rows_of(
    names: list[str], shots: int, profile: str | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The golden prompts of these tasks, each with the task's name and version."""
    config = build_config(
        {
            "tasks": ",".join(f"{name}-*" for name in names),
            "num_fewshot": shots,
            "limit": 1,
            "sample_data": True,
            "profile": profile,
        }
    )
    setups = choose_cells(config)
    data = load_data(config, setups)
    settings = prompt_settings(config)
    for setup in setups:
        for prompt in prompts_of(setup, data, settings, None):
            yield (
                f"{setup.task.name}-{setup.task.version}",
                {
                    "template": prompt.cell.template,
                    "profile": config.profile_settings.name,
                    "shots": shots,
                    "document": prompt.document,
                    "examples": list(prompt.examples),
                    "prompt": prompt.text,
                    "continuations": prompt.continuations and list(prompt.continuations),
                    "target": prompt.target,
                    "stop": list(prompt.stop),
                },
            )


@cache
def stored_worded() -> list[dict[str, str]]:
    """What the golden file of tasks with borrowed sample rows holds."""
    lines = WORDED.read_text(encoding="utf-8").splitlines() if WORDED.exists() else []
    return [json.loads(line) for line in lines]


@cache
def stored() -> dict[str, list[dict[str, Any]]]:
    """What the golden files hold."""
    return {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(FOLDER.glob("*.jsonl"))
    }


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Write the golden file of one task version."""
    FOLDER.mkdir(exist_ok=True)
    write_rows(FOLDER / f"{name}.jsonl", rows)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as JSON lines."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
