"""How threads wait is chosen where the machine is busy, and nowhere else."""

from __future__ import annotations

import os
import sys

import pytest

from tenbin.backends.checkpoint import busy_cores
from tenbin.backends.checkpoint.busy_cores import wait_without_spinning_if_busy


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Four cores, nine processes, and no torch yet."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0, 1.0, 1.0), raising=False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    # Set first: only so is what the function sets taken back.
    for name in busy_cores._SETTINGS:
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)
    return monkeypatch


def test_threads_do_not_spin_on_a_busy_machine(busy: pytest.MonkeyPatch) -> None:
    wait_without_spinning_if_busy()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_a_machine_of_its_own_is_left_as_it_is(busy: pytest.MonkeyPatch) -> None:
    busy.setattr(os, "getloadavg", lambda: (8.0, 99.0, 99.0))
    wait_without_spinning_if_busy()
    assert "OMP_WAIT_POLICY" not in os.environ


def test_a_system_that_does_not_tell_is_no_busy_one(busy: pytest.MonkeyPatch) -> None:
    busy.delattr(os, "getloadavg")
    wait_without_spinning_if_busy()
    assert "OMP_WAIT_POLICY" not in os.environ


@pytest.mark.parametrize("name", busy_cores._SETTINGS)
def test_the_user_decides(busy: pytest.MonkeyPatch, name: str) -> None:
    busy.setenv(name, "1")
    wait_without_spinning_if_busy()
    assert os.environ.get("OMP_WAIT_POLICY") == ("1" if name == "OMP_WAIT_POLICY" else None)


def test_it_is_too_late_after_torch(busy: pytest.MonkeyPatch) -> None:
    busy.setitem(sys.modules, "torch", sys)
    wait_without_spinning_if_busy()
    assert "OMP_WAIT_POLICY" not in os.environ
