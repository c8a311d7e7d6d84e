"""A prompt's bytes change only together with its task's version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenbin.tasks.registry import load_registry
from tests.golden.prompts import (
    borrows_samples,
    current,
    golden_tasks,
    rows_of,
    shots_of,
    stored,
    stored_worded,
    worded,
)

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def rendered() -> Rows:
    return json.loads(json.dumps(current()))


def test_every_task_version_has_golden_prompts(rendered: Rows) -> None:
    assert set(rendered) == set(stored()), "run `make golden`"


@pytest.mark.parametrize("name", sorted(stored()))
def test_bytes_are_those_of_the_version(name: str, rendered: Rows) -> None:
    for now, then in zip(rendered[name], stored()[name], strict=True):
        assert now == then, "a prompt changed: bump the task's version, then `make golden`"


def test_golden_files_hold_every_template_at_every_shots() -> None:
    golden = stored()
    for task in golden_tasks():
        held = {(row["template"], row["shots"]) for row in golden[f"{task.name}-{task.version}"]}
        wanted = {(template, shots) for template in task.templates for shots in shots_of(task)}
        assert held == wanted


def test_bytes_are_those_of_the_version_where_sample_rows_are_borrowed() -> None:
    assert worded() == stored_worded(), "a prompt changed or is new: see `make golden`"


def test_languages_without_words_of_their_own_are_asked_in_english() -> None:
    english = {
        "belebele": "belebele_eng_Latn-1.0",
        "belebele_gen": "belebele_gen_eng_Latn-1.0",
    }
    tasks = load_registry().all()
    borrowing = [task for task in tasks if task.version == "1.0" and borrows_samples(task)]
    assert {task.group for task in borrowing} == set(english)
    one_a_group = {task.group: f"{task.name}-{task.version}" for task in borrowing}
    for group, name in one_a_group.items():
        for shots in (0, 2):
            rendered = json.loads(json.dumps([row for _, row in rows_of([name], shots, None)]))
            assert rendered == [r for r in stored()[english[group or ""]] if r["shots"] == shots]
