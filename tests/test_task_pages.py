"""docs/tasks and the lists of docs/tasks.md say what the catalogue says."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    place = ROOT / "docs" / "_site" / "write_tasks.py"
    spec = importlib.util.spec_from_file_location("write_tasks", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_step_with_the_catalogue(writer: ModuleType) -> None:
    written = dict(writer.pages())
    stored = {page.name: page.read_text(encoding="utf-8") for page in writer.FOLDER.glob("*.md")}
    assert sorted(stored) == sorted(written), "run `make tasks`"
    assert written["jmmlu.md"].startswith("# JMMLU\n"), "of subsets, the shared title"
    for name, text in written.items():
        assert stored[name] == text, f"docs/tasks/{name}: run `make tasks`"


def test_the_lists_are_in_step_with_the_catalogue(writer: ModuleType) -> None:
    assert writer.INDEX.read_text(encoding="utf-8") == writer.index(), "run `make tasks`"
