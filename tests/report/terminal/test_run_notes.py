"""How a run's answers came about, in words."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.report.terminal.run_notes import engine_mode


@pytest.mark.parametrize(
    ("engine", "shown"),
    [
        ({"mode": "packed tree", "generation": "own loop"}, "packed tree"),
        ({"mode": "not run", "generation": "own loop"}, "own loop"),
        ({"mode": "not run", "generation": "not run"}, "not run"),
        ({"mode": "chat"}, "chat"),
        ({}, None),
    ],
)
def test_a_run_that_only_wrote_is_not_called_unrun(engine: dict[str, Any], shown: Any) -> None:
    assert engine_mode(engine) == shown
