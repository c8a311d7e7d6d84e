"""What a run records of the files and functions that its lm-eval tasks came from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tenbin.cli import main
from tenbin.records import Task, TaskFunction, TaskOrigin
from tenbin.results.identity import RunIdentity, run_id
from tenbin.results.read import parse_result
from tenbin.tasks import loader

pytestmark = pytest.mark.usefixtures("cache")


def origin(sha256: str, function: str) -> TaskOrigin:
    one = TaskFunction("/somewhere/xnli/utils.py", "clean", function)
    return TaskOrigin("/somewhere/xnli/xnli_ja.yaml", sha256, "lm_eval 0.4.13", (one,))


def run_with(
    monkeypatch: pytest.MonkeyPatch, result: Path, given: TaskOrigin | None, *flags: str
) -> int:
    """A scripted run of JNLI, as if its file were one of lm-eval's."""
    placed = loader._placed

    def with_origin(task: Task, path: Path) -> Task:
        return replace(placed(task, path), origin=given)

    with monkeypatch.context() as patch:
        patch.setattr(loader, "_placed", with_origin)
        asked = ("--model", "scripted", "--sample_data", "--tasks", "jnli-1.3-0.2")
        return main(["run", *asked, "--output_path", str(result), *flags])


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_result_names_file_package_and_functions(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = elsewhere / "result.json"
    assert run_with(monkeypatch, result, origin("a" * 64, "b" * 64)) == 0
    written = json.loads(result.read_text())["configs"]["jnli-1.3-0.2"]["origin"]
    assert written == {
        "path": "/somewhere/xnli/xnli_ja.yaml",
        "sha256": "a" * 64,
        "package": "lm_eval 0.4.13",
        "functions": [
            {"file": "/somewhere/xnli/utils.py", "name": "clean", "sha256": "b" * 64},
        ],
    }
    shown = capsys.readouterr().out
    assert "task files: jnli-1.3-0.2: from lm_eval 0.4.13" in shown
    assert f"trusted functions: utils.py ({'b' * 12})" in shown


def test_a_task_of_tenbins_own_has_no_origin(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = elsewhere / "result.json"
    assert run_with(monkeypatch, result, None) == 0
    assert "origin" not in json.loads(result.read_text())["configs"]["jnli-1.3-0.2"]
    assert "task files" not in capsys.readouterr().out


def test_functions_are_part_of_what_a_run_is_and_places_are_not(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []
    for name, given in {
        "first": origin("a" * 64, "b" * 64),
        "moved": replace(origin("c" * 64, "b" * 64), path="/elsewhere.yaml", package=None),
        "changed": origin("a" * 64, "d" * 64),
        "ours": None,
    }.items():
        result = elsewhere / f"{name}.json"
        assert run_with(monkeypatch, result, given) == 0
        stored = parse_result(json.loads(result.read_text()), result)
        ids.append(stored.run_id)
        assert run_id(RunIdentity.of(stored)) == stored.run_id
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_compare_warns_where_files_or_functions_differ(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_with(monkeypatch, elsewhere / "a.json", origin("a" * 64, "b" * 64))
    run_with(monkeypatch, elsewhere / "b.json", origin("c" * 64, "d" * 64))
    run_with(monkeypatch, elsewhere / "ours.json", None)
    capsys.readouterr()
    assert main(["compare", "a.json", "b.json"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "warning: task: functions of the task file differ: utils.py: clean" in shown
    assert f"(lm_eval 0.4.13, sha256 {'a' * 12}) here" in shown
    assert main(["compare", "a.json", "ours.json"]) == 0
    assert "warning" not in capsys.readouterr().out
