"""`formats:` of a task file of one's own: what it makes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenbin.data import DataChoice
from tenbin.errors import TaskError
from tenbin.files.allowed_paths import Reach
from tenbin.pipeline.validate import validate_task
from tenbin.records import Task
from tenbin.tasks.loader import load_file
from tenbin.tasks.prompt_formats import sample_formats
from tenbin.tasks.prompt_formats.grammar import require_grammar
from tests.tasks.prompt_formats.test_formats import format_template

NATIVE = {
    "names": {"question": ["Frage"], "options": ["Antworten"]},
    "answers": ["Antwort"],
    "instructions": [
        {"letter": "Nenne den Buchstaben.", "text": "Nenne die Antwort auf die {question}."}
    ],
}
LABELS = {"truth": {"words": ["x", "y"], "answers": ["z"], "instructions": []}}
ENGLISH = {
    "names": {"question": ["Question"], "options": ["Options"]},
    "answers": ["Answer"],
    "instructions": [{"letter": "Name the {symbol}.", "text": "Name the answer."}],
}
FORMATS: dict[str, Any] = {
    "inputs": {"question": "{{ asked }}"},
    "options": ["{{ options[0] }}", "{{ options[1] }}", "{{ options[2] }}"],
    "native": NATIVE,
    "english": ENGLISH,
}


def written(folder: Path, formats: dict[str, Any], **more: Any) -> Path:
    rows = [{"asked": f"q{n}", "options": ["x", "y", "z"], "label": n % 3} for n in range(5)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    mapping = {
        "task": "quiz",
        "title": "Quiz",
        "language": "de",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
        "output_type": "multiple_choice",
        "test_split": "test",
        "doc_to_text": "{{ asked }}",
        "doc_to_choice": "options",
        "doc_to_target": "label",
        "formats": formats,
        **more,
    }
    path = folder / "quiz.yaml"
    path.write_text(yaml.safe_dump(mapping, allow_unicode=True, sort_keys=False))
    return path


def loaded(folder: Path, formats: dict[str, Any], **more: Any) -> Task:
    (one,) = load_file(written(folder, formats, **more), reach=Reach((folder,)))
    return one.task


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    task = loaded(tmp_path, FORMATS)
    checked = validate_task(task, DataChoice())
    assert not [one for one in checked.findings if one.severity == "error"]
    made = format_template(task, "f-010000000001000000")
    assert made.description == "Nenne die Antwort auf die Frage.\n\n"
    assert made.text == (
        "Frage: {{ asked }}\nAntworten:\nA. {{ options[0] }}\nB. {{ options[1] }}\n"
        "C. {{ options[2] }}\nAntwort:"
    )
    assert (made.choices, made.target) == (tuple(FORMATS["options"]), "label")
    with pytest.raises(TaskError, match="numbers-by-their-name"):
        format_template(task, "f-010000002000000000")
    assert format_template(task, "f-110000002000000000").description == "Name the number.\n\n"


def test_a_language_alone_has_no_dimension_of_languages(tmp_path: Path) -> None:
    task = loaded(tmp_path, {**FORMATS, "english": None})
    assert list(require_grammar(task).wordings) == ["native"]
    assert "language" not in sample_formats(task, 1, 1)[0].levels


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": None}, "there are no inputs"),
        ({"native": {**NATIVE, "names": {"question": ["Frage"]}}}, "native: names has question"),
        ({"native": {**NATIVE, "answers": []}}, "there is no answer cue"),
        ({"english": {**ENGLISH, "answers": ["Answer", "Reply"]}}, "other numbers of parts"),
        (
            {"english": {**ENGLISH, "names": {"question": ["Q", "P"], "options": ["O", "C"]}}},
            "every part needs as many names",
        ),
        ({"native": {**NATIVE, "instructions": ["{colour}?"]}}, "{colour} stands for nothing"),
        ({"native": {**NATIVE, "answers": ["{words.answer}"]}}, "`words` has no 'answer'"),
        ({"native": {**NATIVE, "answers": ["{shared.farewell}"]}}, "there is no such word"),
        ({"english": {**ENGLISH, "inputs": {"answer": "x"}}}, "'answer' is none of the inputs"),
        ({"options": None}, "there are options or label words, never both"),
        (
            {"native": {**NATIVE, "labels": LABELS}},
            "stand beside labels",
        ),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Loading goes on without the grammar; asking for formats and validating say what is wrong."""
    task = loaded(tmp_path, {**FORMATS, **change})
    with pytest.raises(TaskError, match=r"quiz\.yaml: quiz: formats: ") as caught:
        sample_formats(task, 1, 1)
    assert message in caught.value.message
    found = [one.message for one in validate_task(task, DataChoice()).findings]
    assert any(message in one for one in found)


def test_a_key_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"formats\.native\.cue: unknown key"):
        loaded(tmp_path, {**FORMATS, "native": {**NATIVE, "cue": "x"}})


def test_generation_tasks_have_no_formats(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="formats are for multiple_choice tasks"):
        loaded(tmp_path, FORMATS, output_type="generate_until", doc_to_choice=None)
