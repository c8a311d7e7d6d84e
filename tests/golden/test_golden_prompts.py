"""A prompt's bytes change only together with its task's version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenbin.tasks.registry import load_registry
from tests.golden.prompts import current, shots_of, stored

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
    for task in load_registry().all():
        held = {(row["template"], row["shots"]) for row in golden[f"{task.name}-{task.version}"]}
        wanted = {(template, shots) for template in task.templates for shots in shots_of(task)}
        assert held == wanted
