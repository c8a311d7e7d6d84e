"""A task file's functions through every command: run with trust alone, and recorded then."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import tenbin
from tenbin.cli import main
from tenbin.errors import TaskError

pytestmark = pytest.mark.usefixtures("cache")

TASK = """
task: quiz
tag: quizzes
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
output_type: multiple_choice
test_split: test
process_docs: !function utils.process
doc_to_text: !function utils.text
doc_to_choice: options
doc_to_target: answer
metric_list:
  - metric: acc
    aggregation: !function utils.share
"""
CODE = """
import pathlib
pathlib.Path(__file__).with_name('ran').touch()
def process(docs):
    return docs.filter(lambda doc: doc["answer"] < 2)
def text(doc):
    return f"Question {doc['question']}"
def share(values):
    return sum(values) / len(values)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "tasks"
    place.mkdir()
    rows = [{"question": i, "options": ["x", "y", "z"], "answer": i % 3} for i in range(9)]
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "quiz.yaml").write_text(TASK)
    (place / "utils.py").write_text(CODE)
    (tmp_path / "config.yaml").write_text("")
    monkeypatch.setenv("TENBIN_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.chdir(tmp_path)
    return place


def test_no_command_runs_a_function_without_trust(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    include = ["--include_path", str(folder)]
    run = ["run", "--model", "scripted", *include, "--tasks"]
    for command, code in (
        (["tasks", *include], 0),
        (["validate", *include], 0),
        (["validate", "quiz", *include], 0),
        (["data", "list", "quiz", *include], 0),
        (["preview", "--tasks", "quiz", *include], 1),
        ([*run, "quiz"], 1),
        ([*run, "quizzes"], 1),
        ([*run, str(folder / "quiz.yaml")], 1),
    ):
        assert main(command) == code, command
        captured = capsys.readouterr()
        assert not (folder / "ran").exists(), command
        if code:
            assert f"doc_to_text: {folder / 'utils.py'}: text" in captured.err
            assert "--trust_tasks" in captured.err and str(folder) in captured.err
    assert not list(Path().glob("runs/*"))


def test_with_trust_it_runs_and_the_result_says_what_ran(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    command = ["run", "--model", "scripted", "--include_path", str(folder), "--tasks", "quiz"]
    assert main([*command, "--trust_tasks", "--output_path", str(path)]) == 0
    assert (folder / "ran").exists()
    result = json.loads(path.read_text())
    assert result["config"]["trust_tasks"] is True
    origin = result["configs"]["quiz"]["origin"]
    assert origin["path"] == str(folder / "quiz.yaml")
    assert [one["name"] for one in origin["functions"]] == ["process", "share", "text"]
    assert all(len(one["sha256"]) == 64 for one in origin["functions"])


def test_from_python_and_by_the_users_configuration(folder: Path, tmp_path: Path) -> None:
    def evaluate(trust_tasks: bool | None = None) -> int:
        run = tenbin.evaluate("scripted", "quiz", include_path=str(folder), trust_tasks=trust_tasks)
        return len(run.samples)

    with pytest.raises(TaskError, match="trust"):
        evaluate()
    assert not (folder / "ran").exists()
    assert evaluate(trust_tasks=True) == 6
    (tmp_path / "config.yaml").write_text(f"trust_tasks:\n  - {folder}\n")
    assert evaluate() == 6


def test_a_file_whose_name_is_no_text_is_recorded_in_escapes(folder: Path, tmp_path: Path) -> None:
    plain = TASK.replace("process_docs: !function utils.process\n", "")
    plain = plain.replace("!function utils.text", "question").partition("metric_list")[0]
    odd = folder / os.fsdecode(b"\xff.yaml")
    try:
        odd.write_text(plain.replace("task: quiz", "task: odd"))
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    tenbin.evaluate("scripted", ["odd"], include_path=str(folder), output_path="odd.json", limit=1)
    stored = tenbin.load_run(tmp_path / "odd.json").document
    assert stored["configs"]["odd"]["origin"]["path"].endswith(r"\udcff.yaml")
