"""How many options a question of a generation task offers: said by the task or by documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.errors import TaskError

pytestmark = pytest.mark.usefixtures("cache")

TASK = """
task: letters
language: en
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{ question }}}}"
doc_to_target: "{{{{ gold }}}}"
{more}
filter_list:
  - {{name: strict, filter: [{{function: choice_letter_strict}}]}}
  - {{name: flexible, filter: [{{function: choice_letter_flexible}}]}}
metric_list: [{{metric: exact_match}}, {{metric: format_failure}}]
"""
ROWS = [
    {"question": "three", "options": ["p", "q", "r"], "gold": "C"},
    {"question": "four", "options": ["p", "q", "r", "s"], "gold": "D"},
    {"question": "five", "options": ["p", "q", "r", "s", "t"], "gold": "E"},
]


@pytest.fixture(autouse=True)
def _beside_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(folder: Path, more: str, rows: list[dict[str, Any]] = ROWS) -> str:
    lines = (json.dumps(row) for row in rows)
    (folder / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    path = folder / "letters.yaml"
    path.write_text(TASK.format(more=more), encoding="utf-8")
    return str(path)


def readings(task: str, answer: str) -> list[dict[str, Any]]:
    backend = ScriptedBackend(texts=lambda prompt: answer)
    run = tenbin.evaluate(backend, tasks=[task], no_cache=True)
    return [
        {outcome["metric"]: outcome["answer"] for outcome in sample["outcomes"]}
        for sample in run.samples
    ]


def test_the_task_says_how_many_options_there_are(tmp_path: Path) -> None:
    task = written(tmp_path, "num_choices: 5")
    for read in readings(task, "{'answer': 'E'}"):
        assert read["exact_match,strict"] == read["exact_match,flexible"] == "E"
    run = tenbin.evaluate(
        ScriptedBackend(texts=lambda prompt: "The answer is E."), tasks=[task], no_cache=True
    )
    assert run.document["results"]["letters"]["exact_match,flexible"] == pytest.approx(1 / 3)
    assert run.document["results"]["letters"]["format_failure,flexible"] == 0.0
    assert run.document["configs"]["letters"]["num_choices"] == 5
    assert [sample["num_choices"] for sample in run.samples] == [5, 5, 5]


@pytest.mark.parametrize("choices", ["options", '"{{ options }}"'])
def test_documents_say_how_many_options_they_have(tmp_path: Path, choices: str) -> None:
    task = written(tmp_path, f"doc_to_choice: {choices}")
    for answer, expected in (("D", [None, "D", "D"]), ("E", [None, None, "E"])):
        for text in (f"{{'answer': '{answer}'}}", f"The answer is {answer}."):
            found = [read["exact_match,flexible"] for read in readings(task, text)]
            assert found == expected, "a letter beyond a document's options is no option"


def test_an_unknown_number_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = written(tmp_path, "")
    backend = ScriptedBackend()
    with pytest.raises(TaskError, match="how many options") as caught:
        tenbin.evaluate(backend, tasks=[task], no_cache=True)
    assert "num_choices" in caught.value.hint and not backend.asked
    assert main(["validate", task]) == 1
    shown = capsys.readouterr()
    assert "how many options" in shown.out + shown.err


def test_more_options_than_letters_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    rows = [*ROWS, {"question": "nine", "options": list("pqrstuvwx"), "gold": "I"}]
    task = written(tmp_path, "doc_to_choice: options", rows)
    backend = ScriptedBackend()
    with pytest.raises(TaskError, match=r"document .*knows 2 to 8 options, not 9"):
        tenbin.evaluate(backend, tasks=[task], no_cache=True)
    assert not backend.asked
    assert main(["validate", task]) == 1
    with pytest.raises(TaskError, match="knows 2 to 8 options, not 9"):
        tenbin.evaluate(backend, tasks=[written(tmp_path, "num_choices: 9")], no_cache=True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("num_choices: 1", "num_choices"),
        ("num_choices: 27", "num_choices"),
        ("num_choices: many", "num_choices"),
        ("num_choices: 4\ndoc_to_choice: options", "both give the number of options"),
    ],
)
def test_impossible_numbers_are_refused(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        tenbin.evaluate(ScriptedBackend(), tasks=[written(tmp_path, more)], no_cache=True)


def test_choice_tasks_need_no_number(tmp_path: Path) -> None:
    path = tmp_path / "choice.yaml"
    path.write_text(
        "task: c\ndataset_path: json\ntest_split: test\noutput_type: multiple_choice\n"
        "dataset_kwargs: {data_files: {test: rows.jsonl}}\nnum_choices: 3\n"
        "doc_to_text: q\ndoc_to_target: 0\ndoc_to_choice: [a, b, c]\n",
        encoding="utf-8",
    )
    with pytest.raises(TaskError, match="takes the number of options from doc_to_choice"):
        tenbin.evaluate(ScriptedBackend(), tasks=[str(path)], no_cache=True)
