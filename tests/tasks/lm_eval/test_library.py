"""Folders of lm-eval's task files in the registry: lazily, and without hindering each other."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tenbin.errors import TaskError
from tenbin.tasks import installed
from tenbin.tasks.registry import load_registry
from tenbin.tasks.selection import alike
from tenbin.tasks.summary import CATALOG
from tests.tasks.lm_eval.test_grouping import TASK, names, registry


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path_factory.mktemp("cache")))


def add(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_a_file_that_cannot_be_used_hinders_nobody(tmp_path: Path) -> None:
    registry(tmp_path)
    add(tmp_path, "bad.yaml", "task: [\n")
    add(tmp_path, "class.yaml", "task: squad\nclass: !function task.Squad\n")
    add(tmp_path, "image.yaml", f"task: image\n{TASK}doc_to_image: x\n")
    add(tmp_path, "own.yaml", f"task: own\n{TASK}title: x\ndoc_to_textt: y\n")
    known = load_registry([tmp_path])
    assert names(known.select(["a", "b-1.0", "c-1.0-default"])) == ["a", "b", "c"]
    for name, word in {"bad": "line 2", "squad": "class", "image": "image", "own": "textt"}.items():
        with pytest.raises(TaskError, match=word):
            known.select([name])
    with pytest.raises(TaskError, match="unknown task 'squid'") as error:
        known.select(["squid"])
    assert "1 file of --include_path could not be read, such as" in error.value.hint
    assert str(tmp_path / "bad.yaml") in error.value.hint
    with pytest.raises(TaskError, match=r"2 of 5 tasks cannot be used:\nbad: (.|\n)*\nsquad: "):
        known.select(["[abcs]*"])


def test_patterns_versions_and_templates(tmp_path: Path) -> None:
    known = registry(tmp_path, "group: letters\ntask: [a]\n", a="tag: first_letters\n")
    assert names(known.select(["[ab]"])) == ["a", "b"]
    assert names(known.select(["lett*"])) == ["a"], "no task matches, a group does"
    assert names(known.select(["first_*"])) == ["a"], "no task matches, a tag does"
    assert known.select(["a-1.0-default"])[0].named
    for entry, word in {"a-2.0": "no version '2.0'", "a-1.0-x": "no template 'x'"}.items():
        with pytest.raises(TaskError, match=word):
            known.select([entry])
    with pytest.raises(TaskError, match="did you mean letters"):
        known.select(["leters"])


def test_an_included_folder_comes_before_the_catalogue(tmp_path: Path) -> None:
    registry(tmp_path, a="tag: mlogiqa_mcq\n")
    add(tmp_path, "jnli.yaml", f"task: jnli\nmetadata: {{version: 4.0}}\n{TASK}")
    known = load_registry([tmp_path])
    path = str(tmp_path / "jnli.yaml")
    for entry in ("jnli", "jnli-4.0", "jnl?", path):
        (chosen,) = known.select([entry])
        assert chosen.task.source == path, entry
    for entry in ("jnli-1.3", "jnli-1.3-0.2", "jnli-1.1"):
        (chosen,) = known.select([entry])
        assert str(Path(chosen.task.source).parent) == CATALOG, entry
    assert names(known.select(["mlogiqa_mcq"])) == ["a"], "a tag of the folder, not the group"
    assert len(known.select(["mlogiqa_mcq-1.0"])) > 1


def test_two_included_folders_with_a_name_of_the_catalogue_are_asked_back(tmp_path: Path) -> None:
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        add(folder, "jnli.yaml", f"task: jnli\n{TASK}")
    known = load_registry([tmp_path / "one", tmp_path / "two"])
    for entry in ("jnli", "jnl*"):
        with pytest.raises(TaskError, match=r"'jnli' is the name of 2 tasks: .*one.*, .*two"):
            known.select([entry])
    assert known.select(["jnli-1.3-0.2"])[0].full_id == "jnli-1.3-0.2"


def test_a_name_that_two_files_use_is_an_error_only_when_selected(tmp_path: Path) -> None:
    registry(tmp_path)
    add(tmp_path, "z.yaml", f"task: a\n{TASK}")
    known = load_registry([tmp_path])
    assert names(known.select(["b"])) == ["b"]
    with pytest.raises(TaskError, match=r"a.yaml, .*z.yaml"):
        known.select(["a"])


def test_the_word_lm_eval_is_the_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    installed._lm_eval_folder.cache_clear()
    with pytest.raises(TaskError, match="lm_eval is not installed"):
        load_registry(["lm_eval"])
    folder = tmp_path / "site" / "lm_eval" / "tasks"
    folder.mkdir(parents=True)
    canary = "open(__file__ + '.ran', 'w').close()\n"
    add(folder.parent, "__init__.py", canary)
    add(folder, "__init__.py", canary)
    add(folder, "utils.py", canary)
    registry(folder, a="process_docs: !function utils.f\n")
    installed._lm_eval_folder.cache_clear()
    importlib.invalidate_caches()
    try:
        known = load_registry(["lm_eval"])
        (chosen,) = known.select(["a"])
        assert chosen.task.origin is not None
        assert chosen.task.origin.package in ("lm_eval", "lm_eval 0.4.13")
        assert chosen.task.dataset.process_docs is not None
    finally:
        installed._lm_eval_folder.cache_clear()
    assert not list(tmp_path.rglob("*.ran")), "nothing was imported"


def test_only_alike_names_are_compared() -> None:
    many = [f"task_{number:05}" for number in range(10_000)]
    near = alike("helaswag", [*many, "hellaswag", "arc_easy"])
    assert "hellaswag" in near
    assert len(near) < 1_000
