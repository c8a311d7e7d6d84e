"""Tasks whose answers are texts of each language: right and wrong are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import ResultError

pytestmark = pytest.mark.usefixtures("cache")

TASK = """
task: capitals_{language}
language: {language}
family: capitals
parallel: {{key: id, compares: outcomes}}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{ question }}}}"
doc_to_target: answer
metric_list: [{{metric: exact_match}}]
"""
ANSWERS = {"en": ["Rome", "Paris", "Lima", "Oslo"], "es": ["Roma", "París", "Lima", "Oslo"]}


def run(folder: Path, with_ids: bool = True) -> tenbin.Run:
    """English is right in items 0 and 1, Spanish in item 0; Spanish says nothing to item 3."""
    texts = {"en0": "Rome", "en1": "Paris", "en2": "?", "en3": "?"}
    texts |= {"es0": "Roma", "es1": "Roma", "es2": "?", "es3": " "}
    files = []
    for language, answers in ANSWERS.items():
        rows = [
            {"question": f"{language}{at}", "answer": answer}
            | ({"id": str(at)} if with_ids else {})
            for at, answer in enumerate(answers)
        ]
        data = folder / f"{language}.jsonl"
        data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        files.append(folder / f"{language}.yaml")
        files[-1].write_text(TASK.format(language=language, file=data), encoding="utf-8")
    backend = ScriptedBackend(texts=texts)
    return tenbin.evaluate(backend, [str(file) for file in files], no_cache=True)


def test_right_and_wrong_are_compared(tmp_path: Path) -> None:
    document = tenbin.consistency(run(tmp_path))
    found = document["sets"]["capitals"]
    assert document["families"]["capitals"]["alignment"] == "id"
    assert found["compares"] == "outcomes"
    assert found["items"] == 4
    # Items 0 (both right) and 2 (both wrong) of the three that both answered.
    (pair,) = found["pairs"]
    assert pair["agreement"]["value"] == pytest.approx(2 / 3)
    assert found["answers"]["es"]["unreadable"] == 1
    assert found["answers"]["en"]["accuracy"]["value"] == pytest.approx(2 / 4)
    assert found["right_everywhere"]["value"] == pytest.approx(1 / 4)
    assert found["positions"] is None
    (flip,) = [one for one in found["flips"] if one["item"] == "1"]
    assert flip["answers"] == {"en": "right", "es": "wrong"}


def test_row_numbers_show_nothing_of_texts(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="rows have no `id`, and right answers are texts"):
        tenbin.consistency(run(tmp_path, with_ids=False))


def test_the_entry_is_written_only_where_outcomes_are_compared(tmp_path: Path) -> None:
    texts = run(tmp_path).document["configs"]["capitals_en"]
    assert texts["parallel"]["compares"] == "outcomes"
    letters = tenbin.evaluate(ScriptedBackend(), "mlogiqa_mcq_en", no_cache=True, sample_data=True)
    assert "compares" not in letters.document["configs"]["mlogiqa_mcq_en"]["parallel"]
