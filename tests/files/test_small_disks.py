"""Disks that are really full or read-only: named in one error, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.small_disks import KIB


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    """What came out, by disk and state. Disks are mounted where nobody else sees them."""
    folder = tmp_path_factory.mktemp("disks")
    enter = ["unshare", "--map-root-user", "--mount"]
    probe = [*enter, "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a disk of their own")
    paths = [str(ROOT / "src"), str(ROOT)]
    done = subprocess.run(
        [*enter, sys.executable, "-m", "tests.small_disks", str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {(one["disk"], one["state"]): one for one in found}


@pytest.mark.parametrize("state", ["full", "read-only"])
@pytest.mark.parametrize("disk", list(KIB))
def test_the_disk_is_named_and_nothing_is_lost(
    cases: dict[tuple[str, str], Any], disk: str, state: str
) -> None:
    case = cases[disk, state]
    said = case["first"]["said"]
    assert "Traceback" not in said
    error = said[said.rindex("tenbin: ") :]
    if (disk, state) == ("scratch", "read-only"):
        # Python and SQLite look for another folder where TMPDIR cannot be written to.
        assert case["first"]["code"] == 0, said
    elif state == "full":
        assert case["first"]["code"] == 1 and "→" in error
        # Mounted there: the disk itself, not only a file on it.
        assert f"no space is left on the disk {case['place']}: " in error
    else:
        assert (case["place"] in error and "ead-only" in error) or "readonly" in error
    assert case["left"] == []
    assert case["second"]["code"] == 0, case["second"]["said"]
    other = cases["out", "full"]
    assert case["results"] and case["results"] == other["results"]
    assert case["prompts"] == other["prompts"]
