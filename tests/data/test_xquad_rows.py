"""XQuAD's rows: as the repository nests them, as the hub has them, and without ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenbin.data.load import load_documents
from tenbin.data.sources.choice import DataChoice
from tenbin.errors import DataError
from tenbin.records import Dataset, Document

CONTEXT = " Der Fluss ist lang. "
FLAT = {
    "id": "q1",
    "context": CONTEXT,
    "question": "Was ist lang?",
    "answers": {"text": ["Der Fluss"], "answer_start": [1]},
}


def read(folder: Path, name: str, text: str) -> list[Document]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    choice = DataChoice(data_dir=folder)
    return list(load_documents(Dataset("xquad", "de"), "validation", choice).documents)


def test_rows_of_the_hub_and_of_the_repository_are_the_same_documents(tmp_path: Path) -> None:
    nested = {
        "version": "1.1",
        "data": [
            {
                "paragraphs": [
                    {
                        "context": CONTEXT,
                        "qas": [
                            {
                                "id": "q1",
                                "question": "Was ist lang?",
                                "answers": [{"text": "Der Fluss", "answer_start": 1}],
                            }
                        ],
                    }
                ]
            }
        ],
    }
    (flat,) = read(tmp_path / "flat", "xquad/de/validation.jsonl", json.dumps(FLAT))
    (from_clone,) = read(tmp_path / "clone", "xquad/xquad.de.json", json.dumps(nested))
    assert flat.fields == from_clone.fields
    assert (flat.id, flat.group) == (from_clone.id, from_clone.group)
    assert flat.fields["context"] == CONTEXT, "published prompts keep the blanks"


def test_questions_of_one_paragraph_share_their_cluster(tmp_path: Path) -> None:
    other = {**FLAT, "id": "q2", "context": "Ein Berg."}
    rows = [FLAT, {**FLAT, "id": "q3"}, other]
    first, same, another = read(
        tmp_path, "xquad/de/validation.jsonl", "\n".join(json.dumps(row) for row in rows)
    )
    assert first.group == same.group != another.group


def test_a_row_without_an_id_names_no_item(tmp_path: Path) -> None:
    row = {key: value for key, value in FLAT.items() if key != "id"}
    (document,) = read(tmp_path, "xquad/de/validation.jsonl", json.dumps(row))
    assert document.id == "row-0"
    assert "id" not in document.fields


def test_a_row_without_answers_is_refused(tmp_path: Path) -> None:
    row = {**FLAT, "answers": {"text": [], "answer_start": []}}
    with pytest.raises(DataError, match=r"line 1: field `answers`"):
        read(tmp_path, "xquad/de/validation.jsonl", json.dumps(row))
