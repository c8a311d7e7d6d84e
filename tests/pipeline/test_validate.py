"""`tenbin validate` on tasks with functions: whole with trust, as far as possible without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenbin.config import build_config
from tenbin.pipeline.validate import Checked, validate_selected
from tenbin.records import TaskFunction
from tenbin.tasks.lm_eval.translate import translate

pytestmark = pytest.mark.usefixtures("cache")

CODE = """
import pathlib
pathlib.Path(__file__).with_suffix('.ran').touch()
def process(docs):
    return docs.map(lambda doc: {"asked": doc["question"].upper()})
def text(doc):
    return doc["asked"] + " A:"
"""


def checked(folder: Path, code: str, trust: bool) -> Checked:
    rows = [{"question": f"q{i}", "options": ["x", "y"], "answer": i % 2} for i in range(4)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "utils.py").write_text(code)
    mapping = {
        "task": "quiz",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
        "output_type": "multiple_choice",
        "test_split": "test",
        "process_docs": TaskFunction(str(folder / "utils.py"), "process"),
        "doc_to_text": TaskFunction(str(folder / "utils.py"), "text"),
        "doc_to_choice": "options",
        "doc_to_target": "answer",
    }
    task = translate(mapping, folder / "quiz.yaml").require()
    return validate_selected(task, build_config({"tasks": "quiz", "trust_tasks": trust}))


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("")
    monkeypatch.setenv("TENBIN_CONFIG", str(path))
    return path


def test_without_trust_nothing_runs_and_it_says_what_was_left_out(tmp_path: Path) -> None:
    found = checked(tmp_path, CODE, trust=False)
    assert found.documents == 0
    (finding,) = found.findings
    assert finding.severity == "warning"
    assert "process_docs, doc_to_text" in finding.message and "--trust_tasks" in finding.message
    assert not (tmp_path / "utils.ran").exists()


def test_with_trust_rows_and_prompts_are_checked(tmp_path: Path) -> None:
    found = checked(tmp_path, CODE, trust=True)
    assert (found.documents, found.findings) == (4, ())
    assert (tmp_path / "utils.ran").exists()


def test_a_folder_of_the_users_configuration_is_trusted(tmp_path: Path, settings: Path) -> None:
    settings.write_text(f"trust_tasks: [{tmp_path}]\n")
    assert checked(tmp_path, CODE, trust=False).documents == 4


def test_missing_packages_are_errors_either_way(tmp_path: Path) -> None:
    code = f"import no_such_package_v\n{CODE}"
    for trust in (False, True):
        finding = checked(tmp_path, code, trust).findings[0]
        assert finding.severity == "error"
        assert "pip install no_such_package_v" in finding.message


def test_code_that_cannot_be_loaded_is_an_error(tmp_path: Path) -> None:
    (finding,) = checked(tmp_path, CODE.replace("def text", "def other"), trust=True).findings
    assert (finding.severity, finding.where) == ("error", "functions")
    assert "the function text" in finding.message
