"""The hub's switches: set while a run is offline, and as they were afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tenbin.files.hub_switches import VARIABLES, hub_offline


def test_switches_are_set_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLES[0], raising=False)
    monkeypatch.setenv(VARIABLES[1], "0")
    with hub_offline():
        assert all(os.environ[name] == "1" for name in VARIABLES)
        shown = subprocess.run(
            [sys.executable, "-c", f"import os; print(os.environ[{VARIABLES[2]!r}])"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert shown.stdout == "1\n"
    assert VARIABLES[0] not in os.environ and os.environ[VARIABLES[1]] == "0"


def test_a_run_that_is_not_offline_changes_nothing() -> None:
    before = dict(os.environ)
    with hub_offline(False):
        assert dict(os.environ) == before


def test_libraries_that_are_imported_already_are_switched_too() -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    before = constants.HF_HUB_OFFLINE
    with hub_offline():
        assert constants.HF_HUB_OFFLINE is True
    assert before == constants.HF_HUB_OFFLINE
