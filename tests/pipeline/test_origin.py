"""What a run records of the files and functions that its lm-eval tasks came from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tenbin.cli import main
from tenbin.report.terminal.run_notes import origin_lines
from tenbin.results.identity import RunIdentity, run_id
from tenbin.results.read import parse_result
from tenbin.results.schema import FunctionEntry, OriginEntry, RunResult
from tests.results.made_result import cell_config, made_result

pytestmark = pytest.mark.usefixtures("cache")

TASK = """
task: capitals
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
output_type: multiple_choice
test_split: test
doc_to_text: !function words.question
doc_to_choice: options
doc_to_target: 0
"""
WORDS = "def question(row):\n    return f\"Capital of {row['country']}?\"\n"
ROWS = [
    {"country": "Japan", "options": ["Tokyo", "Kyoto"]},
    {"country": "Peru", "options": ["Lima", "Cusco"]},
]


def made(folder: Path, task: str = TASK, words: str = WORDS) -> Path:
    """A folder with a task file, its function and its rows."""
    folder.mkdir()
    (folder / "capitals.yaml").write_text(task)
    (folder / "words.py").write_text(words)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder / "capitals.yaml"


def run(task: Path, result: Path) -> RunResult:
    asked = ("--model", "scripted", "--tasks", str(task), "--trust_tasks")
    assert main(["run", *asked, "--output_path", str(result)]) == 0
    return parse_result(json.loads(result.read_text()), result)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_result_names_the_file_and_its_functions(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = made(place / "one")
    run(task, place / "result.json")
    written = json.loads((place / "result.json").read_text())["configs"]["capitals"]["origin"]
    (function,) = written.pop("functions")
    assert Path(function.pop("file")).name == "words.py"
    digest = hashlib.sha256(WORDS.encode()).hexdigest()
    assert function == {"name": "question", "sha256": digest}
    assert Path(written.pop("path")).name == "capitals.yaml"
    assert len(written.pop("sha256")) == 64
    assert written == {"package": None}
    shown = capsys.readouterr().out
    assert f"task files: capitals: from {task.parent}" in shown
    assert f"trusted functions: words.py ({digest[:12]})" in shown


def test_a_task_of_tenbins_own_has_no_origin(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--model", "scripted", "--sample_data", "--tasks", "jnli", "--limit", "2")
    assert main(["run", *asked, "--output_path", "result.json"]) == 0
    config = json.loads((place / "result.json").read_text())["configs"]["jnli-1.3-0.2"]
    assert "origin" not in config
    assert "task files" not in capsys.readouterr().out


def test_functions_are_part_of_what_a_run_is_and_places_are_not(place: Path) -> None:
    first = run(made(place / "one"), place / "1.json")
    moved = run(made(place / "two", f"# a comment\n{TASK}"), place / "2.json")
    changed = run(made(place / "three", words=f"# changed\n{WORDS}"), place / "3.json")
    assert first.run_id == moved.run_id
    assert first.run_id != changed.run_id
    for one in (first, moved, changed):
        assert run_id(RunIdentity.of(one)) == one.run_id


def test_compare_warns_where_files_or_functions_differ(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(made(place / "one"), place / "1.json")
    run(made(place / "two", f"# a comment\n{TASK}"), place / "2.json")
    capsys.readouterr()
    assert main(["compare", "1.json", "2.json"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "warning: task:" in shown and "capitals.yaml (sha256" in shown
    assert "functions of the task file differ" not in shown
    run(made(place / "three", words=f"# changed\n{WORDS}"), place / "3.json")
    capsys.readouterr()
    assert main(["compare", "1.json", "3.json"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "warning: task: functions of the task file differ: words.py: question" in shown
    assert main(["compare", "1.json", "1.json"]) == 0
    assert "warning" not in capsys.readouterr().out


def test_the_terminal_names_package_profile_and_functions() -> None:
    function = FunctionEntry(file="/x/utils.py", name="clean", sha256="b" * 64)
    origin = OriginEntry(
        path="/x/xnli.yaml", sha256="a" * 64, package="lm_eval 0.4.13", functions=[function]
    )
    configs = {f"xnli_{at}": cell_config(origin=origin) for at in range(7)}
    assert origin_lines(made_result(configs, profile="lm-eval")) == [
        "profile: lm-eval",
        "task files: xnli_0, xnli_1, xnli_2, xnli_3, xnli_4 and 2 more: from lm_eval 0.4.13",
        f"trusted functions: utils.py ({'b' * 12})",
    ]
    assert origin_lines(made_result({"jnli": cell_config()}, profile="tenbin")) == []
