"""A prompt's bytes change only together with its task's version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.prompts import current, stored

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


def test_golden_files_hold_every_template_and_shots(rendered: Rows) -> None:
    count = sum(len(rows) for rows in rendered.values())
    # 40 Japanese ids under two profiles, 12 templates in ten languages; at 0 and at 2 shots.
    assert count == (40 * 2 + 12 * 10) * 2
