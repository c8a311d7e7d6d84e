"""What may still be taken of a machine's memory: what it has free, within the limits set on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tenbin.backends.hf.model import ram

GIB = 1 << 30


def group(folder: Path, limit: str, used: int, idle: int, version: int = 2) -> None:
    folder.mkdir(parents=True)
    names = {
        2: ("memory.max", "memory.current", "inactive_file"),
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    }[version]
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {idle}\n")


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ram, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(ram, "_MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(ram, "_available", lambda: 8 * GIB)
    monkeypatch.setattr(ram, "_address_space", lambda: iter(()))
    return tmp_path


def test_without_limits_the_machine_says(groups: Path) -> None:
    assert ram.free_ram() == 8 * GIB
    (groups / "membership").write_text("0::/user\n")
    group(groups / "groups/user", "max", 3 * GIB, 0)
    assert ram.free_ram() == 8 * GIB


def test_a_container_has_less(groups: Path) -> None:
    (groups / "membership").write_text("0::/\n")
    group(groups / "groups", str(4 * GIB), 3 * GIB, GIB)
    assert ram.free_ram() == 2 * GIB
    whole = ram.all_ram()
    assert whole is None or whole <= 4 * GIB


def test_the_narrowest_of_nested_limits_counts(groups: Path) -> None:
    (groups / "membership").write_text("0::/jobs/one\n")
    group(groups / "groups/jobs", str(3 * GIB), 2 * GIB, 0)
    group(groups / "groups/jobs/one", str(9 * GIB), GIB, 0)
    assert ram.free_ram() == GIB


def test_the_older_kind_of_groups(groups: Path) -> None:
    (groups / "membership").write_text("5:cpu:/x\n4:memory:/docker/abc\n0::/\n")
    # As a container sees it: its own folder is the top one.
    group(groups / "groups/memory", str(2 * GIB), 3 * GIB, 0, version=1)
    assert ram.free_ram() == 0


def test_a_limit_on_addresses() -> None:
    code = "from tenbin.backends.hf.model import ram; print(ram.free_ram())"
    limited = f"import resource as r; r.setrlimit(r.RLIMIT_AS, ({8 * GIB}, {8 * GIB})); {code}"
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True)
    assert 0 < int(done.stdout) < 8 * GIB
