"""Shared by all tests: where real data lies, and a cache that no test shares with the user's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import chromium, open_page  # noqa: F401

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"

# Tests never reach a hub: whatever would be downloaded is an error.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

COSTLY = (
    "backends/ray/",
    "backends/openai/test_llama.py",
    "backends/hf/test_smollm.py",
    "crash/",
    "golden/",
    "pipeline/test_doctor.py",
    "plugin/",
    "report/html/",
    "test_documented_command.py",
)
"""Tests with something in common that takes long to make: a cluster, a server, a report, the
prompts of all tasks."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run each of these groups in one process where several processes share the tests.

    xdist's own `--dist loadgroup` does not see its marks under pytest 9.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            place = nodeid.removeprefix("tests/")
            return next((group for group in COSTLY if place.startswith(group)), nodeid)

    return Groups(config, log)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real benchmark rows."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"no real benchmark rows at {folder.relative_to(ROOT.parent)}")
    return folder


@pytest.fixture(scope="session")
def reference_prompts() -> Path:
    """The published prompt strings."""
    path = SHARED / "prompts.yaml"
    if not path.is_file():
        pytest.skip(f"no reference prompts at {path.relative_to(ROOT.parent)}")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TENBIN_CACHE", str(folder))
    return folder


Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package of one module with entry points of the group `tenbin.metrics`."""
    from tenbin.metrics.registry import find_metric
    from tenbin.plugins import METRICS, installed

    def forget() -> None:
        installed.cache_clear()
        find_metric.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, version: str, code: str, **points: str) -> None:
        (tmp_path / f"{name}_code.py").write_text(code)
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}")
        lines = [f"{key} = {value}" for key, value in points.items()]
        (folder / "entry_points.txt").write_text("\n".join([f"[{METRICS}]", *lines]))
        forget()

    yield write
    forget()
